//! Elementwise instructions that follow a product block by block, while its result is in the cache.
//!
//! Such an instruction stands right behind its product and is run with it; to everything else they are two instructions.

use super::layout::touched;
use crate::kernels::lanes::LANES;
use crate::kernels::program::{Buffer, BufferId, Fused, Instruction, Place, Product, Work};

/// Smaller results are in the first-level cache anyway.
const RESULT_BYTES_MIN: usize = 64 * 1024;

/// Lets every product be followed by the first instruction that reads its result, where it can.
pub(super) fn follow(instructions: &mut Vec<Instruction>, buffers: &[Buffer]) {
    let mut place = 0;
    while place < instructions.len() {
        if let Some(follower) = follower(instructions, buffers, place) {
            let follower = instructions.remove(follower);
            instructions.insert(place + 1, follower);
            if let Work::Product(product) = &mut instructions[place].work {
                product.is_followed = true;
            }
        }
        place += 1;
    }
}

/// The instruction that can follow the one at `place`, which then is a product.
fn follower(instructions: &[Instruction], buffers: &[Buffer], place: usize) -> Option<usize> {
    let Work::Product(product) = &instructions[place].work else { return None };
    let result = &buffers[product.result.index()];
    if product.batch != 1 || product.columns % LANES != 0 || result.bytes() < RESULT_BYTES_MIN {
        return None;
    }
    let reads_result = |instruction: &Instruction| touched(&instruction.work, buffers).0.contains(&product.result);
    let follower = place + 1 + instructions[place + 1..].iter().position(reads_result)?;
    let Work::Fused(fused) = &instructions[follower].work else { return None };
    let (reads, writes) = touched(&instructions[follower].work, buffers);
    let is_same = |left: BufferId, right: BufferId| left == right || is_one_place(buffers, left, right);
    let touches = |list: &[BufferId], buffer: BufferId| list.iter().any(|other| is_same(*other, buffer));
    let can_pass = |instruction: &Instruction| {
        let (its_reads, its_writes) = touched(&instruction.work, buffers);
        // What may fail must find nothing assigned that comes behind it.
        !matches!(instruction.work, Work::Opaque(_))
            && !reads.iter().chain(&writes).any(|buffer| touches(&its_writes, *buffer))
            && !writes.iter().any(|buffer| touches(&its_reads, *buffer))
    };
    let factors = [product.left.buffer, product.right.buffer];
    let is_apart = !writes.iter().any(|buffer| touches(&factors, *buffer));
    let can = goes_along(fused, product, result) && is_apart && instructions[place + 1..follower].iter().all(can_pass);
    can.then_some(follower)
}

/// Whether an instruction goes through a product's result element by element, and reads nothing else as large: more streams (an
/// optimiser's state) push the factors out of the cache, which takes longer than it saves.
fn goes_along(fused: &Fused, product: &Product, result: &Buffer) -> bool {
    let is_elsewhere = fused.uniforms.iter().any(|uniform| uniform.buffer == product.result)
        || fused.strideds.iter().any(|strided| strided.buffer == product.result);
    let is_direct = matches!(&fused.directs[..], [direct] if direct.buffer == product.result && direct.offset == 0);
    fused.extents.is_none() && fused.length == result.length && is_direct && !is_elsewhere
}

/// Whether two buffers are the same memory outside the arena.
fn is_one_place(buffers: &[Buffer], left: BufferId, right: BufferId) -> bool {
    let place = buffers[left.index()].place;
    !matches!(place, Place::Arena(_)) && place == buffers[right.index()].place
}
