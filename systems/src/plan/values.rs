//! What each node of a flat graph is to the planner, once all lengths are known.
//!
//! Numbers are folded here, and what is the operand itself (x · 1, x / 1) becomes a view of it: both exact.

use entigrad_components::tensor::element_count;
use entigrad_components::{Attributes, DType, Dim, Scalar, Tensor, TensorSpec};
use smallvec::SmallVec;

use super::PlanError;
use crate::error::RunError;
use crate::graph::{Graph, Node, NodeId};
use crate::kernels::access::{View, row_major};
use crate::kernels::fold::FoldKernels;
use crate::kernels::opaque::{Kernel, evaluate_constant};
use crate::kernels::program::Shape;
use crate::kernels::tile::{TileKernel, evaluate};
use crate::kernels::view;
use crate::ops::{self, Lowering, OpRow, OpTable};

/// What a node is.
#[derive(Clone, Debug)]
pub(super) enum Class {
    /// A leaf of the arguments.
    Input(u32),
    /// The value of a variable.
    Variable(u32),
    /// A tensor that the plan holds.
    Constant(Tensor),
    /// One number everywhere.
    Uniform(Scalar),
    /// Its operand, seen otherwise.
    View(View),
    /// An elementwise op, and what an element takes in picoseconds.
    Elementwise(TileKernel, u32),
    /// A reduction of its operand.
    Fold(FoldKernels),
    /// A matrix product.
    Product,
    /// An op with a kernel of its own.
    Opaque(Kernel),
    /// Writes a variable.
    Assign(u32),
}

/// A node with its shape.
#[derive(Clone, Debug)]
pub(super) struct Value {
    /// The shape.
    pub shape: Shape,
    /// How many elements.
    pub length: usize,
    /// What it is.
    pub class: Class,
}

/// Every node of `graph`, whose shapes are `shapes` and whose lengths as numbers `length` gives.
pub(super) fn values(
    table: &OpTable,
    graph: &Graph,
    shapes: Vec<Shape>,
    length: impl Fn(&Dim) -> Result<usize, RunError>,
) -> Result<Vec<Value>, PlanError> {
    let mut values: Vec<Value> = Vec::with_capacity(graph.nodes.len());
    for ((index, node), shape) in graph.nodes.iter().enumerate().zip(shapes) {
        let count = element_count(&shape, dtype_of(graph, index))
            .map_err(|cause| PlanError { node: index, cause: cause.into() })?;
        let class = match &node.attributes {
            Attributes::Number(number) if node.op == ops::NUMBER => Class::Uniform(*number),
            Attributes::Length(dim, dtype) if node.op == ops::LENGTH => {
                let length = length(dim).map_err(|cause| PlanError { node: index, cause })?;
                Class::Uniform(Scalar::from_f64(length as f64, *dtype))
            }
            _ => class(table, graph, node, &shape, &values).map_err(|cause| PlanError { node: index, cause })?,
        };
        values.push(Value { shape, length: count, class });
    }
    Ok(values)
}

fn class(table: &OpTable, graph: &Graph, node: &Node, shape: &[usize], values: &[Value]) -> Result<Class, RunError> {
    let index = ops::index_of(&node.attributes).unwrap_or_default();
    if node.op == ops::INPUT {
        return Ok(Class::Input(index as u32));
    }
    if node.op == ops::READ {
        return Ok(Class::Variable(index as u32));
    }
    if node.op == ops::CAPTURE {
        let captured = graph.captures[index].clone();
        return Ok(captured.to_scalar().map_or(Class::Constant(captured), Class::Uniform));
    }
    let row = table.row(node.op).expect("a graph that was traced has rows for its ops");
    let operands: SmallVec<[&Value; 3]> = node.operands.iter().map(|operand| &values[operand.index()]).collect();
    Ok(match row.lowering {
        Lowering::Assign => Class::Assign(index as u32),
        Lowering::View(select) => match operands[0].class {
            Class::Uniform(number) => Class::Uniform(number),
            _ => Class::View(select(&operands[0].shape, shape, &node.attributes)),
        },
        Lowering::Elementwise(select, weight) => {
            let dtypes: SmallVec<[DType; 3]> = node.operands.iter().map(|id| graph.node(*id).spec.dtype).collect();
            match select(&dtypes, node.spec.dtype) {
                Some(kernel) => elementwise(node, shape, &operands, kernel, weight.0),
                None => fallback(row)?,
            }
        }
        Lowering::Fold(select) => fold(graph, node, shape, operands[0], select, row)?,
        Lowering::Product if node.spec.dtype.is_float() => Class::Product,
        Lowering::Product => fallback(row)?,
        Lowering::Kernel(kernel) if operands.is_empty() => {
            Class::Constant(evaluate_constant(kernel, &node.attributes, node.spec.dtype, shape)?)
        }
        Lowering::Kernel(kernel) => Class::Opaque(kernel),
        Lowering::Source | Lowering::Inlined => panic!("a flat graph holds no `{}`", row.name),
    })
}

fn fallback(row: &OpRow) -> Result<Class, RunError> {
    row.fallback.map(Class::Opaque).ok_or(RunError::Misused("this op has no kernel for its element types"))
}

/// An elementwise op, folded where all its operands are numbers, or where one says that it is the other.
fn elementwise(node: &Node, shape: &[usize], operands: &[&Value], kernel: TileKernel, weight: u32) -> Class {
    let numbers: Option<SmallVec<[Scalar; 3]>> = operands
        .iter()
        .map(|value| if let Class::Uniform(number) = value.class { Some(number) } else { None })
        .collect();
    if let Some(numbers) = numbers {
        return Class::Uniform(evaluate(kernel, &numbers, node.spec.dtype));
    }
    let is_one = |place: usize| matches!(operands[place].class, Class::Uniform(number) if number.to_f64() == 1.0);
    // Only the first operand can be seen by a view, so x · 1 is found as 1 · x by `view_operand`.
    let is_itself = match node.op {
        ops::MUL => is_one(0) || is_one(1),
        // A cotangent of -0 gives 0, so only its own being 1 leaves the other as it is.
        ops::COTANGENT_MUL => is_one(0),
        ops::DIV => is_one(1),
        _ => false,
    };
    if is_itself {
        Class::View(view::reshape(shape, shape, &Attributes::None))
    } else {
        Class::Elementwise(kernel, weight)
    }
}

fn fold(
    graph: &Graph,
    node: &Node,
    shape: &[usize],
    operand: &Value,
    select: crate::kernels::fold::SelectFold,
    row: &OpRow,
) -> Result<Class, RunError> {
    let result_length: usize = shape.iter().product();
    let is_empty = operand.length == 0 && result_length > 0;
    if is_empty && node.op == ops::MAX {
        return Err(RunError::EmptyMaximum);
    }
    if operand.length == result_length {
        return Ok(match operand.class {
            Class::Uniform(number) => Class::Uniform(number),
            _ => Class::View(View { axes: row_major(shape), offset: 0 }),
        });
    }
    let dtype = graph.node(node.operands[0]).spec.dtype;
    select(dtype).map_or_else(|| fallback(row), |kernels| Ok(Class::Fold(kernels)))
}

/// The operand that a view shows.
pub(super) fn view_operand(graph: &Graph, values: &[Value], node: usize) -> NodeId {
    let operands = &graph.nodes[node].operands;
    match operands.get(1) {
        // 1 · x shows x.
        Some(second) if matches!(values[operands[0].index()].class, Class::Uniform(_)) => *second,
        _ => operands[0],
    }
}

/// The spec of a node as dtype and shape, for messages and buffers.
pub(super) fn dtype_of(graph: &Graph, node: usize) -> DType {
    let spec: &TensorSpec = &graph.nodes[node].spec;
    spec.dtype
}
