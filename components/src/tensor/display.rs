//! Printing: `f32[2, 3] [1, 2, 3, 4, …]`, cut after a few elements.

use std::fmt;

use super::Tensor;
use crate::dtype::{DType, Element};

/// How many elements are printed before the rest is left out.
const SHOWN_ELEMENTS_MAX: usize = 12;

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.spec())?;
        match self.dtype() {
            DType::F32 => list::<f32>(self, f),
            DType::F64 => list::<f64>(self, f),
            DType::I32 => list::<i32>(self, f),
            DType::Bool => list::<bool>(self, f),
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn list<T: Element>(tensor: &Tensor, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let elements = tensor.elements::<T>().map_err(|_| fmt::Error)?;
    f.write_str("[")?;
    for (index, repr) in elements.iter().take(SHOWN_ELEMENTS_MAX).enumerate() {
        write!(f, "{}{}", if index > 0 { ", " } else { "" }, T::from_repr(*repr).to_scalar())?;
    }
    f.write_str(if elements.len() > SHOWN_ELEMENTS_MAX { ", …]" } else { "]" })
}
