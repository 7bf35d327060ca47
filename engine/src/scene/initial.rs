//! The values that parameters begin with.

use entigrad_components::Tensor;
use entigrad_systems::Error;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::schema::Activation;

/// The first of the random streams of a seed that weights are drawn from, a stream a layer. The streams from 0 on order the
/// rows of epochs.
const WEIGHT_STREAM: u64 = 1 << 63;

/// The weights `f32[inputs, outputs]` of layer `layer`, uniform between two limits; `before` is the activation that follows
/// the layer, where one does.
///
/// The limits are ±√(6 / inputs) for `Relu` (He et al. 2015), else ±√(6 / (inputs + outputs)) (Glorot and Bengio 2010): the
/// variance of signals then neither grows nor fades from layer to layer.
pub(crate) fn weights(
    seed: u64,
    layer: usize,
    (inputs, outputs): (usize, usize),
    before: Option<Activation>,
) -> Result<Tensor, Error> {
    let fans = match before {
        Some(Activation::Relu) => inputs,
        Some(Activation::Tanh | Activation::Sigmoid) | None => inputs + outputs,
    };
    let limit = (6.0 / fans as f64).sqrt();
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(WEIGHT_STREAM + layer as u64);
    // The middles of 2²⁴ equal parts of -1 to 1: symmetric, and neither limit is among them.
    let unit = |bits: u32| f64::from(2 * (bits >> 8) + 1) / f64::from(1_u32 << 24) - 1.0;
    let numbers: Vec<f32> = (0..inputs * outputs).map(|_| (limit * unit(generator.next_u32())) as f32).collect();
    Ok(Tensor::new(&[inputs, outputs], &numbers)?)
}
