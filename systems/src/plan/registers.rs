//! Registers of a fused instruction: tiles of each element size, used again once nothing reads them.

use entigrad_components::DType;

/// A register: its element size, and its number among those of that size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Register {
    class: usize,
    number: u32,
    kind: Kind,
}

/// How long a register is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// Until its last reader.
    Working,
    /// The whole run.
    Held,
    /// Seldom: it stands in for a tile in memory, and takes no room in the cache.
    StandIn,
}

const CLASS_BYTES: [usize; 3] = [8, 4, 1];

/// The registers taken so far, by element size.
#[derive(Debug, Default)]
pub(super) struct Registers {
    working: [u32; 3],
    kept: [u32; 3],
    free: [Vec<u32>; 3],
}

fn class_of(dtype: DType) -> usize {
    match dtype {
        DType::F64 => 0,
        DType::F32 | DType::I32 => 1,
        DType::Bool => 2,
    }
}

impl Registers {
    /// A register that nobody reads.
    pub(super) fn take(&mut self, dtype: DType) -> Register {
        let class = class_of(dtype);
        let number = self.free[class].pop().unwrap_or_else(|| {
            self.working[class] += 1;
            self.working[class] - 1
        });
        Register { class, number, kind: Kind::Working }
    }

    /// A register that holds something before the steps begin: it may be used again after its last reader.
    pub(super) fn take_early(&mut self, dtype: DType) -> Register {
        let class = class_of(dtype);
        self.working[class] += 1;
        Register { class, number: self.working[class] - 1, kind: Kind::Working }
    }

    /// A register that holds the same for the whole run.
    pub(super) fn hold(&mut self, dtype: DType) -> Register {
        Register { kind: Kind::Held, ..self.take_early(dtype) }
    }

    /// A register that stands in for a tile in memory.
    pub(super) fn stand_in(&mut self, dtype: DType) -> Register {
        let class = class_of(dtype);
        self.kept[class] += 1;
        Register { class, number: self.kept[class] - 1, kind: Kind::StandIn }
    }

    /// Gives a register back, where it may be used again.
    pub(super) fn release(&mut self, register: Register) {
        if register.kind == Kind::Working {
            self.free[register.class].push(register.number);
        }
    }

    /// Bytes of one element in all registers that are used tile by tile.
    pub(super) fn working_bytes(&self) -> usize {
        self.working.iter().zip(CLASS_BYTES).map(|(count, bytes)| *count as usize * bytes).sum()
    }

    /// Where a register begins, for tiles of so many elements.
    pub(super) fn offset(&self, register: Register, tile: usize) -> usize {
        let count = |class: usize| (self.working[class] + self.kept[class]) as usize;
        let before: usize = (0..register.class).map(|class| count(class) * CLASS_BYTES[class]).sum();
        let number = register.number + if register.kind == Kind::StandIn { self.working[register.class] } else { 0 };
        (before + number as usize * CLASS_BYTES[register.class]) * tile
    }

    /// The size of all.
    pub(super) fn bytes(&self, tile: usize) -> usize {
        let count = |class: usize| (self.working[class] + self.kept[class]) as usize;
        let bytes: usize = (0..3).map(|class| count(class) * CLASS_BYTES[class]).sum();
        (bytes * tile).next_multiple_of(128)
    }
}
