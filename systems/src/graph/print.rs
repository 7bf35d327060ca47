//! The one printer of graphs: tests, errors and the command line show the same text.

use std::fmt::Write;

use super::{Graph, Node};
use crate::ops::{self, OpTable};
use entigrad_components::{Attributes, WeakSource};

/// `graph` as text, a line an op: `%3 = mul %1 %2 : f32[4]   src/main.rs:7`. Origins are left out where `with_origins` is
/// false, so that a text can be pinned.
pub fn print(graph: &Graph, table: &OpTable, with_origins: bool) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_graph(&mut text, graph, table, with_origins);
    text
}

fn write_graph(text: &mut String, graph: &Graph, table: &OpTable, with_origins: bool) -> std::fmt::Result {
    let inputs: Vec<String> = graph.inputs.iter().map(ToString::to_string).collect();
    let outputs: Vec<String> = graph.outputs.iter().map(|output| graph.node(*output).spec.to_string()).collect();
    writeln!(text, "function {}({}) -> ({})", graph.name, inputs.join(", "), outputs.join(", "))?;
    for (index, capture) in graph.captures.iter().enumerate() {
        writeln!(text, "  capture {index}: {}", capture.spec())?;
    }
    for (index, weak) in graph.weak.iter().enumerate() {
        let trained = if weak.trainable { "" } else { ", not trained" };
        let written = if weak.is_written { ", written" } else { "" };
        let source = match &weak.source {
            WeakSource::Captured(_) => String::new(),
            WeakSource::Role { argument, .. } => format!(" of model {argument}"),
            WeakSource::State { of: Some(of), .. } => format!(" for variable {of}"),
            WeakSource::State { of: None, .. } => " for all variables".to_owned(),
        };
        writeln!(text, "  variable {index}: {} {}{source}{trained}{written}", weak.path, weak.spec)?;
    }
    for constraint in &graph.constraints {
        writeln!(text, "  where {} = {} ({})", constraint.left, constraint.right, constraint.op)?;
    }
    for (index, node) in graph.nodes.iter().enumerate() {
        let line = node_line(graph, table, node);
        let origin = if with_origins { format!("   {}", node.origin) } else { String::new() };
        // Calls and assigns have no value of their own.
        match node.op {
            ops::CALL | ops::ASSIGN => writeln!(text, "  %{index} = {line}{origin}")?,
            _ => writeln!(text, "  %{index} = {line} : {}{origin}", node.spec)?,
        }
    }
    let outputs: Vec<String> = graph.outputs.iter().map(|output| format!("%{}", output.0)).collect();
    writeln!(text, "  return {}", outputs.join(", "))
}

fn node_line(graph: &Graph, table: &OpTable, node: &Node) -> String {
    let mut line = table.name(node.op).to_owned();
    if node.op == ops::READ || node.op == ops::ASSIGN {
        let weak = ops::index_of(&node.attributes).and_then(|index| graph.weak.get(index));
        let _ = write!(line, " `{}`", weak.map_or("?", |weak| &weak.path));
    } else if node.op == ops::CALL {
        let body = ops::index_of(&node.attributes).and_then(|index| graph.bodies.get(index));
        let _ = write!(line, " `{}`", body.map_or("?", |body| &body.graph.name));
    } else {
        match &node.attributes {
            Attributes::None | Attributes::Dims(_) | Attributes::DType(_) => {}
            Attributes::Number(number) => drop(write!(line, " {number}")),
            Attributes::Length(dim, _) => drop(write!(line, " {dim}")),
            Attributes::Axes(axes) => drop(write!(line, " {axes:?}")),
            Attributes::Axis(axis) => drop(write!(line, " [{axis}]")),
            Attributes::Index(index) => drop(write!(line, " {index}")),
            Attributes::Flags(left, right) => {
                let sign = |is_transposed| if is_transposed { "T" } else { "N" };
                let _ = write!(line, " {}{}", sign(*left), sign(*right));
            }
        }
    }
    for operand in &node.operands {
        let _ = write!(line, " %{}", operand.0);
    }
    line
}
