//! Runs a program.
//!
//! `unsafe` is allowed here: buffers become pointers, and instructions trust that a program is whole.
#![allow(unsafe_code)]

use entigrad_components::Tensor;
use std::ptr;

use super::memory::{Line, Memory};
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
    /// Runs the program on its arguments, the values of its variables, which it may change, and tensors of its results' specs,
    /// whose storage it fills. What it wrote into variables before an error stays.
    ///
    /// # Panics
    /// Where a tensor is smaller than the program was made for.
    pub fn run(
        &self,
        inputs: &[Tensor],
        variables: &mut [Tensor],
        outputs: &mut [Tensor],
        workspace: &mut Workspace,
    ) -> Result<(), RunFailure> {
        let Workspace { arena, pointers } = workspace;
        let lines = self.arena_bytes.div_ceil(size_of::<Line>());
        if arena.len() < lines {
            arena.resize(lines, Line::default());
        }
        let arena = arena.as_mut_ptr().cast::<u8>();
        pointers.clear();
        for buffer in &self.buffers {
            let (pointer, bytes) = match buffer.place {
                Place::Input(place) => constant(&inputs[place as usize]),
                Place::Constant(place) => constant(&self.constants[place as usize]),
                Place::Variable(place) if self.is_written[place as usize] => changing(&mut variables[place as usize]),
                Place::Variable(place) => constant(&variables[place as usize]),
                Place::Output(place) => changing(&mut outputs[place as usize]),
                Place::Arena(offset) => (arena.wrapping_add(offset), self.arena_bytes - offset),
            };
            assert!(buffer.bytes() <= bytes, "a tensor is as large as the program takes it to be");
            pointers.push(pointer);
        }
        let memory = Memory::new(pointers);
        for (place, instruction) in self.instructions.iter().enumerate() {
            // SAFETY: every buffer is as large as the program says, and nobody else touches them: inputs and constants are
            // borrowed, written variables and outputs borrowed alone and in storage of their own, the arena is ours.
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

fn constant(tensor: &Tensor) -> (*mut u8, usize) {
    let (pointer, bytes) = tensor.storage();
    (pointer.cast_mut(), bytes)
}

fn changing(tensor: &mut Tensor) -> (*mut u8, usize) {
    tensor.storage_mut()
}
