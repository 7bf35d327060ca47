//! What is known of a tensor before its values are: element type and dims.

use bevy_ecs::component::Component;
use std::fmt;

use crate::dims::{Dim, Dims};
use crate::dtype::DType;

/// Element type and dims of a tensor; on an op entity, of the value the op gives.
#[derive(Component, Clone, Debug, PartialEq, Eq, Hash)]
#[component(immutable)]
pub struct TensorSpec {
    /// The element type.
    pub dtype: DType,
    /// The dims, outermost first.
    pub dims: Dims,
}

impl TensorSpec {
    /// A spec from dims that are numbers or names: `TensorSpec::new(DType::F32, [Dim::from("N"), 3.into()])`.
    pub fn new(dtype: DType, dims: impl IntoIterator<Item = Dim>) -> Self {
        Self { dtype, dims: dims.into_iter().collect() }
    }

    /// A spec without axes.
    pub const fn scalar(dtype: DType) -> Self {
        Self { dtype, dims: Dims::SCALAR }
    }

    /// The same dims with another element type.
    pub fn with_dtype(&self, dtype: DType) -> Self {
        Self { dtype, dims: self.dims.clone() }
    }

    /// How many axes.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }
}

impl fmt::Display for TensorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.dims)
    }
}
