//! Arithmetic on single numbers, as the op table's documentation says it.

use entigrad::prelude::*;
use entigrad::systems::kernels::elementwise::SelectTile;
use entigrad::systems::kernels::tile::evaluate;
use entigrad::systems::ops;
use entigrad_components::OpId;

/// Two numbers of one type, each way of joining them.
fn join(
    x: Scalar,
    y: Scalar,
    f32s: fn(f32, f32) -> f32,
    f64s: fn(f64, f64) -> f64,
    i32s: fn(i32, i32) -> i32,
) -> Scalar {
    match (x, y) {
        (Scalar::F32(x), Scalar::F32(y)) => Scalar::F32(f32s(x, y)),
        (Scalar::F64(x), Scalar::F64(y)) => Scalar::F64(f64s(x, y)),
        (Scalar::I32(x), Scalar::I32(y)) => Scalar::I32(i32s(x, y)),
        _ => panic!("{x:?} and {y:?} are no numbers of one type"),
    }
}

/// x + y.
pub fn add(x: Scalar, y: Scalar) -> Scalar {
    join(x, y, |x, y| x + y, |x, y| x + y, i32::wrapping_add)
}

fn sub(x: Scalar, y: Scalar) -> Scalar {
    join(x, y, |x, y| x - y, |x, y| x - y, i32::wrapping_sub)
}

fn mul(x: Scalar, y: Scalar) -> Scalar {
    join(x, y, |x, y| x * y, |x, y| x * y, i32::wrapping_mul)
}

/// x / y, integers cut towards zero.
pub fn integer_div(x: Scalar, y: Scalar) -> Scalar {
    join(x, y, |x, y| x / y, |x, y| x / y, i32::wrapping_div)
}

/// x·y + sum, rounded once.
pub fn multiply_add(x: Scalar, y: Scalar, sum: Scalar) -> Scalar {
    match (x, y, sum) {
        (Scalar::F32(x), Scalar::F32(y), Scalar::F32(sum)) => Scalar::F32(x.mul_add(y, sum)),
        (Scalar::F64(x), Scalar::F64(y), Scalar::F64(sum)) => Scalar::F64(x.mul_add(y, sum)),
        _ => add(sum, mul(x, y)),
    }
}

/// The greater of both, NaN where either is; at a tie the second.
pub fn maximum(x: Scalar, y: Scalar) -> Scalar {
    if x.to_f64() > y.to_f64() || x.to_f64().is_nan() { x } else { y }
}

fn cast(x: Scalar, dtype: DType) -> Scalar {
    match (x, dtype) {
        (Scalar::F32(x), DType::I32) => Scalar::I32(x as i32),
        (Scalar::F64(x), DType::I32) => Scalar::I32(x as i32),
        // Every other is exact in f64, or rounded once.
        (x, dtype) => Scalar::from_f64(x.to_f64(), dtype),
    }
}

/// One element of an elementwise op, whose operands `number` gives.
pub fn elementwise(
    op: OpId,
    select: SelectTile,
    dtypes: &[DType],
    dtype: DType,
    number: impl Fn(usize) -> Scalar,
) -> Scalar {
    let compare = |holds: fn(f64, f64) -> bool| Scalar::Bool(holds(number(0).to_f64(), number(1).to_f64()));
    match op {
        ops::ADD => add(number(0), number(1)),
        ops::SUB => sub(number(0), number(1)),
        ops::MUL => mul(number(0), number(1)),
        ops::DIV => join(number(0), number(1), |x, y| x / y, |x, y| x / y, |_, _| panic!("no float")),
        ops::MAXIMUM => maximum(number(0), number(1)),
        ops::NEG => match number(0) {
            Scalar::F32(x) => Scalar::F32(-x),
            Scalar::F64(x) => Scalar::F64(-x),
            Scalar::I32(x) => Scalar::I32(x.wrapping_neg()),
            Scalar::Bool(_) => panic!("a truth value is not negated"),
        },
        ops::COTANGENT_MUL if number(0).to_f64() == 0.0 => Scalar::from_f64(0.0, dtype),
        ops::COTANGENT_MUL => mul(number(0), number(1)),
        ops::EQUAL => compare(|x, y| x == y),
        ops::LESS => compare(|x, y| x < y),
        ops::LESS_EQUAL => compare(|x, y| x <= y),
        ops::SELECT => number(if number(0) == Scalar::Bool(true) { 1 } else { 2 }),
        ops::CAST => cast(number(0), dtype),
        _ => {
            let numbers: Vec<Scalar> = (0..dtypes.len()).map(number).collect();
            evaluate(select(dtypes, dtype).unwrap(), &numbers, dtype)
        }
    }
}
