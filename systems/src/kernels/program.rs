//! Programs: what the plan pass writes and the kernels run. Plain data.
//!
//! A program is a list of instructions on buffers. A fused instruction runs a short list of tile steps over a *domain*, the
//! linear index of so many elements, a tile at a time. How an operand lies under the domain is an [`Access`].

use entigrad_components::{Attributes, DType, Origin, Tensor};
use smallvec::SmallVec;

use super::access::Access;
use super::fold::FoldKernels;
use super::memory::Pool;
use super::opaque::Kernel;
use super::tile::TileKernel;

/// A shape, settled.
pub type Shape = SmallVec<[usize; 4]>;

/// The place of a buffer in [`Program::buffers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

impl BufferId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a buffer's bytes are while a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A leaf of the arguments.
    Input(u32),
    /// The value of a variable.
    Variable(u32),
    /// A result.
    Output(u32),
    /// A tensor of the program's own.
    Constant(u32),
    /// So many bytes into the arena.
    Arena(usize),
}

/// A buffer: dense, row-major.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Where it is.
    pub place: Place,
    /// The element type.
    pub dtype: DType,
    /// How many elements.
    pub length: usize,
    /// The node of the graph whose value it holds, for printing.
    pub node: u32,
}

impl Buffer {
    /// Whether it is no part of the program.
    pub fn is_outside(&self) -> bool {
        matches!(self.place, Place::Input(_) | Place::Variable(_) | Place::Output(_))
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.length * self.dtype.size_bytes()
    }
}

/// A linear program.
#[derive(Debug)]
pub struct Program {
    /// A number that no other program of this process has, and not 0.
    pub number: u64,
    /// Tensors that it holds itself.
    pub constants: Vec<Tensor>,
    /// All buffers.
    pub buffers: Vec<Buffer>,
    /// Those of inputs, variables and results, which are elsewhere at every run.
    pub outside: Vec<BufferId>,
    /// What it does, in order.
    pub instructions: Vec<Instruction>,
    /// The results' specs.
    pub outputs: Vec<(DType, Shape)>,
    /// Which variables it writes.
    pub is_written: Vec<bool>,
    /// The size of the arena.
    pub arena_bytes: usize,
    /// A rough guess of what a run takes.
    pub work_nanoseconds: usize,
}

/// One step of a program, and the op that it is named by in messages.
#[derive(Debug)]
pub struct Instruction {
    /// What it does.
    pub work: Work,
    /// The op that an error is about.
    pub op: &'static str,
    /// Where that was written.
    pub origin: Origin,
}

/// What an instruction does.
#[derive(Debug)]
pub enum Work {
    /// Elementwise ops, with the reductions that end them.
    Fused(Box<Fused>),
    /// Matrix products.
    Product(Box<Product>),
    /// One op by its own kernel, which may fail.
    Opaque(Box<Opaque>),
    /// The bytes of one buffer into another of the same size.
    Copy {
        /// From here.
        from: BufferId,
        /// To here.
        to: BufferId,
    },
}

impl Work {
    /// A rough guess of what it takes.
    pub fn nanoseconds(&self) -> usize {
        /// What an instruction takes besides its elements.
        const INSTRUCTION_NANOSECONDS: usize = 50;
        let elements = match self {
            Self::Fused(fused) => fused.length.saturating_mul(fused.element_picoseconds) / 1000,
            Self::Product(product) => product.work_nanoseconds(),
            Self::Opaque(opaque) => opaque.result.2.iter().product(),
            Self::Copy { .. } => 0,
        };
        elements.saturating_add(INSTRUCTION_NANOSECONDS)
    }
}

/// An operand of a tile step: so many bytes from a base. Base 0 is the pool of constants, base 1 the registers, the others are
/// the directs of the instruction and then its stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Which base.
    pub base: u32,
    /// How many bytes further.
    pub offset: u32,
}

impl Slot {
    /// The base of constants.
    pub const POOL: u32 = 0;
    /// The base of registers.
    pub const REGISTERS: u32 = 1;
    /// The base of the first direct operand.
    pub const FIRST_DIRECT: u32 = 2;
}

/// One op on tiles.
#[derive(Clone, Debug)]
pub struct Step {
    /// The kernel.
    pub kernel: TileKernel,
    /// What it writes.
    pub result: Slot,
    /// What it reads; those that its op does not have repeat the first.
    pub operands: [Slot; 3],
    /// The op's name, for printing.
    pub op: &'static str,
    /// The nodes of the graph that it computes, for printing; where it is one, twice.
    pub nodes: [u32; 2],
}

impl Step {
    /// The name of a step that moves a value and computes nothing.
    pub const COPY: &'static str = "copy";

    /// How many ops it does on an element.
    pub fn op_count(&self) -> usize {
        match self.nodes {
            _ if self.op == Self::COPY => 0,
            [first, second] => 1 + usize::from(first != second),
        }
    }
}

/// An operand that lies under the domain as the domain does: read where it is.
#[derive(Clone, Debug)]
pub struct Direct {
    /// The buffer.
    pub buffer: BufferId,
    /// The element that belongs to element 0 of the domain.
    pub offset: usize,
    /// How many elements of the buffer may be read, padding included.
    pub readable: usize,
    /// The size of an element.
    pub element_bytes: usize,
    /// The register that stands in for the last tile, where whole chunks would reach beyond the buffer.
    pub stand_in: u32,
}

/// An operand of one element: read once a run.
#[derive(Clone, Debug)]
pub struct Uniform {
    /// The buffer.
    pub buffer: BufferId,
    /// Which element.
    pub offset: usize,
    /// The size of an element.
    pub element_bytes: usize,
    /// Its register.
    pub register: u32,
}

/// An operand that lies otherwise: copied into a register, tile by tile.
#[derive(Clone, Debug)]
pub struct Strided {
    /// The buffer.
    pub buffer: BufferId,
    /// How it lies.
    pub access: Access,
    /// The size of an element.
    pub element_bytes: usize,
    /// Its register.
    pub register: u32,
}

/// A result that is written under the domain as the domain lies.
#[derive(Clone, Debug)]
pub struct Store {
    /// The buffer.
    pub buffer: BufferId,
    /// The size of an element.
    pub element_bytes: usize,
    /// The register that stands in where a tile ends within a chunk, or until its old value was read.
    pub stand_in: u32,
    /// Whether a later step still reads what lies in the buffer.
    pub is_deferred: bool,
}

/// A reduction that ends a fused instruction.
#[derive(Clone, Debug)]
pub struct Fold {
    /// The tile that is reduced.
    pub value: Slot,
    /// The result, one element for each that is kept.
    pub buffer: BufferId,
    /// The kernels.
    pub kernels: FoldKernels,
    /// Where among the registers its partial results are.
    pub state: u32,
    /// The op's name, for printing.
    pub op: &'static str,
}

/// How a domain is reduced: as a matrix, along its rows or along its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extents {
    /// How many elements go into one.
    pub reduced: usize,
    /// How many are left.
    pub kept: usize,
    /// Whether the elements that go into one lie side by side.
    pub is_inner: bool,
}

/// Elementwise ops over a domain, with the reductions that end them.
#[derive(Debug)]
pub struct Fused {
    /// Elements of the domain.
    pub length: usize,
    /// Elements of a tile, a multiple of a chunk.
    pub tile: usize,
    /// Operands read where they are.
    pub directs: Vec<Direct>,
    /// Operands of one element.
    pub uniforms: Vec<Uniform>,
    /// Operands that are copied.
    pub strideds: Vec<Strided>,
    /// The ops.
    pub steps: Vec<Step>,
    /// Results of the domain's length.
    pub stores: Vec<Store>,
    /// How the domain is reduced, where it is.
    pub extents: Option<Extents>,
    /// The reductions.
    pub folds: Vec<Fold>,
    /// Constants, each a tile long.
    pub pool: Pool,
    /// The size of all registers.
    pub register_bytes: usize,
    /// A rough guess of what an element takes, in picoseconds.
    pub element_picoseconds: usize,
}

/// An operand of a product.
#[derive(Clone, Debug)]
pub struct Factor {
    /// The buffer.
    pub buffer: BufferId,
    /// The first element.
    pub offset: usize,
    /// Elements from a row to the next, and from a column to the next.
    pub strides: [isize; 2],
    /// Elements from a matrix of the batch to the next.
    pub batch_stride: usize,
}

/// A batch of matrix products C = A·B.
#[derive(Debug)]
pub struct Product {
    /// How many matrices.
    pub batch: usize,
    /// Rows of A and C.
    pub rows: usize,
    /// Columns of A, rows of B.
    pub inner: usize,
    /// Columns of B and C.
    pub columns: usize,
    /// A.
    pub left: Factor,
    /// B.
    pub right: Factor,
    /// C, dense.
    pub result: BufferId,
    /// The element type.
    pub dtype: DType,
    /// Whether the next instruction, a fused one over C, is run with this one, block by block.
    pub is_followed: bool,
}

/// One op by its own kernel.
pub struct Opaque {
    /// The kernel.
    pub kernel: Kernel,
    /// What it reads, with shapes.
    pub operands: SmallVec<[(BufferId, DType, Shape); 3]>,
    /// What it writes.
    pub result: (BufferId, DType, Shape),
    /// The op's attributes.
    pub attributes: Attributes,
}

impl std::fmt::Debug for Opaque {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opaque").field("operands", &self.operands).field("result", &self.result).finish()
    }
}
