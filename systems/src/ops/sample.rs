//! Where tests may sample a row.

use entigrad_components::Attributes;

/// Operands and attributes at which an op may be tried, with floats drawn from where it is smooth.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The operands.
    pub operands: Vec<SampleOperand>,
    /// The attributes.
    pub attributes: Attributes,
}

/// One operand of a sample.
#[derive(Clone, Debug)]
pub enum SampleOperand {
    /// Floats, uniform between `low` and `high`.
    Floats {
        /// The shape.
        shape: &'static [usize],
        /// The least value.
        low: f64,
        /// The greatest value.
        high: f64,
    },
    /// These floats, in row-major order: ties and kinks that a rule answers by convention, where finite differences do not
    /// apply.
    Tied {
        /// The shape.
        shape: &'static [usize],
        /// The values.
        values: &'static [f64],
    },
    /// Integers from 0 up to, not including, `bound`.
    Indices {
        /// The shape.
        shape: &'static [usize],
        /// One more than the greatest.
        bound: i32,
    },
    /// Truth values.
    Bools {
        /// The shape.
        shape: &'static [usize],
    },
}

/// Floats of this shape between `low` and `high`.
pub const fn floats(shape: &'static [usize], low: f64, high: f64) -> SampleOperand {
    SampleOperand::Floats { shape, low, high }
}

/// A sample without attributes.
pub fn sample(operands: &[SampleOperand]) -> Sample {
    Sample { operands: operands.to_vec(), attributes: Attributes::None }
}

/// A sample with attributes.
pub fn sample_with(operands: &[SampleOperand], attributes: Attributes) -> Sample {
    Sample { operands: operands.to_vec(), attributes }
}
