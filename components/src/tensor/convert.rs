//! Conversions: numbers, arrays and vectors to tensors; nalgebra to and from.
//!
//! nalgebra is column-major: a row-major tensor is viewed there without a copy through strides, and taken from there
//! with one copy.

use nalgebra::{DMatrix, DVector, Dyn, Matrix, MatrixView, Quaternion, RawStorage, Scalar as NalgebraScalar};

use super::{Tensor, TensorError};
use crate::dtype::{DType, Element};

impl<T: Element> From<T> for Tensor {
    fn from(value: T) -> Self {
        Self::scalar(value.to_scalar())
    }
}

impl<T: Element> From<&[T]> for Tensor {
    fn from(elements: &[T]) -> Self {
        from_parts(&[elements.len()], elements.iter().copied())
    }
}

impl<T: Element> From<Vec<T>> for Tensor {
    fn from(elements: Vec<T>) -> Self {
        Self::from(&elements[..])
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Tensor {
    fn from(elements: [T; N]) -> Self {
        Self::from(&elements[..])
    }
}

impl<T: Element, const N: usize, const M: usize> From<[[T; M]; N]> for Tensor {
    fn from(rows: [[T; M]; N]) -> Self {
        from_parts(&[N, M], rows.into_iter().flatten())
    }
}

impl<T: Element, const N: usize, const M: usize, const L: usize> From<[[[T; L]; M]; N]> for Tensor {
    fn from(planes: [[[T; L]; M]; N]) -> Self {
        from_parts(&[N, M, L], planes.into_iter().flatten().flatten())
    }
}

impl<T: Element> TryFrom<Vec<Vec<T>>> for Tensor {
    type Error = TensorError;
    /// Rows of equal length.
    fn try_from(rows: Vec<Vec<T>>) -> Result<Self, TensorError> {
        let wanted = rows.first().map_or(0, Vec::len);
        if let Some(row) = rows.iter().position(|row| row.len() != wanted) {
            return Err(TensorError::Ragged { row, given: rows[row].len(), wanted });
        }
        Ok(from_parts(&[rows.len(), wanted], rows.iter().flatten().copied()))
    }
}

/// A matrix or vector of nalgebra as a tensor `[rows, columns]` (one copy).
impl<T, R, C, S> From<&Matrix<T, R, C, S>> for Tensor
where
    T: Element + NalgebraScalar,
    R: nalgebra::Dim,
    C: nalgebra::Dim,
    S: RawStorage<T, R, C>,
{
    fn from(matrix: &Matrix<T, R, C, S>) -> Self {
        let (rows, columns) = matrix.shape();
        from_parts(&[rows, columns], (0..rows).flat_map(|row| (0..columns).map(move |column| matrix[(row, column)])))
    }
}

/// A point of nalgebra as a tensor `[n]`.
impl<T: Element + NalgebraScalar, const N: usize> From<&nalgebra::Point<T, N>> for Tensor {
    fn from(point: &nalgebra::Point<T, N>) -> Self {
        from_parts(&[N], point.coords.iter().copied())
    }
}

/// A quaternion of nalgebra as a tensor `[4]` in nalgebra's storage order: i, j, k, w.
impl<T: Element + NalgebraScalar> From<&Quaternion<T>> for Tensor {
    fn from(quaternion: &Quaternion<T>) -> Self {
        from_parts(&[4], quaternion.coords.iter().copied())
    }
}

impl Tensor {
    /// A view of a rank-2 tensor for nalgebra, without a copy (floats and integers).
    pub fn as_matrix<T>(&self) -> Result<MatrixView<'_, T, Dyn, Dyn, Dyn, Dyn>, TensorError>
    where
        T: Element<Repr = T> + NalgebraScalar,
    {
        let [rows, columns] = *self.shape() else {
            return Err(TensorError::NoAxis { axis: 1, shape: self.shape().to_vec() });
        };
        // nalgebra asks that strides fit the elements also where there are none.
        let strides = match (rows, columns) {
            (0, 0) => (Dyn(1), Dyn(1)),
            (0, _) => (Dyn(1), Dyn(0)),
            (_, 0) => (Dyn(0), Dyn(1)),
            (_, _) => (Dyn(columns), Dyn(1)),
        };
        let elements = self.elements::<T>()?;
        Ok(MatrixView::from_slice_with_strides_generic(elements, Dyn(rows), Dyn(columns), strides.0, strides.1))
    }

    /// A copy of a rank-2 tensor as a matrix of nalgebra.
    pub fn to_matrix<T>(&self) -> Result<DMatrix<T>, TensorError>
    where
        T: Element<Repr = T> + NalgebraScalar,
    {
        let [rows, columns] = *self.shape() else {
            return Err(TensorError::NoAxis { axis: 1, shape: self.shape().to_vec() });
        };
        Ok(DMatrix::from_row_slice(rows, columns, self.elements::<T>()?))
    }

    /// A copy of the elements as a vector of nalgebra, whatever the shape.
    pub fn to_vector<T>(&self) -> Result<DVector<T>, TensorError>
    where
        T: Element<Repr = T> + NalgebraScalar,
    {
        Ok(DVector::from_column_slice(self.elements::<T>()?))
    }

    /// The elements as another type: to `f32` rounded to nearest, to `i32` towards zero and saturating, to `bool`
    /// "not zero".
    pub fn cast(&self, dtype: DType) -> Self {
        if dtype == self.dtype() {
            return self.clone();
        }
        let numbers: Vec<f64> = match self.dtype() {
            DType::F32 => numbers::<f32>(self),
            DType::F64 => numbers::<f64>(self),
            DType::I32 => numbers::<i32>(self),
            DType::Bool => numbers::<bool>(self),
        };
        match dtype {
            DType::F32 => from_parts(self.shape(), numbers.into_iter().map(|number| number as f32)),
            DType::F64 => from_parts(self.shape(), numbers.into_iter()),
            DType::I32 => from_parts(self.shape(), numbers.into_iter().map(|number| number as i32)),
            DType::Bool => from_parts(self.shape(), numbers.into_iter().map(|number| number != 0.0)),
        }
    }
}

/// The elements as `f64`, which holds every element type exactly.
fn numbers<T: Element>(tensor: &Tensor) -> Vec<f64> {
    let elements = tensor.elements::<T>().unwrap_or_default();
    elements.iter().map(|repr| T::from_repr(*repr).to_scalar().to_f64()).collect()
}

/// A tensor from as many elements as the shape takes: the callers here count both from one source.
fn from_parts<T: Element>(shape: &[usize], elements: impl Iterator<Item = T>) -> Tensor {
    let reprs: Vec<T::Repr> = elements.map(T::to_repr).collect();
    Tensor::from_reprs(T::DTYPE, shape, &reprs)
}
