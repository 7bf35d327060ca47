//! From a flat graph to instructions: one an op, in program order.

use entigrad_components::{Attributes, Tensor};

use super::{BufferId, Instruction, Skeleton, Source, Work, captured};
use crate::graph::{Graph, Node};
use crate::ops::{self, Lowering, OpTable};

/// The program of a flat graph.
pub fn lower(table: &OpTable, graph: &Graph) -> Skeleton {
    let mut skeleton = Skeleton {
        name: graph.name.clone(),
        inputs: graph.inputs.clone(),
        buffers: graph.nodes.iter().map(|node| node.spec.clone()).collect(),
        sources: Vec::new(),
        instructions: Vec::with_capacity(graph.nodes.len()),
        outputs: graph.outputs.iter().map(|output| BufferId(output.0)).collect(),
        output_skeleton: graph.output_skeleton.clone(),
        weak: graph.weak.clone(),
        captured: captured(&graph.weak),
        functions: graph.functions(),
        takes_gradients: graph.takes_gradients,
        constraints: graph.constraints.clone(),
        has_symbols: false,
    };
    for (index, node) in graph.nodes.iter().enumerate() {
        let result = BufferId(index as u32);
        match lowered(table, graph, node) {
            Lowered::Source(source) => skeleton.sources.push((result, source)),
            Lowered::Work(work) => skeleton.instructions.push(Instruction {
                work,
                operands: node.operands.iter().map(|operand| BufferId(operand.0)).collect(),
                result,
                op: table.name(node.op),
                attributes: node.attributes.clone(),
                origin: node.origin,
                released: 0,
            }),
        }
    }
    let is_symbolic = |dims: &entigrad_components::Dims| dims.iter().any(|dim| dim.known().is_none());
    skeleton.has_symbols = skeleton.inputs.iter().chain(&skeleton.buffers).any(|spec| is_symbolic(&spec.dims))
        || !skeleton.constraints.is_empty();
    release_buffers(&mut skeleton);
    skeleton
}

enum Lowered {
    Source(Source),
    Work(Work),
}

fn lowered(table: &OpTable, graph: &Graph, node: &Node) -> Lowered {
    let index = ops::index_of(&node.attributes).unwrap_or_default();
    match (table.row(node.op).map(|row| row.lowering), &node.attributes) {
        (Some(Lowering::Kernel(kernel)), _) => Lowered::Work(Work::Opaque(kernel)),
        (Some(Lowering::Assign), _) => Lowered::Work(Work::Assign(index as u32)),
        (_, Attributes::Number(number)) if node.op == ops::NUMBER => {
            Lowered::Source(Source::Constant(Tensor::scalar(*number)))
        }
        (_, Attributes::Length(dim, dtype)) if node.op == ops::LENGTH => {
            Lowered::Source(Source::Length(dim.clone(), *dtype))
        }
        _ if node.op == ops::CAPTURE => Lowered::Source(Source::Constant(graph.captures[index].clone())),
        _ if node.op == ops::READ => Lowered::Source(Source::Variable(index as u32)),
        _ => {
            assert!(node.op == ops::INPUT, "a flat graph holds no `{}`", table.name(node.op));
            Lowered::Source(Source::Input(index as u32))
        }
    }
}

/// Notes at each instruction which operands it is the last to read.
fn release_buffers(skeleton: &mut Skeleton) {
    let mut is_kept = vec![false; skeleton.buffers.len()];
    for output in &skeleton.outputs {
        is_kept[output.index()] = true;
    }
    for instruction in skeleton.instructions.iter_mut().rev() {
        for (place, buffer) in instruction.operands.iter().enumerate().take(u64::BITS as usize) {
            if !std::mem::replace(&mut is_kept[buffer.index()], true) {
                instruction.released |= 1 << place;
            }
        }
    }
}
