//! Views: what ops show of their operand without moving anything.

use entigrad_components::Attributes;

use super::access::{Digit, View, row_major};

/// What an op shows of an operand of this shape, as a value of that shape.
pub type SelectView = fn(operand: &[usize], result: &[usize], attributes: &Attributes) -> View;

/// The operand itself, or its elements in the same order under another shape.
pub fn reshape(_: &[usize], result: &[usize], _: &Attributes) -> View {
    View { axes: row_major(result), offset: 0 }
}

/// The axes in the order that the attributes say.
pub fn transpose(operand: &[usize], _: &[usize], attributes: &Attributes) -> View {
    let axes = row_major(operand);
    match attributes {
        Attributes::Axes(order) => {
            View { axes: order.iter().map(|axis| axes[usize::from(*axis)]).collect(), offset: 0 }
        }
        _ => View { axes, offset: 0 },
    }
}

/// The operand repeated along axes of length 1 and along new leading axes.
pub fn broadcast(operand: &[usize], result: &[usize], _: &Attributes) -> View {
    let extra = result.len() - operand.len();
    let strides = row_major(operand);
    let axes = result.iter().enumerate().map(|(axis, extent)| {
        let repeats = axis < extra || operand[axis - extra] == 1;
        Digit { extent: *extent, stride: if repeats { 0 } else { strides[axis - extra].stride } }
    });
    View { axes: axes.collect(), offset: 0 }
}
