//! One row at one sample: how its value, its gradient and its second derivative are asked for.

use entigrad::prelude::*;
use entigrad::systems::ops::{OpTable, Sample, SampleOperand};
use entigrad_components::{Attributes, OpId};

use super::engine_with;
use crate::random::Random;

/// A row at a sample, with operands drawn.
#[derive(Clone)]
pub struct Case {
    /// The table that the row is in.
    pub table: OpTable,
    /// The row.
    pub op: OpId,
    /// The attributes.
    pub attributes: Attributes,
    /// The operands, floats as f64.
    pub operands: Vec<Tensor>,
    /// Whether the operands lie on a tie, where finite differences do not apply.
    pub is_tied: bool,
    /// What to draw directions from.
    pub seed: u64,
}

/// Anything that went wrong, in words.
pub type Checked<T> = Result<T, String>;

fn words(error: Error) -> String {
    error.to_string()
}

impl Case {
    /// Draws the operands of a sample.
    pub fn new(table: &OpTable, op: OpId, sample: &Sample, seed: u64) -> Self {
        let mut random = Random(seed + 1);
        let operands = sample.operands.iter().map(|operand| draw(operand, &mut random)).collect();
        let is_tied = sample.operands.iter().any(|operand| matches!(operand, SampleOperand::Tied { .. }));
        Self { table: table.clone(), op, attributes: sample.attributes.clone(), operands, is_tied, seed }
    }

    /// Which operands are floating point.
    pub fn floats(&self) -> Vec<usize> {
        (0..self.operands.len()).filter(|place| self.operands[*place].dtype().is_float()).collect()
    }

    /// The same case with other operands.
    pub fn at(&self, operands: Vec<Tensor>) -> Self {
        Self { operands, ..self.clone() }
    }

    /// The same case with every f64 rounded to f32.
    pub fn rounded(&self) -> Self {
        let round =
            |tensor: &Tensor| if tensor.dtype() == DType::F64 { tensor.cast(DType::F32) } else { tensor.clone() };
        self.at(self.operands.iter().map(round).collect())
    }

    /// The row's value.
    pub fn value(&self) -> Checked<Tensor> {
        let mut engine = engine_with(&self.table);
        let (op, attributes) = (self.op, self.attributes.clone());
        let function = engine.function::<Vec<Tensor>, Tensor>("row", move |t, x| t.emit(op, &x, attributes.clone()));
        engine.call(function, self.operands.clone()).map_err(words)
    }

    /// The cotangents of all operands for a cotangent of the value: the gradient of ⟨cotangent, row(x)⟩, taken `times` times
    /// over.
    pub fn vjp(&self, cotangent: &Tensor, times: usize) -> Checked<Vec<Tensor>> {
        let mut engine = engine_with(&self.table);
        let (op, attributes) = (self.op, self.attributes.clone());
        let product = engine.function::<(Vec<Tensor>, Tensor), Tensor>("row", move |t, (x, cotangent)| {
            let terms = (0..times).map(|_| (t.emit(op, &x, attributes.clone()) * cotangent).sum());
            terms.reduce(|left, right| left + right).unwrap_or_else(|| cotangent.sum())
        });
        let gradient = engine.value_and_gradient_of_arguments(product).map_err(words)?;
        let (_, (operands, _)) = engine.call(gradient, (self.operands.clone(), cotangent.clone())).map_err(words)?;
        Ok(operands)
    }

    /// The gradient of ⟨direction, vjp(x, cotangent)⟩: for the operands the second derivative along the direction, for the
    /// cotangent the directional derivative of the row (forward mode, as the vjp of the vjp).
    pub fn vjp_of_vjp(&self, cotangent: &Tensor, direction: &[Tensor]) -> Checked<(Vec<Tensor>, Tensor)> {
        type Arguments = ((Vec<Tensor>, Tensor), Vec<Tensor>);
        let mut engine = engine_with(&self.table);
        let (op, attributes) = (self.op, self.attributes.clone());
        let product = engine.function::<(Vec<Tensor>, Tensor), Tensor>("row", move |t, (x, cotangent)| {
            (t.emit(op, &x, attributes.clone()) * cotangent).sum()
        });
        let gradient = engine.value_and_gradient_of_arguments(product).map_err(words)?;
        let along = engine.function::<Arguments, Tensor>("along", move |t, ((x, cotangent), direction)| {
            let zero = cotangent.sum() * 0.0;
            let (_, (cotangents, _)) = t.call(gradient, (x, cotangent));
            let pairs = cotangents.into_iter().zip(direction).filter(|(cotangent, _)| cotangent.dtype().is_float());
            pairs.fold(zero, |sum, (cotangent, direction)| sum + (cotangent * direction).sum())
        });
        let second = engine.value_and_gradient_of_arguments(along).map_err(words)?;
        let arguments = ((self.operands.clone(), cotangent.clone()), direction.to_vec());
        let (_, ((operands, cotangent), _)) = engine.call(second, arguments).map_err(words)?;
        Ok((operands, cotangent))
    }
}

fn draw(operand: &SampleOperand, random: &mut Random) -> Tensor {
    let count = |shape: &[usize]| shape.iter().product::<usize>();
    let tensor = match operand {
        SampleOperand::Floats { shape, low, high } => {
            let floats: Vec<f64> = (0..count(shape)).map(|_| random.uniform(*low, *high)).collect();
            Tensor::new(shape, &floats)
        }
        SampleOperand::Tied { shape, values } => Tensor::new(shape, values),
        SampleOperand::Indices { shape, bound } => {
            let indices: Vec<i32> = (0..count(shape)).map(|_| random.below(*bound as usize) as i32).collect();
            Tensor::new(shape, &indices)
        }
        SampleOperand::Bools { shape } => {
            let bools: Vec<bool> = (0..count(shape)).map(|_| random.below(2) == 1).collect();
            Tensor::new(shape, &bools)
        }
    };
    tensor.expect("a sample's values fill its shape")
}
