//! The arrays of a case: read from a folder, or made.

use crate::npy;
use crate::session::Result;
use entigrad::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::f64::consts::TAU;
use std::path::{Path, PathBuf};

/// Where arrays come from.
pub enum Arrays {
    /// The files of this folder.
    Files(PathBuf),
    /// Random numbers.
    Made(Box<ChaCha8Rng>),
}

impl Arrays {
    /// Those of `case` in the folder `data`; made ones without it.
    pub fn new(case: &str, data: Option<&Path>) -> Self {
        match data {
            Some(folder) => Self::Files(folder.join(case)),
            None => Self::Made(Box::new(ChaCha8Rng::seed_from_u64(1))),
        }
    }

    /// The array `name`, `f32[shape]`; where it is not read, `made(place, z)` of a number z that is normally distributed.
    pub fn floats(&mut self, name: &str, shape: &[usize], made: impl Fn(usize, f64) -> f64) -> Result<Tensor> {
        let tensor = match self {
            Self::Files(folder) => npy::read(&folder.join(format!("{name}.npy")))?,
            Self::Made(generator) => {
                let number = |place| made(place, normal(generator)) as f32;
                Tensor::new(shape, &(0..shape.iter().product()).map(number).collect::<Vec<f32>>())?
            }
        };
        expect(name, tensor, DType::F32, shape)
    }

    /// The array `name`, `i32[shape]`; where it is not read, each element is equally often any from 0 to `end - 1`.
    pub fn indices(&mut self, name: &str, shape: &[usize], end: usize) -> Result<Tensor> {
        let tensor = match self {
            Self::Files(folder) => npy::read(&folder.join(format!("{name}.npy")))?,
            Self::Made(generator) => {
                let number = |_| (uniform(generator) * end as f64) as i32;
                Tensor::new(shape, &(0..shape.iter().product()).map(number).collect::<Vec<i32>>())?
            }
        };
        expect(name, tensor, DType::I32, shape)
    }

    /// The layers of a network of these sizes, `w0 b0 w1 b1 …`, with leading axes `lead`: weights of variance 1 / inputs,
    /// biases of zeros.
    pub fn layers(&mut self, lead: &[usize], sizes: &[usize]) -> Result<Vec<(Tensor, Tensor)>> {
        let mut layers = Vec::new();
        for (layer, pair) in sizes.windows(2).enumerate() {
            let deviation = (pair[0] as f64).powf(-0.5);
            let weights = self.floats(&format!("w{layer}"), &[lead, pair].concat(), |_, z| deviation * z)?;
            let biases = self.floats(&format!("b{layer}"), &[lead, &pair[1..]].concat(), |_, _| 0.0)?;
            layers.push((weights, biases));
        }
        Ok(layers)
    }
}

fn expect(name: &str, tensor: Tensor, dtype: DType, shape: &[usize]) -> Result<Tensor> {
    if tensor.dtype() == dtype && tensor.shape() == shape {
        return Ok(tensor);
    }
    Err(format!("the array `{name}` is {} where {dtype}{shape:?} is wanted", tensor.spec()).into())
}

/// Between 0 and 1, neither included.
fn uniform(generator: &mut ChaCha8Rng) -> f64 {
    (f64::from(generator.next_u32()) + 0.5) / (f64::from(u32::MAX) + 1.0)
}

/// Box and Muller 1958.
fn normal(generator: &mut ChaCha8Rng) -> f64 {
    (-2.0 * uniform(generator).ln()).sqrt() * (TAU * uniform(generator)).cos()
}
