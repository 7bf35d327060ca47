//! Random programs over everything that a body can be written with: the same for one seed.
//!
//! *Includes* broadcasts, reductions, products of vectors, matrices and batches, views, gather and scatter, comparisons and choices,
//! casts between all element types, empty axes, symbolic lengths, variables. *Leaves out* what fails when it runs.
//! *Invariant*: two lengths are taken to be equal only where they are the same dim, so a program that was traced for some lengths
//! is right for others.

mod arguments;
mod state;
mod steps;

pub use arguments::{Lengths, arguments, specs};
pub use state::{State, counter, initial};

use entigrad::prelude::*;
use entigrad_components::SymbolValues;

use crate::random::Random;

/// No value has more elements than this.
const LENGTH_MAX: usize = 3000;

/// A program that is being written.
struct Program<'t> {
    t: Trace<'t>,
    random: Random,
    /// What the symbols stand for at one call.
    symbols: SymbolValues,
    /// All values so far.
    values: Vec<Value<'t>>,
    state: State<'t>,
}

/// The results of a program: a scalar that depends on every value, and some values.
pub type Results<'t> = (Value<'t>, Vec<Value<'t>>);

/// Writes a program of so many steps on these arguments. `state` is what it reads and assigns; it comes back as it is then.
pub fn program<'t>(
    t: Trace<'t>,
    seed: u64,
    steps: usize,
    lengths: &Lengths,
    arguments: &[Value<'t>],
    state: State<'t>,
) -> (Results<'t>, State<'t>) {
    let (random, symbols) = (Random(seed), lengths.symbols());
    let mut program = Program { t, random, symbols, values: arguments.to_vec(), state };
    for _ in 0..steps {
        program.step();
        program.touch_state();
    }
    (program.results(), program.state)
}

impl<'t> Program<'t> {
    /// The lengths of a value at that one call.
    fn shape(&self, x: Value<'t>) -> Vec<usize> {
        x.shape().evaluate(&self.symbols).unwrap()
    }

    fn length(&self, dims: &Dims) -> usize {
        dims.evaluate(&self.symbols).unwrap().iter().product()
    }

    fn is_small(&self, dims: &Dims) -> bool {
        self.length(dims) <= LENGTH_MAX
    }

    fn any(&mut self) -> Value<'t> {
        self.values[self.random.below(self.values.len())]
    }

    /// A value of a dtype among those that `is_wanted`, cast where there is none at hand.
    fn any_where(&mut self, is_wanted: impl Fn(DType) -> bool, or: DType) -> Value<'t> {
        for _ in 0..8 {
            let x = self.any();
            if is_wanted(x.dtype()) {
                return x;
            }
        }
        self.any().cast(or)
    }

    fn float(&mut self) -> Value<'t> {
        self.any_where(DType::is_float, DType::F64)
    }

    fn number(&mut self) -> Value<'t> {
        self.any_where(|dtype| dtype != DType::Bool, DType::F32)
    }

    /// A value that broadcasts with `x` and has its dtype: another one where one fits, else one number.
    fn partner(&mut self, x: Value<'t>) -> Value<'t> {
        for _ in 0..8 {
            let y = self.any();
            if let Some(dims) = broadcast(&x.shape(), &y.shape())
                && self.is_small(&dims)
            {
                return y.cast(x.dtype());
            }
        }
        let y = self.number();
        y.sum().cast(x.dtype())
    }

    /// Some axes of `x`, none of which `is_left_out`.
    fn axes(&mut self, x: Value<'t>, is_left_out: impl Fn(usize) -> bool) -> Vec<usize> {
        let lengths = self.shape(x);
        let axes = (0..x.rank()).filter(|axis| !is_left_out(lengths[*axis]));
        let axes: Vec<usize> = axes.collect();
        let all = self.random.below(4) == 0;
        axes.into_iter().filter(|_| all || self.random.below(2) == 0).collect()
    }

    /// One number that depends on all elements of `x`, and is neither large nor NaN.
    fn summary(&self, x: Value<'t>) -> Value<'t> {
        let x = x.cast(DType::F64).tanh();
        x.equal(x).select(x, 0.0).sum() * 0.125
    }

    /// A scalar of all values, and some of them as they are.
    fn results(&mut self) -> Results<'t> {
        let summaries = self.values.iter().map(|value| self.summary(*value));
        let loss = summaries.reduce(|sum, summary| sum + summary).unwrap();
        let mut some: Vec<Value<'t>> = (0..4).map(|_| self.any()).collect();
        some.extend_from_slice(&self.values[self.values.len() - 3..]);
        (loss, some)
    }
}

/// The dims that two shapes broadcast to, where they are the same dims or the literal 1.
fn broadcast(left: &Dims, right: &Dims) -> Option<Dims> {
    let rank = left.len().max(right.len());
    let at = |dims: &Dims, axis: usize| (axis + dims.len()).checked_sub(rank).map(|axis| dims[axis].clone());
    let merged = (0..rank).map(|axis| match (at(left, axis), at(right, axis)) {
        (Some(left), Some(right)) if left.is_one() || left == right => Some(right),
        (Some(left), Some(right)) if right.is_one() => Some(left),
        (Some(_), Some(_)) => None,
        (left, right) => left.or(right),
    });
    merged.collect()
}
