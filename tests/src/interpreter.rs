//! The plain interpreter: runs a flat graph op by op, element by element, with none of the engine's plans, so that what it
//! gives is what a plan has to give, bit for bit.
//!
//! It has its own index arithmetic and its own reductions, written from their definitions; the functions of one number
//! (`tanh`, …) are the engine's, one number at a time. Products are chains of multiply-adds.

use entigrad::prelude::*;
use entigrad::systems::graph::{Graph, Node};
use entigrad::systems::kernels::tile::evaluate;
use entigrad::systems::ops::{self, Lowering, OpTable, index_of};
use entigrad_components::Attributes;

/// A dense value whose elements are kept as numbers of their type.
#[derive(Clone, Debug)]
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

    /// Its place after the index `index`, an entry an axis.
    fn at(&self, index: &[usize]) -> Scalar {
        let place = index.iter().zip(&self.shape).fold(0, |place, (index, length)| place * length + index);
        self.elements[place]
    }

    /// Fills a shape by what each index gives.
    fn build(shape: &[usize], mut element: impl FnMut(&[usize]) -> Scalar) -> Self {
        let count = shape.iter().product();
        let mut index = vec![0; shape.len()];
        let mut elements = Vec::with_capacity(count);
        for _ in 0..count {
            elements.push(element(&index));
            for axis in (0..shape.len()).rev() {
                index[axis] += 1;
                if index[axis] < shape[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
        Self { shape: shape.to_vec(), elements }
    }
}

/// The values of all nodes of a flat graph without symbols or variables, for these inputs.
pub fn interpret(table: &OpTable, graph: &Graph, inputs: &[Tensor]) -> Vec<Dense> {
    let mut values: Vec<Dense> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let value = value(table, graph, node, inputs, &values);
        values.push(value);
    }
    values
}

fn value(table: &OpTable, graph: &Graph, node: &Node, inputs: &[Tensor], values: &[Dense]) -> Dense {
    let shape: Vec<usize> = node.spec.dims.iter().map(|dim| dim.known().unwrap()).collect();
    let operands: Vec<&Dense> = node.operands.iter().map(|operand| &values[operand.index()]).collect();
    let index = index_of(&node.attributes).unwrap_or_default();
    match (&node.attributes, table.row(node.op).unwrap().lowering) {
        (_, _) if node.op == ops::INPUT => Dense::of(&inputs[index]),
        (_, _) if node.op == ops::CAPTURE => Dense::of(&graph.captures[index]),
        (Attributes::Number(number), _) => Dense { shape, elements: vec![*number] },
        (Attributes::Length(dim, dtype), _) => {
            Dense { shape, elements: vec![Scalar::from_f64(dim.known().unwrap() as f64, *dtype)] }
        }
        (Attributes::Axes(axes), Lowering::Fold(_)) => {
            let axes: Vec<usize> = axes.iter().map(|axis| usize::from(*axis)).collect();
            fold(operands[0], &axes, &shape, if node.op == ops::MAX { maximum } else { add })
        }
        (Attributes::Flags(left, right), Lowering::Product) => product(operands[0], operands[1], *left, *right, &shape),
        (Attributes::Axes(order), Lowering::View(_)) => Dense::build(&shape, |index| {
            let mut source = vec![0; index.len()];
            for (axis, from) in order.iter().enumerate() {
                source[usize::from(*from)] = index[axis];
            }
            operands[0].at(&source)
        }),
        (_, Lowering::View(_)) if node.op == ops::BROADCAST => Dense::build(&shape, |index| {
            let tail = &index[index.len() - operands[0].shape.len()..];
            let source: Vec<usize> = tail
                .iter()
                .zip(&operands[0].shape)
                .map(|(index, length)| if *length == 1 { 0 } else { *index })
                .collect();
            operands[0].at(&source)
        }),
        (_, Lowering::View(_)) => Dense { shape, elements: operands[0].elements.clone() },
        (_, Lowering::Elementwise(select, _)) => {
            let dtypes: Vec<DType> = node.operands.iter().map(|operand| graph.node(*operand).spec.dtype).collect();
            let kernel = select(&dtypes, node.spec.dtype).unwrap();
            let element = |place: usize| {
                let numbers: Vec<Scalar> = operands.iter().map(|operand| operand.elements[place]).collect();
                evaluate(kernel, &numbers, node.spec.dtype)
            };
            Dense { elements: (0..shape.iter().product()).map(element).collect(), shape }
        }
        _ => panic!("the plain interpreter does not know `{}`", table.name(node.op)),
    }
}

fn add(x: Scalar, y: Scalar) -> Scalar {
    match (x, y) {
        (Scalar::F32(x), Scalar::F32(y)) => Scalar::F32(x + y),
        (Scalar::F64(x), Scalar::F64(y)) => Scalar::F64(x + y),
        (Scalar::I32(x), Scalar::I32(y)) => Scalar::I32(x.wrapping_add(y)),
        _ => panic!("two numbers of one type are added"),
    }
}

fn maximum(x: Scalar, y: Scalar) -> Scalar {
    if x.to_f64() > y.to_f64() || x.to_f64().is_nan() { x } else { y }
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

fn fold(x: &Dense, axes: &[usize], shape: &[usize], join: fn(Scalar, Scalar) -> Scalar) -> Dense {
    let reduced: Vec<usize> = (0..x.shape.len()).filter(|axis| axes.contains(axis)).collect();
    let extents: Vec<usize> = reduced.iter().map(|axis| x.shape[*axis]).collect();
    Dense::build(shape, |kept| {
        let mut rest = kept.iter();
        let outer: Vec<usize> =
            (0..x.shape.len()).map(|axis| if axes.contains(&axis) { 0 } else { *rest.next().unwrap() }).collect();
        let row = Dense::build(&extents, |inner| {
            let mut index = outer.clone();
            for (axis, place) in reduced.iter().zip(inner) {
                index[*axis] = *place;
            }
            x.at(&index)
        });
        let zero = x.elements.first().map_or(Scalar::F64(0.0), |element| Scalar::from_f64(0.0, element.dtype()));
        tree(&row.elements, join).unwrap_or(zero)
    })
}

fn product(a: &Dense, b: &Dense, a_transposed: bool, b_transposed: bool, shape: &[usize]) -> Dense {
    let rank = shape.len();
    let inner = a.shape[rank - 1 - usize::from(a_transposed)];
    let at = |x: &Dense, is_transposed: bool, batch: &[usize], row: usize, column: usize| {
        let [first, second] = if is_transposed { [column, row] } else { [row, column] };
        x.at(&[batch, &[first, second]].concat())
    };
    Dense::build(shape, |index| {
        let (batch, row, column) = (&index[..rank - 2], index[rank - 2], index[rank - 1]);
        let pair = |k: usize| (at(a, a_transposed, batch, row, k), at(b, b_transposed, batch, k, column));
        let is_single = a.elements.first().is_some_and(|element| element.dtype() == DType::F32);
        if is_single {
            let sum = (0..inner).fold(0.0_f32, |sum, k| match pair(k) {
                (Scalar::F32(x), Scalar::F32(y)) => x.mul_add(y, sum),
                _ => panic!("factors have one type"),
            });
            return Scalar::F32(sum);
        }
        let sum = (0..inner).fold(0.0_f64, |sum, k| pair(k).0.to_f64().mul_add(pair(k).1.to_f64(), sum));
        Scalar::F64(sum)
    })
}
