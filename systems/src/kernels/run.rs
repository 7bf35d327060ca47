//! Runs a program.
//!
//! `unsafe` is allowed here: buffers become pointers, and instructions trust that a program is whole.
#![allow(unsafe_code)]

use std::ptr;

use super::memory::{Ahead, Line, Memory, Span};
use super::program::{Buffer, Fused, Place, Program, Work};
use crate::error::RunError;

/// The memory that a run needs besides arguments, variables and results. It grows to the largest program and is used again.
#[derive(Debug, Default)]
pub struct Workspace {
    arena: Vec<Line>,
    pointers: Vec<*mut u8>,
    /// The program that the pointers are of, by number.
    program: u64,
    ahead: Ahead,
}

impl Workspace {
    /// Says what the run after the next one will read.
    pub fn look_ahead(&mut self, spans: impl Iterator<Item = Span>) {
        self.ahead.follow(spans);
    }
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
        self.lay_out(workspace);
        let (inputs, outputs) = (self.is_written.len(), spans.len() - self.outputs.len());
        for buffer in &self.outside {
            let Buffer { place, .. } = self.buffers[buffer.index()];
            let span = match place {
                Place::Variable(place) => spans[place as usize],
                Place::Input(place) => spans[inputs + place as usize],
                Place::Output(place) => spans[outputs + place as usize],
                Place::Constant(_) | Place::Arena(_) => continue,
            };
            assert!(
                self.buffers[buffer.index()].bytes() <= span.bytes,
                "a tensor is as large as the program takes it to be"
            );
            workspace.pointers[buffer.index()] = span.pointer;
        }
        let memory = Memory::new(&workspace.pointers);
        for (place, instruction) in self.instructions.iter().enumerate() {
            workspace.ahead.fetch(self.instructions.len() - place);
            let is_done = place > 0 && self.follower(place - 1).is_some();
            // SAFETY: every buffer is as large as the program says; the arena and the constants are ours, for the others it is the
            // caller's promise.
            unsafe {
                match &instruction.work {
                    Work::Fused(_) if is_done => {}
                    Work::Fused(fused) => fused.run(memory),
                    Work::Product(product) => {
                        product.run(memory, self.follower(place));
                    }
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

    /// The instruction that is run with the product at `place`, where there is one.
    fn follower(&self, place: usize) -> Option<&Fused> {
        match (&self.instructions[place].work, self.instructions.get(place + 1).map(|next| &next.work)) {
            (Work::Product(product), Some(Work::Fused(fused))) if product.is_followed => Some(&**fused),
            _ => None,
        }
    }

    /// Finds the places of what a program has for itself, unless it was the last to run here.
    fn lay_out(&self, workspace: &mut Workspace) {
        let Workspace { arena, pointers, program, .. } = workspace;
        if *program == self.number {
            return;
        }
        let lines = self.arena_bytes.div_ceil(size_of::<Line>());
        if arena.len() < lines {
            arena.resize(lines, Line::default());
        }
        let arena = arena.as_mut_ptr().cast::<u8>();
        let own = |buffer: &Buffer| match buffer.place {
            Place::Constant(place) => Span::readable(&self.constants[place as usize]).pointer,
            Place::Arena(offset) => arena.wrapping_add(offset),
            Place::Variable(_) | Place::Input(_) | Place::Output(_) => ptr::null_mut(),
        };
        pointers.clear();
        pointers.extend(self.buffers.iter().map(own));
        *program = self.number;
    }
}
