//! Matrix products of traced values: what a product becomes for the ranks and lengths of its operands.

use entigrad_components::{Attributes, Dim, Dims};

use super::Value;
use crate::ops::{self, broadcast_dims};

/// From how many elements on an outer product is traced as an elementwise one: it need not be stored then.
const OUTER_LENGTH_MIN: usize = 1 << 16;

impl<'t> Value<'t> {
    /// The matrix product `[…, m, k] · […, k, n] -> […, m, n]`, as NumPy's `matmul`: leading axes are a batch and broadcast; a vector
    /// is a row on the left and a column on the right, and the result lacks that axis.
    ///
    /// A matrix on the right serves all matrices on the left in one product. A large outer product (inner length 1) is traced as
    /// an elementwise one, which fuses with what reads it.
    #[track_caller]
    pub fn matmul(self, other: Self) -> Self {
        self.matmul_with(other, false, false)
    }

    /// The matrix product of operands whose last two axes may lie transposed; of a vector nothing is.
    #[track_caller]
    pub fn matmul_with(self, other: Self, is_left_transposed: bool, is_right_transposed: bool) -> Self {
        let (left, right) = (self.shape(), other.shape());
        if left.is_empty() || right.is_empty() {
            return self.product(other, is_left_transposed, is_right_transposed);
        }
        if left.len() == 1 {
            let row = self.reshape([Dim::from(1), left[0].clone()]);
            let product = row.matmul_with(other, false, is_right_transposed);
            return product.without_axis(if right.len() == 1 { 0 } else { right.len() - 2 });
        }
        if right.len() == 1 {
            let column = other.reshape([right[0].clone(), Dim::from(1)]);
            return self.matmul_with(column, is_left_transposed, false).without_axis(left.len() - 1);
        }
        let (left_batch, left_matrix) = left.split_at(left.len() - 2);
        let (right_batch, right_matrix) = right.split_at(right.len() - 2);
        if right_batch.is_empty() && !left_batch.is_empty() && !is_left_transposed {
            // Rows of all matrices are rows of one.
            let rows: Dims = left[..left.len() - 1].iter().cloned().collect();
            let flat = self.reshape([rows.count(), left_matrix[1].clone()]);
            let product = flat.matmul_with(other, false, is_right_transposed);
            let columns = product.shape()[1].clone();
            return product.reshape(rows.iter().cloned().chain([columns]).collect::<Dims>());
        }
        let batch = broadcast_dims(&left_batch.iter().cloned().collect(), &right_batch.iter().cloned().collect());
        let Ok(batch) = batch else { return self.product(other, is_left_transposed, is_right_transposed) };
        let batched = |matrix: &[Dim]| batch.iter().chain(matrix).cloned().collect::<Dims>();
        let (left, right) = (self.broadcast(batched(left_matrix)), other.broadcast(batched(right_matrix)));
        match left.outer_product(right, is_left_transposed, is_right_transposed) {
            Some(product) => product,
            None => left.product(right, is_left_transposed, is_right_transposed),
        }
    }

    /// The product of columns and rows, operands of one rank whose inner length is 1: elementwise.
    #[track_caller]
    fn outer_product(self, other: Self, is_left_transposed: bool, is_right_transposed: bool) -> Option<Self> {
        let (left, right) = (self.shape(), other.shape());
        let (row_axis, column_axis) = (left.len() - 2, left.len() - 1);
        let axes = |is_transposed| if is_transposed { (column_axis, row_axis) } else { (row_axis, column_axis) };
        let ((rows, left_inner), (right_inner, columns)) = (axes(is_left_transposed), axes(is_right_transposed));
        let length = left[rows].known().zip(right[columns].known()).map_or(0, |(rows, columns)| rows * columns);
        if !left[left_inner].is_one() || !right[right_inner].is_one() || length < OUTER_LENGTH_MIN {
            return None;
        }
        // A matrix of one row or column lies transposed as it lies.
        let matrix = |dims: &Dims, last: [&Dim; 2]| dims[..row_axis].iter().chain(last).cloned().collect::<Dims>();
        let one = Dim::from(1);
        let column = self.reshape(matrix(&left, [&left[rows], &one]));
        Some(column * other.reshape(matrix(&right, [&one, &right[columns]])))
    }

    #[track_caller]
    fn product(self, other: Self, is_left_transposed: bool, is_right_transposed: bool) -> Self {
        let flags = Attributes::Flags(is_left_transposed, is_right_transposed);
        self.trace.emit(ops::MATMUL, &[self, other], flags)
    }

    /// The same without an axis of length 1.
    #[track_caller]
    fn without_axis(self, axis: usize) -> Self {
        let dims = self.shape();
        self.reshape(
            dims.iter().enumerate().filter(|(place, _)| *place != axis).map(|(_, dim)| dim.clone()).collect::<Dims>(),
        )
    }
}
