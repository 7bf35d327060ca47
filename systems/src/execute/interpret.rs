//! Runs one plan, instruction by instruction.

use entigrad_components::Tensor;
use smallvec::SmallVec;

use crate::error::{Error, RunError};
use crate::ops::KernelCall;
use crate::plan::{BufferId, Instance, Instruction, Source, Work};

/// Runs a plan on its inputs and the values of its variables; assigns change the values at once.
pub fn interpret(instance: &Instance, inputs: &[Tensor], values: &mut [Tensor]) -> Result<Vec<Tensor>, Error> {
    let skeleton = &*instance.skeleton;
    let mut buffers: Vec<Option<Tensor>> = vec![None; skeleton.buffers.len()];
    for (buffer, source) in &skeleton.sources {
        buffers[buffer.index()] = match source {
            Source::Input(place) => inputs.get(*place as usize).cloned(),
            Source::Constant(tensor) => Some(tensor.clone()),
            Source::Variable(place) => values.get(*place as usize).cloned(),
            Source::Length(..) => None,
        };
    }
    for (buffer, length) in &instance.lengths {
        buffers[buffer.index()] = Some(length.clone());
    }
    for instruction in &skeleton.instructions {
        step(instance, instruction, &mut buffers, values).map_err(|cause| Error::Run {
            function: skeleton.name.clone(),
            op: instruction.op,
            origin: instruction.origin,
            cause,
        })?;
        for (place, buffer) in instruction.operands.iter().enumerate().take(u64::BITS as usize) {
            if instruction.released >> place & 1 == 1 {
                buffers[buffer.index()] = None;
            }
        }
    }
    Ok(skeleton.outputs.iter().map(|output| filled(&buffers, *output).clone()).collect())
}

fn step(
    instance: &Instance,
    instruction: &Instruction,
    buffers: &mut [Option<Tensor>],
    values: &mut [Tensor],
) -> Result<(), RunError> {
    match instruction.work {
        Work::Assign(place) => values[place as usize] = filled(buffers, instruction.operands[0]).clone(),
        Work::Opaque(kernel) => {
            let result = instruction.result.index();
            let dtype = instance.skeleton.buffers[result].dtype;
            let mut out = Tensor::zeros(dtype, &instance.shapes[result])?;
            let operands: SmallVec<[&Tensor; 4]> =
                instruction.operands.iter().map(|operand| filled(buffers, *operand)).collect();
            kernel(&KernelCall { operands: &operands, attributes: &instruction.attributes }, &mut out)?;
            drop(operands);
            buffers[result] = Some(out);
        }
    }
    Ok(())
}

/// A buffer that the program filled before: that it did is what [`crate::plan::lower`] makes sure of.
fn filled(buffers: &[Option<Tensor>], buffer: BufferId) -> &Tensor {
    buffers[buffer.index()].as_ref().expect("a plan fills a buffer before it reads it")
}
