//! Runs a program.
//!
//! `unsafe` is allowed here: buffers become pointers, and instructions trust that a program is whole.
#![allow(unsafe_code)]

use std::ptr;

use super::memory::{Line, Memory, Span};
use super::program::{Place, Program, Work};
use crate::error::RunError;

/// The memory that a run needs besides arguments, variables and results. It grows to the largest program and is used again.
#[derive(Debug, Default)]
pub struct Workspace {
    arena: Vec<Line>,
    pointers: Vec<*mut u8>,
}

// SAFETY: the pointers are only followed while a run fills them in.
unsafe impl Send for Workspace {}
// SAFETY: as above.
unsafe impl Sync for Workspace {}

/// Which instruction failed, and why.
#[derive(Debug)]
pub struct RunFailure {
    /// The place of the instruction.
    pub instruction: usize,
    /// Why.
    pub cause: RunError,
}

impl Program {
    /// Runs the program on the values of its variables, which it may change, on its inputs, and on its outputs, which it fills:
    /// one span each, in this order. What it wrote into variables before an error stays.
    ///
    /// # Safety
    /// The spans are alive; nobody else touches those of variables that are written and of outputs, nobody writes the others.
    ///
    /// # Panics
    /// Where a span is smaller than the program was made for.
    pub unsafe fn run(&self, spans: &[Span], workspace: &mut Workspace) -> Result<(), RunFailure> {
        let Workspace { arena, pointers } = workspace;
        let lines = self.arena_bytes.div_ceil(size_of::<Line>());
        if arena.len() < lines {
            arena.resize(lines, Line::default());
        }
        let arena = arena.as_mut_ptr().cast::<u8>();
        let (inputs, outputs) = (self.is_written.len(), spans.len() - self.outputs.len());
        pointers.clear();
        for buffer in &self.buffers {
            let span = match buffer.place {
                Place::Variable(place) => spans[place as usize],
                Place::Input(place) => spans[inputs + place as usize],
                Place::Output(place) => spans[outputs + place as usize],
                Place::Constant(place) => Span::readable(&self.constants[place as usize]),
                Place::Arena(offset) => Span { pointer: arena.wrapping_add(offset), bytes: self.arena_bytes - offset },
            };
            assert!(buffer.bytes() <= span.bytes, "a tensor is as large as the program takes it to be");
            pointers.push(span.pointer);
        }
        let memory = Memory::new(pointers);
        for (place, instruction) in self.instructions.iter().enumerate() {
            // SAFETY: every buffer is as large as the program says; the arena and the constants are ours, for the others it is the
            // caller's promise.
            unsafe {
                match &instruction.work {
                    Work::Fused(fused) => fused.run(memory),
                    Work::Product(product) => product.run(memory),
                    Work::Copy { from, to } => {
                        let bytes = self.buffers[to.index()].bytes();
                        ptr::copy_nonoverlapping(memory.pointer(*from), memory.pointer(*to), bytes);
                    }
                    Work::Opaque(opaque) => {
                        opaque.run(memory).map_err(|cause| RunFailure { instruction: place, cause })?;
                    }
                }
            }
        }
        Ok(())
    }
}
