//! The one printer of plans: tests and the command line show the same text.

use entigrad_components::{DType, Dims, TensorSpec};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::fmt::{self, Write};

use super::{Instance, Plans};
use crate::error::spec_list;
use crate::graph::{self, Graph, NodeId};
use crate::kernels::access::Digit;
use crate::kernels::program::{BufferId, Factor, Fused, Place, Product, Program, Shape, Slot, Step, Work};
use crate::ops::OpTable;

/// Plans as text: the flat graph that they are made from, then each program, by its buffers and instructions. A node of the
/// graph is `%3`, a buffer `b3`, a register of a fused instruction `r3`. A part of a buffer stands in brackets: `b3[4]` is one
/// element, `b3[4..]` all from there, `b3[4 + 2:0 3:1]` shows them by digits, slowest first, each with its extent and stride.
/// Origins are left out where `with_origins` is false, so that a text can be pinned.
pub fn print(plans: &Plans, with_origins: bool) -> String {
    let (graph, table) = (&*plans.skeleton.graph, &plans.skeleton.table);
    let mut text = graph::print(graph, table, with_origins);
    for instance in &plans.instances {
        // Writing to a string does not fail.
        let _ = write_instance(&mut text, instance, graph, table);
    }
    text
}

fn write_instance(text: &mut String, instance: &Instance, graph: &Graph, table: &OpTable) -> fmt::Result {
    let program = &instance.program;
    let spec = |(dtype, shape): &(DType, Shape)| TensorSpec { dtype: *dtype, dims: Dims::from(&shape[..]) };
    writeln!(text, "plan of {}{}", graph.name, spec_list(instance.inputs.iter().map(spec)))?;
    writeln!(text, "  {}", program.counts())?;
    let traffic: Vec<_> =
        program.instructions.iter().map(|instruction| instruction.work.traffic(&program.buffers)).collect();
    let touched = traffic.iter().flat_map(|traffic| traffic.reads.iter().chain(&traffic.writes));
    for buffer in touched.map(|(buffer, _)| *buffer).collect::<BTreeSet<BufferId>>() {
        write_buffer(text, program, graph, buffer)?;
    }
    for (number, instruction) in program.instructions.iter().enumerate() {
        write!(text, "  {number}: ")?;
        let result = |buffer: BufferId| format!("   %{}", program.buffers[buffer.index()].node);
        match &instruction.work {
            Work::Fused(fused) => write_fused(text, program, graph, fused)?,
            Work::Product(product) => writeln!(text, "{}{}", product_text(product), result(product.result))?,
            Work::Opaque(opaque) => {
                write!(text, "b{} = {}", opaque.result.0.0, instruction.op)?;
                opaque.operands.iter().try_for_each(|(buffer, ..)| write!(text, " b{}", buffer.0))?;
                writeln!(text, "{}", result(opaque.result.0))?;
            }
            Work::Copy { from, to } => writeln!(text, "b{} = copy b{}{}", to.0, from.0, result(*to))?,
        }
    }
    let name = |node: &u32| format!("%{node} {}", table.name(graph.node(NodeId(*node)).op));
    let list = |nodes: BTreeSet<u32>| match &nodes.iter().map(name).collect::<Vec<_>>()[..] {
        [] => "nothing".to_owned(),
        names => names.join(", "),
    };
    writeln!(text, "  saved: {}", list(saved(program)))?;
    writeln!(text, "  computed again: {}", list(computed_again(program)))
}

fn write_buffer(text: &mut String, program: &Program, graph: &Graph, id: BufferId) -> fmt::Result {
    let buffer = &program.buffers[id.index()];
    let place = match buffer.place {
        Place::Input(number) => format!("input {number}"),
        Place::Variable(number) => format!("variable `{}`", graph.weak[number as usize].path),
        Place::Output(number) => format!("output {number}"),
        Place::Constant(number) => format!("constant {number}"),
        Place::Arena(offset) => format!("arena {offset}"),
    };
    writeln!(text, "  b{} = {place} : {}[{}]   %{}", id.0, buffer.dtype, buffer.length, buffer.node)
}

/// Nodes that one instruction stores and another one reads.
fn saved(program: &Program) -> BTreeSet<u32> {
    let mut written: FxHashMap<BufferId, usize> = FxHashMap::default();
    let mut saved = BTreeSet::new();
    for (number, instruction) in program.instructions.iter().enumerate() {
        let traffic = instruction.work.traffic(&program.buffers);
        written.extend(traffic.writes.iter().map(|(buffer, _)| (*buffer, number)));
        let from_another = |buffer: &BufferId| written.get(buffer).is_some_and(|writer| *writer != number);
        let read = traffic.reads.iter().map(|(buffer, _)| *buffer).filter(from_another);
        saved.extend(read.map(|buffer| program.buffers[buffer.index()].node));
    }
    saved
}

/// Nodes that more than one step computes.
fn computed_again(program: &Program) -> BTreeSet<u32> {
    let (mut once, mut again) = (BTreeSet::new(), BTreeSet::new());
    for instruction in &program.instructions {
        let Work::Fused(fused) = &instruction.work else { continue };
        for step in &fused.steps {
            let nodes = &step.nodes[..step.op_count()];
            again.extend(nodes.iter().filter(|node| !once.insert(**node)));
        }
    }
    again
}

fn product_text(product: &Product) -> String {
    let Product { batch, rows, inner, columns, left, right, result, .. } = product;
    let (left, right) = (factor_text(left, *batch, *rows, *inner), factor_text(right, *batch, *inner, *columns));
    let times = if *batch == 1 { String::new() } else { format!("{batch} times ") };
    let followed = if product.is_followed { ", followed block by block by the next" } else { "" };
    format!("b{} = product {left} {right}, {times}m {rows} k {inner} n {columns}{followed}", result.0)
}

/// A factor of a product: a dense matrix as it is, `T` where it lies transposed, by its digits otherwise.
fn factor_text(factor: &Factor, batch: usize, rows: usize, columns: usize) -> String {
    let strides = [factor.batch_stride, factor.strides[0].unsigned_abs(), factor.strides[1].unsigned_abs()];
    let digits = [batch, rows, columns].into_iter().zip(strides).map(|(extent, stride)| Digit { extent, stride });
    let is = |wanted: [usize; 3]| {
        factor.offset == 0
            && digits.clone().zip(wanted).all(|(digit, stride)| digit.extent < 2 || digit.stride == stride)
    };
    match factor.buffer.0 {
        buffer if is([rows * columns, columns, 1]) => format!("b{buffer}"),
        buffer if is([rows * columns, 1, rows]) => format!("b{buffer}T"),
        buffer => format!("b{buffer}{}", digits_text(factor.offset, digits.filter(|digit| digit.extent > 1))),
    }
}

/// The part of a buffer that digits show from an element on.
fn digits_text(offset: usize, digits: impl Iterator<Item = Digit>) -> String {
    let digits: Vec<String> = digits.map(|digit| format!("{}:{}", digit.extent, digit.stride)).collect();
    let offset = if offset == 0 { String::new() } else { format!("{offset} + ") };
    format!("[{offset}{}]", digits.join(" "))
}

fn write_fused(text: &mut String, program: &Program, graph: &Graph, fused: &Fused) -> fmt::Result {
    let domain = match fused.extents {
        None => fused.length.to_string(),
        Some(extents) if extents.is_inner => format!("{} × {}, each row reduced", extents.kept, extents.reduced),
        Some(extents) => format!("{} × {}, each column reduced", extents.reduced, extents.kept),
    };
    writeln!(text, "fused over {domain}, tile {}", fused.tile)?;
    let mut registers = Vec::new();
    let mut name = |slot: Slot| slot_name(fused, &mut registers, slot);
    for uniform in &fused.uniforms {
        let register = name(Slot { base: Slot::REGISTERS, offset: uniform.register });
        writeln!(text, "    {register} = b{}[{}]", uniform.buffer.0, uniform.offset)?;
    }
    for strided in &fused.strideds {
        let register = name(Slot { base: Slot::REGISTERS, offset: strided.register });
        let part = digits_text(strided.access.offset(), strided.access.digits().iter().copied());
        writeln!(text, "    {register} = b{}{part}", strided.buffer.0)?;
    }
    for step in &fused.steps {
        write!(text, "    {} = {}", name(step.result), step.op)?;
        step.operands[..operand_count(graph, step)].iter().try_for_each(|slot| write!(text, " {}", name(*slot)))?;
        let [first, second] = step.nodes;
        let first = if first == second { String::new() } else { format!(" %{first}") };
        writeln!(text, "  {first} %{second}")?;
    }
    for fold in &fused.folds {
        let node = program.buffers[fold.buffer.index()].node;
        writeln!(text, "    b{} = {} {}   %{node}", fold.buffer.0, fold.op, name(fold.value))?;
    }
    Ok(())
}

/// How many operands a step has: those of its op; three where it does two ops.
fn operand_count(graph: &Graph, step: &Step) -> usize {
    match step.op_count() {
        0 => 1,
        1 => graph.node(NodeId(step.nodes[0])).operands.len(),
        _ => 3,
    }
}

/// A number, a register by when it is met first, or the buffer that is read or written in place.
fn slot_name(fused: &Fused, registers: &mut Vec<u32>, slot: Slot) -> String {
    let Slot { base, offset } = slot;
    match base {
        Slot::POOL => fused.pool.number_at(offset as usize).map_or_else(|| "?".to_owned(), |number| number.to_string()),
        Slot::REGISTERS => {
            let place = registers.iter().position(|register| *register == offset).unwrap_or_else(|| {
                registers.push(offset);
                registers.len() - 1
            });
            format!("r{place}")
        }
        _ => {
            let place = (base - Slot::FIRST_DIRECT) as usize;
            match fused.directs.get(place) {
                Some(direct) if direct.offset > 0 => format!("b{}[{}..]", direct.buffer.0, direct.offset),
                Some(direct) => format!("b{}", direct.buffer.0),
                None => format!("b{}", fused.stores[place - fused.directs.len()].buffer.0),
            }
        }
    }
}
