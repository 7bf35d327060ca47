//! Matrix products of traced values: what a product becomes for the ranks and lengths of its operands.

use entigrad_components::{Attributes, Dim, Dims};

use super::Value;
use crate::ops::{self, broadcast_dims};

/// Up to this inner length a product with one column is a sum of elementwise products, which joins its neighbours in one pass.
const INNER_LENGTH_MAX: usize = 256;

impl<'t> Value<'t> {
    /// The matrix product `[…, m, k] · […, k, n] -> […, m, n]`, as NumPy's `matmul`: leading axes are a batch and broadcast; a vector
    /// is a row on the left and a column on the right, and the result lacks that axis.
    ///
    /// A matrix on the right serves all matrices on the left in one product. Where the inner length is 1, or there is one column and
    /// the inner length is small, the product is traced as elementwise ops, which fuse with their neighbours.
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
        match left.elementwise_product(right, is_left_transposed, is_right_transposed) {
            Some(product) => product,
            None => left.product(right, is_left_transposed, is_right_transposed),
        }
    }

    /// The product of operands of one rank as elementwise ops, where that is better.
    #[track_caller]
    fn elementwise_product(self, other: Self, is_left_transposed: bool, is_right_transposed: bool) -> Option<Self> {
        let (left, right) = (self.shape(), other.shape());
        let (row_axis, column_axis) = (left.len() - 2, left.len() - 1);
        let axes = |is_transposed| if is_transposed { (column_axis, row_axis) } else { (row_axis, column_axis) };
        let ((left_rows, left_inner), (right_inner, right_columns)) =
            (axes(is_left_transposed), axes(is_right_transposed));
        let inner = left[left_inner].known().filter(|inner| right[right_inner].known() == Some(*inner))?;
        // A matrix of one row or column lies transposed as it lies.
        let with_last_two =
            |dims: &Dims, last: [&Dim; 2]| dims[..row_axis].iter().chain(last).cloned().collect::<Dims>();
        let one = Dim::from(1);
        if inner == 1 {
            let column = self.reshape(with_last_two(&left, [&left[left_rows], &one]));
            return Some(column * other.reshape(with_last_two(&right, [&one, &right[right_columns]])));
        }
        if inner > INNER_LENGTH_MAX || !right[right_columns].is_one() {
            return None;
        }
        let lasts = if is_left_transposed { [&right[right_inner], &one] } else { [&one, &right[right_inner]] };
        let terms = self * other.reshape(with_last_two(&right, lasts));
        Some(terms.sum_over(&[left_inner]).reshape(with_last_two(&left, [&left[left_rows], &one])))
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
