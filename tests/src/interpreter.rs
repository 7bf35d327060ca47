//! The plain interpreter: runs a flat graph op by op, element by element, with none of the engine's plans, so that what it
//! gives is what a plan has to give, bit for bit.
//!
//! It has its own index arithmetic, its own arithmetic and its own reductions, written from their definitions; only the functions
//! of one number (`tanh`, …) are the engine's, one number at a time. Products are chains of multiply-adds.

mod numbers;

use entigrad::prelude::*;
use entigrad::systems::graph::{Graph, Node};
use entigrad::systems::ops::{self, Lowering, OpTable, index_of};
use entigrad_components::{Attributes, SymbolValues};

use numbers::{add, elementwise, integer_div, maximum, multiply_add};

/// A dense value whose elements are kept as numbers of their type.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// The shape.
    pub shape: Vec<usize>,
    /// The elements, row-major.
    pub elements: Vec<Scalar>,
}

impl Dense {
    /// From a tensor.
    pub fn of(tensor: &Tensor) -> Self {
        let elements = match tensor.dtype() {
            DType::F32 => tensor.to_vec::<f32>().unwrap().into_iter().map(Scalar::F32).collect(),
            DType::F64 => tensor.to_vec::<f64>().unwrap().into_iter().map(Scalar::F64).collect(),
            DType::I32 => tensor.to_vec::<i32>().unwrap().into_iter().map(Scalar::I32).collect(),
            DType::Bool => tensor.to_vec::<bool>().unwrap().into_iter().map(Scalar::Bool).collect(),
        };
        Self { shape: tensor.shape().to_vec(), elements }
    }

    /// Whether both have the same shape and the same bits, where any NaN is as good as another.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_nan = |number: &Scalar| number.to_f64().is_nan();
        let pairs = || self.elements.iter().zip(&other.elements);
        self.shape == other.shape
            && self.elements.len() == other.elements.len()
            && pairs().all(|(x, y)| x == y || x.dtype() == y.dtype() && is_nan(x) && is_nan(y))
    }

    /// The elements at these places, under a shape.
    fn taken(&self, shape: Vec<usize>, places: &[usize]) -> Self {
        Self { shape, elements: places.iter().map(|place| self.elements[*place]).collect() }
    }

    /// The strides of its axes.
    fn strides(&self) -> Vec<usize> {
        (0..self.shape.len()).map(|axis| self.shape[axis + 1..].iter().product()).collect()
    }
}

/// Where the elements of these extents are, in row-major order, when a step along an axis moves by its stride.
fn places(extents: &[usize], strides: &[usize]) -> Vec<usize> {
    extents.iter().zip(strides).fold(vec![0], |places, (extent, stride)| {
        places.iter().flat_map(|place| (0..*extent).map(move |index| place + index * stride)).collect()
    })
}

/// The values of all nodes of a flat graph without variables, for these inputs.
pub fn interpret(table: &OpTable, graph: &Graph, inputs: &[Tensor]) -> Vec<Dense> {
    interpret_with(table, graph, inputs, &mut [])
}

/// The same where variables are read and assigned: `variables` are their values, in the order of the graph's weak references.
pub fn interpret_with(table: &OpTable, graph: &Graph, inputs: &[Tensor], variables: &mut [Dense]) -> Vec<Dense> {
    let mut symbols = SymbolValues::default();
    for (input, spec) in inputs.iter().zip(&graph.inputs) {
        for (length, dim) in input.shape().iter().zip(spec.dims.iter()) {
            dim.as_symbol().into_iter().for_each(|symbol| symbols.bind(symbol, *length).unwrap());
        }
    }
    let run = Run { table, graph, inputs, symbols };
    let mut values: Vec<Dense> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let slot = || index_of(&node.attributes).unwrap();
        let value = if node.op == ops::READ {
            variables[slot()].clone()
        } else if node.op == ops::ASSIGN {
            let value = values[node.operands[0].index()].clone();
            variables[slot()] = value.clone();
            value
        } else {
            run.value(node, &values)
        };
        values.push(value);
    }
    values
}

/// What the values of nodes depend on besides one another.
struct Run<'a> {
    table: &'a OpTable,
    graph: &'a Graph,
    inputs: &'a [Tensor],
    symbols: SymbolValues,
}

impl Run<'_> {
    fn value(&self, node: &Node, values: &[Dense]) -> Dense {
        let shape = node.spec.dims.evaluate(&self.symbols).unwrap();
        let operands: Vec<&Dense> = node.operands.iter().map(|operand| &values[operand.index()]).collect();
        let index = index_of(&node.attributes).unwrap_or_default();
        let dtype = node.spec.dtype;
        match (&node.attributes, self.table.row(node.op).unwrap().lowering) {
            (_, _) if node.op == ops::INPUT => Dense::of(&self.inputs[index]),
            (_, _) if node.op == ops::CAPTURE => Dense::of(&self.graph.captures[index]),
            (Attributes::Number(number), _) => Dense { shape, elements: vec![*number] },
            (Attributes::Length(dim, dtype), _) => {
                let length = dim.evaluate(&self.symbols).unwrap();
                Dense { shape, elements: vec![Scalar::from_f64(length as f64, *dtype)] }
            }
            (_, _) if node.op == ops::IOTA => {
                Dense { elements: (0..shape[0] as i32).map(Scalar::I32).collect(), shape }
            }
            (Attributes::Axis(axis), _) if node.op == ops::GATHER => {
                let places = indexed(operands[0], operands[1], usize::from(*axis));
                operands[0].taken(shape, &places)
            }
            (Attributes::Axis(axis), _) if node.op == ops::SCATTER_ADD => {
                let mut sums = operands[0].clone();
                let places = indexed(operands[0], operands[1], usize::from(*axis));
                for (place, update) in places.into_iter().zip(&operands[2].elements) {
                    sums.elements[place] = add(sums.elements[place], *update);
                }
                sums
            }
            (Attributes::Axes(axes), Lowering::Fold(_)) => {
                let axes: Vec<usize> = axes.iter().map(|axis| usize::from(*axis)).collect();
                fold(operands[0], &axes, shape, dtype, if node.op == ops::MAX { maximum } else { add })
            }
            (Attributes::Flags(left, right), Lowering::Product) => {
                product(operands[0], operands[1], *left, *right, shape, dtype)
            }
            (Attributes::Axes(order), Lowering::View(_)) => {
                let strides = operands[0].strides();
                let strides: Vec<usize> = order.iter().map(|axis| strides[usize::from(*axis)]).collect();
                operands[0].taken(shape.clone(), &places(&shape, &strides))
            }
            (_, Lowering::View(_)) if node.op == ops::BROADCAST => {
                let mut strides = vec![0; shape.len() - operands[0].shape.len()];
                let own = operands[0].strides().into_iter().zip(&operands[0].shape);
                strides.extend(own.map(|(stride, length)| if *length == 1 { 0 } else { stride }));
                operands[0].taken(shape.clone(), &places(&shape, &strides))
            }
            (_, Lowering::View(_)) => Dense { shape, elements: operands[0].elements.clone() },
            (_, Lowering::Elementwise(select, _)) => {
                let dtypes: Vec<DType> =
                    node.operands.iter().map(|operand| self.graph.node(*operand).spec.dtype).collect();
                let element = |place: usize| {
                    let number = |operand: usize| operands[operand].elements[place];
                    match dtypes[..] {
                        [DType::I32, DType::I32] if node.op == ops::DIV => integer_div(number(0), number(1)),
                        _ => elementwise(node.op, select, &dtypes, dtype, number),
                    }
                };
                Dense { elements: (0..shape.iter().product()).map(element).collect(), shape }
            }
            _ => panic!("the plain interpreter does not know `{}`", self.table.name(node.op)),
        }
    }
}

/// The places in `x` that indices along an axis mean.
fn indexed(x: &Dense, indices: &Dense, axis: usize) -> Vec<usize> {
    let strides = x.strides();
    let beside: Vec<usize> =
        strides.iter().enumerate().map(|(place, stride)| if place == axis { 0 } else { *stride }).collect();
    let firsts = places(&indices.shape, &beside);
    let along = indices.elements.iter().map(|index| index.to_f64() as usize);
    firsts.into_iter().zip(along).map(|(first, index)| first + index * strides[axis]).collect()
}

/// Joins elements as the documentation of the engine's reductions says: blocks of 256, in each sixteen lanes that take turns,
/// lanes joined by halves, blocks joined like the digits of a binary counter.
fn tree(elements: &[Scalar], join: fn(Scalar, Scalar) -> Scalar) -> Option<Scalar> {
    let mut waiting: Vec<(u32, Scalar)> = Vec::new();
    for block in elements.chunks(256) {
        let mut lanes: Vec<Scalar> = block.iter().take(16).copied().collect();
        for (place, element) in block.iter().enumerate().skip(16) {
            lanes[place % 16] = join(lanes[place % 16], *element);
        }
        for half in [8, 4, 2, 1] {
            for lane in half..lanes.len() {
                lanes[lane - half] = join(lanes[lane - half], lanes[lane]);
            }
            lanes.truncate(half);
        }
        let mut joined = (0, lanes[0]);
        while waiting.last().is_some_and(|(weight, _)| *weight == joined.0) {
            let (weight, other) = waiting.pop().unwrap();
            joined = (weight + 1, join(other, joined.1));
        }
        waiting.push(joined);
    }
    waiting.into_iter().map(|(_, value)| value).rev().reduce(|joined, other| join(other, joined))
}

fn fold(x: &Dense, axes: &[usize], shape: Vec<usize>, dtype: DType, join: fn(Scalar, Scalar) -> Scalar) -> Dense {
    let strides = x.strides();
    let along = |is_reduced: bool| {
        let axes: Vec<usize> = (0..x.shape.len()).filter(|axis| axes.contains(axis) == is_reduced).collect();
        let of = |list: &[usize]| axes.iter().map(|axis| list[*axis]).collect::<Vec<usize>>();
        places(&of(&x.shape), &of(&strides))
    };
    let inner = along(true);
    let joined = |first: usize| {
        let row: Vec<Scalar> = inner.iter().map(|place| x.elements[first + place]).collect();
        tree(&row, join).unwrap_or(Scalar::from_f64(0.0, dtype))
    };
    Dense { shape, elements: along(false).into_iter().map(joined).collect() }
}

fn product(a: &Dense, b: &Dense, a_transposed: bool, b_transposed: bool, shape: Vec<usize>, dtype: DType) -> Dense {
    let rank = shape.len();
    let inner = a.shape[rank - 1 - usize::from(a_transposed)];
    // The strides of a matrix that may lie transposed.
    let steps = |x: &Dense, is_transposed: bool| {
        let strides = x.strides();
        if is_transposed { [strides[rank - 1], strides[rank - 2]] } else { [strides[rank - 2], strides[rank - 1]] }
    };
    let ([a_row, a_inner], [b_inner, b_column]) = (steps(a, a_transposed), steps(b, b_transposed));
    let firsts = |x: &Dense| places(&x.shape[..rank - 2], &x.strides()[..rank - 2]);
    let mut elements = Vec::with_capacity(shape.iter().product());
    for (a_first, b_first) in firsts(a).into_iter().zip(firsts(b)) {
        for row in 0..shape[rank - 2] {
            for column in 0..shape[rank - 1] {
                let pair = |k: usize| {
                    (
                        a.elements[a_first + row * a_row + k * a_inner],
                        b.elements[b_first + k * b_inner + column * b_column],
                    )
                };
                let zero = Scalar::from_f64(0.0, dtype);
                elements.push((0..inner).fold(zero, |sum, k| multiply_add(pair(k).0, pair(k).1, sum)));
            }
        }
    }
    Dense { shape, elements }
}
