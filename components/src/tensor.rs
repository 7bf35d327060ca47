//! Tensors: dtype, shape, and row-major storage that is 64-byte aligned and shared until written (copy on write).
//!
//! *Invariants*: storage begins with exactly the product of the shape; the last axis is contiguous; a clone shares storage and
//! a write to shared storage copies it first. Storage is a whole number of [`PADDING_BYTES`], so that kernels may read whole
//! vectors at the end.

mod convert;
mod display;
mod storage;

pub use storage::PADDING_BYTES;

use bytemuck::Pod;
use smallvec::SmallVec;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, OnceLock};

use crate::dims::Dims;
use crate::dtype::{DType, Element, Scalar};
use crate::spec::TensorSpec;
use storage::Storage;

/// A dense array of one element type.
#[derive(Clone)]
pub struct Tensor {
    dtype: DType,
    shape: SmallVec<[usize; 4]>,
    storage: Arc<Storage>,
}

/// What can be wrong with a tensor operation that needs no graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// The elements were asked for as another type.
    #[error("the tensor holds {held} elements, but {asked} were asked for")]
    WrongDType {
        /// What it holds.
        held: DType,
        /// What was asked for.
        asked: DType,
    },
    /// The number of elements does not fit the shape.
    #[error("{given} elements do not fill the shape {shape:?}, which takes {wanted}")]
    WrongCount {
        /// How many were given.
        given: usize,
        /// The shape.
        shape: Vec<usize>,
        /// How many it takes.
        wanted: usize,
    },
    /// The shape's product is more than can be addressed.
    #[error("the shape {shape:?} has more elements than can be addressed")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
    },
    /// One number was asked of a tensor with none or several.
    #[error("one number was asked of a tensor of shape {shape:?}")]
    NotScalar {
        /// The shape.
        shape: Vec<usize>,
    },
    /// Nested rows differ in length.
    #[error("row {row} has {given} elements, where the rows before have {wanted}")]
    Ragged {
        /// Which row.
        row: usize,
        /// Its length.
        given: usize,
        /// The first row's length.
        wanted: usize,
    },
    /// An axis that is not there.
    #[error("axis {axis} was asked of a tensor of shape {shape:?}")]
    NoAxis {
        /// The axis.
        axis: usize,
        /// The shape.
        shape: Vec<usize>,
    },
    /// An index beyond the axis.
    #[error("index {index} was asked of axis {axis} of a tensor of shape {shape:?}")]
    OutOfRange {
        /// The index.
        index: usize,
        /// The axis.
        axis: usize,
        /// The shape.
        shape: Vec<usize>,
    },
}

/// The product of a shape, where it can be addressed in bytes.
pub fn element_count(shape: &[usize], dtype: DType) -> Result<usize, TensorError> {
    let too_large = || TensorError::TooLarge { shape: shape.to_vec() };
    // Zero-length axes are looked at first, so that [0, huge] is the empty tensor that it says it is.
    if shape.contains(&0) {
        return Ok(0);
    }
    let count = shape.iter().try_fold(1_usize, |product, length| product.checked_mul(*length)).ok_or_else(too_large)?;
    let bytes = count.checked_mul(dtype.size_bytes()).ok_or_else(too_large)?;
    if bytes > isize::MAX as usize - PADDING_BYTES { Err(too_large()) } else { Ok(count) }
}

/// The empty `f32` tensor, which costs nothing to make.
impl Default for Tensor {
    fn default() -> Self {
        static NOTHING: OnceLock<Arc<Storage>> = OnceLock::new();
        let storage = NOTHING.get_or_init(Arc::default).clone();
        Self { dtype: DType::F32, shape: SmallVec::from_slice(&[0]), storage }
    }
}

impl Tensor {
    /// A tensor of zeros (`false` for `bool`).
    pub fn zeros(dtype: DType, shape: &[usize]) -> Result<Self, TensorError> {
        let bytes = element_count(shape, dtype)? * dtype.size_bytes();
        Ok(Self { dtype, shape: shape.into(), storage: Arc::new(Storage::zeroed(bytes)) })
    }

    /// A tensor from its elements in row-major order.
    pub fn new<T: Element>(shape: &[usize], elements: &[T]) -> Result<Self, TensorError> {
        let mut tensor = Self::zeros(T::DTYPE, shape)?;
        let wanted = tensor.len();
        if elements.len() != wanted {
            return Err(TensorError::WrongCount { given: elements.len(), shape: shape.to_vec(), wanted });
        }
        for (slot, element) in tensor.elements_mut::<T>()?.iter_mut().zip(elements) {
            *slot = element.to_repr();
        }
        Ok(tensor)
    }

    /// A tensor from elements that are known to fill the shape.
    fn from_reprs<R: Pod>(dtype: DType, shape: &[usize], reprs: &[R]) -> Self {
        assert_eq!(shape.iter().product::<usize>(), reprs.len(), "elements fill the shape");
        let source: &[u8] = bytemuck::cast_slice(reprs);
        let mut storage = Storage::zeroed(source.len());
        storage.bytes_mut()[..source.len()].copy_from_slice(source);
        Self { dtype, shape: shape.into(), storage: Arc::new(storage) }
    }

    /// A tensor of one number everywhere.
    pub fn full(shape: &[usize], value: Scalar) -> Result<Self, TensorError> {
        let mut tensor = Self::zeros(value.dtype(), shape)?;
        match value {
            Scalar::F32(value) => tensor.elements_mut::<f32>()?.fill(value),
            Scalar::F64(value) => tensor.elements_mut::<f64>()?.fill(value),
            Scalar::I32(value) => tensor.elements_mut::<i32>()?.fill(value),
            Scalar::Bool(value) => tensor.elements_mut::<bool>()?.fill(u8::from(value)),
        }
        Ok(tensor)
    }

    /// A tensor without axes.
    pub fn scalar(value: Scalar) -> Self {
        let mut storage = Storage::zeroed(value.dtype().size_bytes());
        let bytes = storage.bytes_mut();
        match value {
            Scalar::F32(value) => bytes[..4].copy_from_slice(&value.to_ne_bytes()),
            Scalar::F64(value) => bytes[..8].copy_from_slice(&value.to_ne_bytes()),
            Scalar::I32(value) => bytes[..4].copy_from_slice(&value.to_ne_bytes()),
            Scalar::Bool(value) => bytes[0] = u8::from(value),
        }
        Self { dtype: value.dtype(), shape: SmallVec::new(), storage: Arc::new(storage) }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The lengths of the axes, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        // Looked for first: beside a length of 0 the others may be more than can be multiplied.
        if self.shape.contains(&0) { 0 } else { self.shape.iter().product() }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Dtype and dims, all known.
    pub fn spec(&self) -> TensorSpec {
        TensorSpec { dtype: self.dtype, dims: Dims::from(&*self.shape) }
    }

    /// Whether `spec`, all dims known, is this tensor's.
    pub fn fits(&self, spec: &TensorSpec) -> bool {
        self.dtype == spec.dtype
            && self.shape.len() == spec.dims.len()
            && self.shape.iter().zip(spec.dims.iter()).all(|(length, dim)| dim.known() == Some(*length))
    }

    /// Whether both share one storage (then they are equal without a look).
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage) && self.shape == other.shape && self.dtype == other.dtype
    }

    /// A number that tensors of one storage share, for as long as one of them lives.
    pub fn storage_id(&self) -> usize {
        Arc::as_ptr(&self.storage) as usize
    }

    /// The elements in row-major order as they lie in memory (`u8` for `bool`).
    pub fn elements<T: Element>(&self) -> Result<&[T::Repr], TensorError> {
        self.check_dtype(T::DTYPE)?;
        Ok(bytemuck::cast_slice(self.bytes()))
    }

    /// The same to write; copies first where the storage is shared.
    pub fn elements_mut<T: Element>(&mut self) -> Result<&mut [T::Repr], TensorError> {
        self.check_dtype(T::DTYPE)?;
        Ok(bytemuck::cast_slice_mut(self.bytes_mut()))
    }

    /// All bytes in row-major order, native endian.
    pub fn bytes(&self) -> &[u8] {
        &self.storage.bytes()[..self.len() * self.dtype.size_bytes()]
    }

    /// The same to write; copies first where the storage is shared.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let byte_count = self.len() * self.dtype.size_bytes();
        &mut Arc::make_mut(&mut self.storage).bytes_mut()[..byte_count]
    }

    /// Where the elements begin, and how many bytes from there are storage, padding included.
    pub fn storage(&self) -> (*const u8, usize) {
        (self.storage.pointer(), self.storage.len())
    }

    /// The same to write; copies first where the storage is shared.
    pub fn storage_mut(&mut self) -> (*mut u8, usize) {
        if self.is_unique() {
            // What others did before they let go has happened by now. (`make_mut` would find out by an exchange, which waits for
            // memory alone; many of these are to wait together.)
            fence(Ordering::Acquire);
        } else {
            Arc::make_mut(&mut self.storage);
        }
        (self.storage.pointer(), self.storage.len())
    }

    /// Whether no other tensor shares the storage, so that a write copies nothing.
    pub fn is_unique(&self) -> bool {
        Arc::strong_count(&self.storage) == 1
    }

    /// A copy of the elements in row-major order.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, TensorError> {
        Ok(self.elements::<T>()?.iter().map(|repr| T::from_repr(*repr)).collect())
    }

    /// The one number of a tensor with one element.
    pub fn item<T: Element>(&self) -> Result<T, TensorError> {
        match self.elements::<T>()? {
            [only] => Ok(T::from_repr(*only)),
            _ => Err(self.not_scalar()),
        }
    }

    /// The one number of a tensor with one element, whatever its type.
    pub fn to_scalar(&self) -> Result<Scalar, TensorError> {
        match self.dtype {
            DType::F32 => self.item::<f32>().map(Scalar::F32),
            DType::F64 => self.item::<f64>().map(Scalar::F64),
            DType::I32 => self.item::<i32>().map(Scalar::I32),
            DType::Bool => self.item::<bool>().map(Scalar::Bool),
        }
    }

    /// The same elements under another shape of equal count; shares storage.
    pub fn reshaped(&self, shape: &[usize]) -> Result<Self, TensorError> {
        let wanted = element_count(shape, self.dtype)?;
        if wanted != self.len() {
            return Err(TensorError::WrongCount { given: self.len(), shape: shape.to_vec(), wanted });
        }
        Ok(Self { dtype: self.dtype, shape: shape.into(), storage: self.storage.clone() })
    }

    /// The rows `indices` of the first axis, in that order, as a new tensor.
    pub fn rows(&self, indices: &[usize]) -> Result<Self, TensorError> {
        let mut rows = Self::default();
        self.rows_into(indices, &mut rows)?;
        Ok(rows)
    }

    /// The same into a tensor, whose storage is used again where nobody shares it and it has the size.
    pub fn rows_into(&self, indices: &[usize], rows: &mut Self) -> Result<(), TensorError> {
        let Some((length, rest)) = self.shape.split_first() else {
            return Err(TensorError::NoAxis { axis: 0, shape: Vec::new() });
        };
        if let Some(index) = indices.iter().find(|index| *index >= length) {
            return Err(TensorError::OutOfRange { index: *index, axis: 0, shape: self.shape.to_vec() });
        }
        let mut shape = self.shape.clone();
        shape[0] = indices.len();
        if !(rows.dtype == self.dtype && rows.shape == shape && rows.is_unique()) {
            *rows = Self::zeros(self.dtype, &shape)?;
        }
        let row_bytes = rest.iter().product::<usize>() * self.dtype.size_bytes();
        let (source, target) = (self.bytes(), rows.bytes_mut());
        for (row, index) in indices.iter().enumerate() {
            target[row * row_bytes..][..row_bytes].copy_from_slice(&source[index * row_bytes..][..row_bytes]);
        }
        Ok(())
    }

    fn check_dtype(&self, asked: DType) -> Result<(), TensorError> {
        if self.dtype == asked { Ok(()) } else { Err(TensorError::WrongDType { held: self.dtype, asked }) }
    }

    fn not_scalar(&self) -> TensorError {
        TensorError::NotScalar { shape: self.shape.to_vec() }
    }
}

/// Equal dtype, shape and numbers (NaN differs from itself, as numbers do; compare [`Tensor::bytes`] for bits).
impl PartialEq for Tensor {
    fn eq(&self, other: &Self) -> bool {
        fn same<T: Element>(left: &Tensor, right: &Tensor) -> bool {
            left.elements::<T>().is_ok_and(|left| right.elements::<T>().is_ok_and(|right| left == right))
        }
        self.dtype == other.dtype
            && self.shape == other.shape
            && match self.dtype {
                DType::F32 => same::<f32>(self, other),
                DType::F64 => same::<f64>(self, other),
                DType::I32 => same::<i32>(self, other),
                DType::Bool => same::<bool>(self, other),
            }
    }
}
