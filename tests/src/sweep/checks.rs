//! The properties that every right row has.

use entigrad::prelude::*;
use entigrad::systems::ops::{Derivative, Infer};
use entigrad_components::SymbolValues;
use std::slice;
use std::sync::Arc;

use super::case::{Case, Checked};
use crate::random::Random;

/// A property: `Err` says how it does not hold.
pub type Check = fn(&Case) -> Checked<()>;

/// All properties, with the names that findings carry.
pub const ALL: &[(&str, Check)] = &[
    ("the shape rule holds for symbols as for numbers", symbolic_shape),
    ("the value is the same bits twice", same_bits),
    ("a row that sends nothing back is flat", flat_without_rule),
    ("reverse mode agrees with central differences", reverse_against_differences),
    ("forward mode agrees with reverse mode", forward_against_reverse),
    ("the second derivative agrees with differences of the first", second_order),
    ("the gradient is linear in the cotangent", linear),
    ("two uses give twice the gradient", accumulates),
    ("ties share the whole cotangent", ties),
    ("f32 agrees with f64", single_against_double),
];

/// Half the width of central differences, and what they are good to.
const STEP: f64 = 1e-6;
const TOLERANCE: f64 = 2e-6;

fn has_rule(case: &Case) -> bool {
    let row = case.table.row(case.op);
    row.is_some_and(|row| matches!(row.derivative, Derivative::Rule(_))) && !case.floats().is_empty()
}

fn doubles(tensor: &Tensor) -> Vec<f64> {
    tensor.cast(DType::F64).to_vec().expect("a cast to f64 holds f64")
}

fn tensor(shape: &[usize], values: &[f64]) -> Tensor {
    Tensor::new(shape, values).expect("values fill the shape")
}

fn random_like(tensors: &[Tensor], random: &mut Random) -> Vec<Tensor> {
    tensors.iter().map(|like| tensor(like.shape(), &random.directions(like.len()))).collect()
}

fn dot(left: &[Tensor], right: &[Tensor]) -> f64 {
    let pairs = left.iter().zip(right).filter(|(left, _)| left.dtype().is_float());
    pairs.map(|(left, right)| doubles(left).iter().zip(doubles(right)).map(|(x, y)| x * y).sum::<f64>()).sum()
}

/// x + step · direction, on floating point operands.
fn moved(operands: &[Tensor], direction: &[Tensor], step: f64) -> Vec<Tensor> {
    let one = |(operand, direction): (&Tensor, &Tensor)| {
        if !operand.dtype().is_float() {
            return operand.clone();
        }
        let values: Vec<f64> = doubles(operand).iter().zip(doubles(direction)).map(|(x, d)| x + step * d).collect();
        tensor(operand.shape(), &values)
    };
    operands.iter().zip(direction).map(one).collect()
}

fn near(left: f64, right: f64, tolerance: f64, what: &str) -> Checked<()> {
    let scale = left.abs().max(right.abs()).max(1.0);
    if (left - right).abs() <= tolerance * scale { Ok(()) } else { Err(format!("{what}: {left} against {right}")) }
}

fn all_near(left: &[Tensor], right: &[Tensor], tolerance: f64, what: &str) -> Checked<()> {
    for (place, (left, right)) in left.iter().zip(right).enumerate() {
        if !what.starts_with("value") && !what.starts_with("gradient") && left.dtype() != right.dtype() {
            return Err(format!("{what}: operand {place} is {} against {}", left.dtype(), right.dtype()));
        }
        if left.shape() != right.shape() {
            return Err(format!("{what}: operand {place} has shape {:?} against {:?}", left.shape(), right.shape()));
        }
        for (x, y) in doubles(left).into_iter().zip(doubles(right)) {
            near(x, y, tolerance, &format!("{what}, operand {place}"))?;
        }
    }
    Ok(())
}

/// A cotangent for the row's value, or `None` where it is no float.
fn cotangent(case: &Case, random: &mut Random) -> Checked<Option<Tensor>> {
    let value = case.value()?;
    Ok(value.dtype().is_float().then(|| tensor(value.shape(), &random.directions(value.len())).cast(value.dtype())))
}

fn symbolic_shape(case: &Case) -> Checked<()> {
    let row = case.table.row(case.op).ok_or("no row")?;
    let mut values = SymbolValues::default();
    // Each length but 1, which broadcasts by being known, becomes a symbol of its own.
    let mut symbolic = |operand: usize, tensor: &Tensor| {
        let dims = tensor.shape().iter().enumerate().map(|(axis, length)| {
            if *length == 1 {
                return Dim::Known(1);
            }
            let name: Arc<str> = format!("d{operand}_{axis}").into();
            values.bind(&name, *length).expect("each symbol is bound once");
            Dim::symbol(&name)
        });
        TensorSpec { dtype: tensor.dtype(), dims: dims.collect() }
    };
    let specs: Vec<TensorSpec> = case.operands.iter().enumerate().map(|(place, x)| symbolic(place, x)).collect();
    let mut agreements = Vec::new();
    let operands: Vec<&TensorSpec> = specs.iter().collect();
    let mut infer = Infer { operands: &operands, attributes: &case.attributes, agreements: &mut agreements };
    let spec = (row.infer)(&mut infer).map_err(|error| error.to_string())?;
    for (left, right) in &agreements {
        if left.evaluate(&values) != right.evaluate(&values) {
            return Err(format!("it asks that {left} = {right}, which does not hold at the sample"));
        }
    }
    let value = case.value()?;
    if spec.dtype != value.dtype() || spec.dims.evaluate(&values).as_deref() != Some(value.shape()) {
        return Err(format!("{spec} against {}", value.spec()));
    }
    Ok(())
}

fn same_bits(case: &Case) -> Checked<()> {
    let is_same = case.value()?.bytes() == case.value()?.bytes();
    if is_same { Ok(()) } else { Err("the bits differ".to_owned()) }
}

/// A row that says it has no derivative must not change with its operands; only `stop_gradient` says so of what does.
fn flat_without_rule(case: &Case) -> Checked<()> {
    let row = case.table.row(case.op).ok_or("no row")?;
    let has_none = matches!(row.derivative, Derivative::Zero | Derivative::Stop) && row.name != "stop_gradient";
    if !has_none || case.floats().is_empty() {
        return Ok(());
    }
    let direction = random_like(&case.operands, &mut Random(case.seed + 800));
    let moved = case.at(moved(&case.operands, &direction, STEP)).value()?;
    all_near(&[moved], &[case.value()?], 0.0, "a small step")
}

fn reverse_against_differences(case: &Case) -> Checked<()> {
    if !has_rule(case) || case.is_tied {
        return Ok(());
    }
    let mut random = Random(case.seed + 100);
    let Some(cotangent) = cotangent(case, &mut random)? else { return Ok(()) };
    let gradient = case.vjp(&cotangent, 1)?;
    // Along axes of each operand too, so that a rule given to the wrong operand is told from the right one.
    for place in [None].into_iter().chain(case.floats().into_iter().map(Some)) {
        let mut direction = random_like(&case.operands, &mut random);
        for (other, direction) in direction.iter_mut().enumerate() {
            if place.is_some_and(|place| place != other) {
                *direction = tensor(direction.shape(), &vec![0.0; direction.len()]);
            }
        }
        let at = |step| case.at(moved(&case.operands, &direction, step)).value();
        let (above, below) = (at(STEP)?, at(-STEP)?);
        let cotangent = slice::from_ref(&cotangent);
        let difference = (dot(&[above], cotangent) - dot(&[below], cotangent)) / (2.0 * STEP);
        near(dot(&gradient, &direction), difference, TOLERANCE, &format!("operand {place:?}"))?;
    }
    Ok(())
}

fn forward_against_reverse(case: &Case) -> Checked<()> {
    if !has_rule(case) {
        return Ok(());
    }
    let mut random = Random(case.seed + 200);
    let Some(cotangent) = cotangent(case, &mut random)? else { return Ok(()) };
    let direction = random_like(&case.operands, &mut random);
    let (_, forward) = case.vjp_of_vjp(&cotangent, &direction)?;
    let reverse = dot(&case.vjp(&cotangent, 1)?, &direction);
    near(dot(&[forward], &[cotangent]), reverse, 1e-10, "⟨c, J d⟩ against ⟨Jᵀ c, d⟩")
}

fn second_order(case: &Case) -> Checked<()> {
    if !has_rule(case) || case.is_tied {
        return Ok(());
    }
    let mut random = Random(case.seed + 300);
    let Some(cotangent) = cotangent(case, &mut random)? else { return Ok(()) };
    let direction = random_like(&case.operands, &mut random);
    let along = random_like(&case.operands, &mut random);
    let (second, _) = case.vjp_of_vjp(&cotangent, &direction)?;
    let first =
        |step| Ok::<_, String>(dot(&case.at(moved(&case.operands, &along, step)).vjp(&cotangent, 1)?, &direction));
    let difference = (first(STEP)? - first(-STEP)?) / (2.0 * STEP);
    near(dot(&second, &along), difference, 10.0 * TOLERANCE, "d² along two directions")
}

fn linear(case: &Case) -> Checked<()> {
    if !has_rule(case) {
        return Ok(());
    }
    let mut random = Random(case.seed + 400);
    let (Some(left), Some(right)) = (cotangent(case, &mut random)?, cotangent(case, &mut random)?) else {
        return Ok(());
    };
    let mixed = moved(slice::from_ref(&left), slice::from_ref(&right), 3.0).remove(0).cast(left.dtype());
    let (left, right) = (case.vjp(&left, 1)?, case.vjp(&right, 1)?);
    all_near(&case.vjp(&mixed, 1)?, &moved(&left, &right, 3.0), 1e-10, "c + 3 d")
}

fn accumulates(case: &Case) -> Checked<()> {
    if !has_rule(case) {
        return Ok(());
    }
    let mut random = Random(case.seed + 500);
    let Some(cotangent) = cotangent(case, &mut random)? else { return Ok(()) };
    let once = case.vjp(&cotangent, 1)?;
    all_near(&case.vjp(&cotangent, 2)?, &moved(&once, &once, 1.0), 1e-12, "two uses")
}

/// Where all operands grow by t, a maximum grows by t: the shares of a tie sum to the whole, and they are equal. A tied sample
/// repeats a value only where it ties.
fn ties(case: &Case) -> Checked<()> {
    if !case.is_tied {
        return Ok(());
    }
    let mut random = Random(case.seed + 600);
    let Some(cotangent) = cotangent(case, &mut random)? else { return Ok(()) };
    let shares = case.vjp(&cotangent, 1)?;
    let sum: f64 = shares.iter().flat_map(doubles).sum();
    near(sum, doubles(&cotangent).iter().sum(), 1e-12, "the sum of the shares")?;
    // Under equal cotangents, elements of one value have equal shares.
    let ones = tensor(cotangent.shape(), &vec![1.0; cotangent.len()]);
    let shares: Vec<f64> = case.vjp(&ones, 1)?.iter().flat_map(doubles).collect();
    let values: Vec<f64> = case.operands.iter().flat_map(doubles).collect();
    for (place, value) in values.iter().enumerate() {
        if let Some(other) = values[..place].iter().position(|other| other == value) {
            near(shares[place], shares[other], 1e-12, &format!("the shares of two elements that are {value}"))?;
        }
    }
    Ok(())
}

fn single_against_double(case: &Case) -> Checked<()> {
    if case.floats().is_empty() {
        return Ok(());
    }
    let single = case.rounded();
    let double = case.at(single.operands.iter().zip(&case.operands).map(|(x, like)| x.cast(like.dtype())).collect());
    all_near(&[single.value()?], &[double.value()?], 1e-5, "value")?;
    if !has_rule(case) {
        return Ok(());
    }
    let mut random = Random(case.seed + 700);
    let Some(cotangent) = cotangent(&single, &mut random)? else { return Ok(()) };
    let wide = cotangent.cast(double.value()?.dtype());
    all_near(&single.vjp(&cotangent, 1)?, &double.vjp(&wide, 1)?, 1e-4, "gradient")
}
