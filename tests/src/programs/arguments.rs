//! What random programs are called with.

use entigrad::prelude::*;
use entigrad_components::SymbolValues;

use crate::random::Random;

/// The lengths of the axes: a long one, a short one and a third.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// The long one: beside a border of chunks, blocks or tiles.
    pub n: usize,
    /// The short one; may be empty.
    pub m: usize,
    /// The third.
    pub k: usize,
}

/// Lengths at which something ends: a chunk of lanes, a block of a reduction, a tile.
const BORDERS: [usize; 15] = [1, 7, 15, 16, 17, 31, 33, 255, 256, 257, 511, 512, 513, 127, 129];

impl Lengths {
    /// Those of a seed; without an empty axis where that is not wanted.
    pub fn of(seed: u64, may_be_empty: bool) -> Self {
        let mut random = Random(seed + 77);
        let least = usize::from(!may_be_empty || random.below(4) != 0);
        let n = if may_be_empty && random.below(20) == 0 { 0 } else { BORDERS[random.below(BORDERS.len())] };
        let k = if random.below(4) == 0 && n < 40 { BORDERS[2 + random.below(5)] } else { 1 + random.below(5) };
        Self { n, m: random.below(4) + least, k }
    }

    /// As values of the symbols of [`specs`].
    pub fn symbols(&self) -> SymbolValues {
        let mut symbols = SymbolValues::default();
        for (name, length) in [("n", self.n), ("m", self.m), ("k", self.k)] {
            symbols.bind(&name.into(), length).unwrap();
        }
        symbols
    }
}

/// Dtypes and axes of the arguments; `1`, `2` and `3` are lengths.
const ARGUMENTS: [(DType, &str); 14] = [
    (DType::F64, "nm"),
    (DType::F64, "mk"),
    (DType::F64, "n"),
    (DType::F64, "2mk"),
    (DType::F64, "2km"),
    (DType::F64, ""),
    (DType::F32, "mn"),
    (DType::F32, "1n"),
    (DType::F32, "m1"),
    (DType::F32, "3k1"),
    (DType::F32, "m"),
    (DType::I32, "nm"),
    (DType::I32, "k"),
    (DType::Bool, "n1"),
];

/// The specs of the arguments, with symbols for `n`, `m` and `k`, or with these lengths.
pub fn specs(lengths: Option<&Lengths>) -> Vec<TensorSpec> {
    let dim = |axis: char| match (axis, lengths) {
        ('n', Some(lengths)) => Dim::from(lengths.n),
        ('m', Some(lengths)) => Dim::from(lengths.m),
        ('k', Some(lengths)) => Dim::from(lengths.k),
        ('n' | 'm' | 'k', None) => Dim::from(&*axis.to_string()),
        _ => Dim::from(axis.to_digit(10).unwrap() as usize),
    };
    ARGUMENTS.iter().map(|(dtype, axes)| TensorSpec::new(*dtype, axes.chars().map(dim))).collect()
}

/// Arguments of these lengths.
pub fn arguments(seed: u64, lengths: &Lengths) -> Vec<Tensor> {
    let mut random = Random(seed + 1000);
    let mut tensor = |spec: &TensorSpec| {
        let shape: Vec<usize> = spec.dims.iter().map(|dim| dim.known().unwrap()).collect();
        let numbers = random.directions(shape.iter().product());
        match spec.dtype {
            DType::F32 | DType::F64 => Tensor::new(&shape, &numbers).unwrap().cast(spec.dtype),
            // Some equal ones among them.
            DType::I32 => {
                let numbers: Vec<i32> = numbers.iter().map(|number| (number * 9.0) as i32).collect();
                Tensor::new(&shape, &numbers).unwrap()
            }
            DType::Bool => {
                let truths: Vec<bool> = numbers.iter().map(|number| *number > 0.0).collect();
                Tensor::new(&shape, &truths).unwrap()
            }
        }
    };
    specs(Some(lengths)).iter().map(&mut tensor).collect()
}
