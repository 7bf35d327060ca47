//! The op table: one op, one row.
//!
//! *Invariant*: a row's place in the table is its [`OpId`] for as long as the world lives; rows are only added.

mod arithmetic;
mod comparison;
mod contraction;
mod index;
mod reduction;
pub mod row;
pub mod sample;
mod shape;
mod state;
mod transcendental;

pub use crate::kernels::opaque::{Kernel, KernelCall, OperandView, ResultView};
pub use row::{Derivative, Infer, Lowering, OpRow, OperandRule, ROW, Vjp, Weight};
pub use sample::{Sample, SampleOperand};
pub use shape::broadcast_dims;

use bevy_ecs::resource::Resource;
use entigrad_components::{Attributes, OpId};
use std::sync::Arc;

use crate::error::Error;

/// Names each built-in row's id, and lists the rows in that order.
macro_rules! table {
    ($($id:ident = $row:path,)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Place { $($id),* }
        $(#[doc = concat!("The id of the row `", stringify!($row), "`.")]
        pub const $id: OpId = OpId(Place::$id as u16);)*
        /// The built-in rows, in the order of their ids.
        const BUILT_IN: &[OpRow] = &[$($row),*];
    };
}

table! {
    INPUT = state::INPUT,
    CAPTURE = state::CAPTURE,
    NUMBER = state::NUMBER,
    LENGTH = state::LENGTH,
    IOTA = state::IOTA,
    READ = state::READ,
    ASSIGN = state::ASSIGN,
    CALL = state::CALL,
    RESULT = state::RESULT,
    STOP_GRADIENT = state::STOP_GRADIENT,
    CAST = arithmetic::CAST,
    ADD = arithmetic::ADD,
    SUB = arithmetic::SUB,
    MUL = arithmetic::MUL,
    DIV = arithmetic::DIV,
    NEG = arithmetic::NEG,
    MAXIMUM = arithmetic::MAXIMUM,
    COTANGENT_MUL = arithmetic::COTANGENT_MUL,
    EQUAL = comparison::EQUAL,
    LESS = comparison::LESS,
    LESS_EQUAL = comparison::LESS_EQUAL,
    SELECT = comparison::SELECT,
    EXP = transcendental::EXP,
    LOG = transcendental::LOG,
    SIN = transcendental::SIN,
    COS = transcendental::COS,
    TANH = transcendental::TANH,
    SQRT = transcendental::SQRT,
    SUM = reduction::SUM,
    MAX = reduction::MAX,
    MATMUL = contraction::MATMUL,
    RESHAPE = shape::RESHAPE,
    TRANSPOSE = shape::TRANSPOSE,
    BROADCAST = shape::BROADCAST,
    GATHER = index::GATHER,
    SCATTER_ADD = index::SCATTER_ADD,
}

/// What stands for a value whose op was refused; never in a finished graph.
pub const POISON: OpId = OpId(u16::MAX);

/// All rows that a world knows.
#[derive(Resource, Clone)]
pub struct OpTable {
    rows: Arc<Vec<OpRow>>,
}

impl Default for OpTable {
    fn default() -> Self {
        Self { rows: Arc::new(BUILT_IN.to_vec()) }
    }
}

impl std::fmt::Debug for OpTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OpTable({} rows)", self.rows.len())
    }
}

impl OpTable {
    /// The row of an id.
    pub fn row(&self, id: OpId) -> Option<&OpRow> {
        self.rows.get(usize::from(id.0))
    }

    /// The name of an id.
    pub fn name(&self, id: OpId) -> &'static str {
        self.row(id).map_or("poison", |row| row.name)
    }

    /// The id of a name.
    pub fn find(&self, name: &str) -> Option<OpId> {
        self.rows.iter().position(|row| row.name == name).map(|place| OpId(place as u16))
    }

    /// All rows with their ids.
    pub fn rows(&self) -> impl Iterator<Item = (OpId, &OpRow)> {
        self.rows.iter().enumerate().map(|(place, row)| (OpId(place as u16), row))
    }

    /// Adds a row; gives back the id that emits it. A row needs a name that is not taken, a doc, a kernel, and a rule an operand.
    pub fn add(&mut self, row: OpRow) -> Result<OpId, Error> {
        let name = row.name;
        let refused = |why: &str| Err(Error::invalid(format!("the row `{name}` cannot be added: {why}")));
        if name.is_empty() || row.doc.is_empty() {
            return refused("it has no name or no doc");
        }
        if self.find(name).is_some() {
            return refused("the table has a row of this name");
        }
        if self.rows.len() >= usize::from(POISON.0) {
            return refused("the table is full");
        }
        if matches!(row.lowering, Lowering::Source | Lowering::Assign | Lowering::Inlined) {
            return refused("it has no kernel");
        }
        if let Derivative::Rule(rules) = row.derivative
            && row.arity != Some(rules.len())
        {
            return refused("its gradient has another number of rules than it has operands");
        }
        let rows = Arc::make_mut(&mut self.rows);
        rows.push(row);
        Ok(OpId((rows.len() - 1) as u16))
    }

    /// The same table with one row replaced: how the tester is tested on wrong rules.
    pub fn with_replaced(&self, id: OpId, row: OpRow) -> Self {
        let mut rows = (*self.rows).clone();
        rows[usize::from(id.0)] = row;
        Self { rows: Arc::new(rows) }
    }
}

/// The place that attributes name, where they name one.
pub fn index_of(attributes: &Attributes) -> Option<usize> {
    if let Attributes::Index(index) = attributes { Some(*index as usize) } else { None }
}
