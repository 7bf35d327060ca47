//! What exists in an Entigrad world: plain data, newtypes, tensors, dims.
//!
//! *Includes* the components that say what a model, a variable, an op, a graph function, a concrete function, a binding
//! and a trainer know, and the hooks that keep their bookkeeping true however they die.
//! *Leaves out* everything that happens to them: traces, the op table, the passes and the kernels live in
//! `entigrad-systems`. Nothing here knows an op by name.

pub mod binding;
pub mod creation;
pub mod dims;
pub mod dtype;
pub mod function;
pub mod ids;
pub mod key;
pub mod model;
pub mod op;
pub mod reference;
pub mod spec;
pub mod tensor;
pub mod tombstone;
pub mod trainer;
pub mod variable;

pub use nalgebra;

pub use binding::{Binding, BindingOf, Bindings};
pub use creation::{CreationCounter, CreationIndex};
pub use dims::{Dim, Dims, Polynomial, SymbolValues};
pub use dtype::{DType, Element, Scalar};
pub use function::{
    ConcreteOf, Concretes, Constraint, DerivedFrom, DerivedFunctions, FuncGraph, FunctionCache, FunctionName,
    InputSignature, OutputSkeleton, TraceCount, WeakReference, WeakSource,
};
pub use ids::{ConcreteId, Function, ModelId, OpId, TrainerId, VariableId};
pub use key::{CacheKey, ModelSignature, SignatureEntry, Static, Token};
pub use model::{CachedSignature, Model, ModelVersion, Variables, VersionedModels};
pub use op::{Attributes, Axes, Bodies, BodyUse, Op, Operands, Ops, Origin};
pub use reference::{Death, DeathQueue, Referenced};
pub use spec::TensorSpec;
pub use tensor::{Tensor, TensorError};
pub use tombstone::{Cause, Kind, Tombstone, Tombstones};
pub use trainer::{Failed, OwnedStates, Trainer};
pub use variable::{Gradient, StateName, StateOf, States, Stored, Variable, VariableOf};
