//! How the operands of a matrix product lie in memory: by strides, wherever strides can say it.

use smallvec::SmallVec;

use super::stored::Stored;
use super::values::{Class, Value, view_operand};
use crate::graph::{Graph, NodeId};
use crate::kernels::access::{Access, Digit};
use crate::kernels::program::{BufferId, Factor};

/// The factor that `node`, a batch of matrices, is for a product; or the view that has to be stored for it to be one.
pub(super) fn factor(
    graph: &Graph,
    values: &[Value],
    stored: &Stored,
    buffers: &[Option<BufferId>],
    node: NodeId,
    is_transposed: bool,
) -> Result<Factor, usize> {
    let shape = &values[node.index()].shape;
    let (batch_shape, matrix) = shape.split_at(shape.len() - 2);
    let extents = [batch_shape.iter().product(), matrix[0], matrix[1]];
    let mut access = Access::identity(values[node.index()].length);
    let mut base = node;
    while let Class::View(view) = &values[base.index()].class {
        if stored.is_stored[base.index()] {
            break;
        }
        access = access.through(view).ok_or(node.index())?;
        base = view_operand(graph, values, base.index());
    }
    let [batch, row, column] = strides(&access, extents).ok_or(node.index())?;
    let strides = if is_transposed { [column, row] } else { [row, column] };
    Ok(Factor {
        buffer: buffers[base.index()].expect("what a product reads has a buffer"),
        offset: access.offset(),
        strides: strides.map(|stride| stride as isize),
        batch_stride: batch,
    })
}

/// The stride of each of some extents, slowest first, where an access moves evenly along each.
fn strides(access: &Access, extents: [usize; 3]) -> Option<[usize; 3]> {
    let mut digits: SmallVec<[Digit; 4]> = access.digits().iter().copied().collect();
    let mut strides = [0; 3];
    if extents.contains(&0) {
        return Some(strides);
    }
    for (stride, extent) in strides.iter_mut().zip(extents).rev() {
        if extent == 1 {
            continue;
        }
        let last = digits.last_mut()?;
        *stride = last.stride;
        if last.extent == extent {
            digits.pop();
        } else if last.extent % extent == 0 {
            *last = Digit { extent: last.extent / extent, stride: last.stride * extent };
        } else {
            return None;
        }
    }
    digits.is_empty().then_some(strides)
}
