//! The memory of a running program: where each buffer is.
//!
//! `unsafe` is allowed here: threads share the pointers of buffers.
#![allow(unsafe_code)]

use entigrad_components::tensor::PADDING_BYTES;
use entigrad_components::{Scalar, Tensor};

use super::program::BufferId;

/// Bytes of a tensor: where they begin, and how many there are, padding included.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub(super) pointer: *mut u8,
    pub(super) bytes: usize,
    /// The address of what the tensor knows of its storage.
    header: usize,
}

// SAFETY: it is followed only while a program runs, whose caller vouches for it.
unsafe impl Send for Span {}
// SAFETY: as above.
unsafe impl Sync for Span {}

impl Span {
    /// Of a tensor that is read.
    pub fn readable(tensor: &Tensor) -> Self {
        let (pointer, bytes) = tensor.storage();
        Self { pointer: pointer.cast_mut(), bytes, header: tensor.storage_id() }
    }

    /// What lies behind so many bytes of it.
    pub fn behind(self, offset: usize) -> Self {
        Self { pointer: self.pointer.wrapping_add(offset), bytes: self.bytes - offset, ..self }
    }

    /// Of a tensor that is written: in storage of its own from now on.
    pub fn writable(tensor: &mut Tensor) -> Self {
        let (pointer, bytes) = tensor.storage_mut();
        Self { pointer, bytes, header: tensor.storage_id() }
    }

    /// Asks for what was known of the tensor's storage then to be brought into the cache: whoever finds the tensor again will look
    /// there first. Harmless where it is elsewhere now.
    pub fn fetch_header(&self) {
        // The counts of owners stand before it.
        const COUNTS_BYTES: usize = 16;
        prefetch(self.header.wrapping_sub(COUNTS_BYTES) as *const u8);
        prefetch(self.header.wrapping_add(COUNTS_BYTES) as *const u8);
    }
}

/// What the next run will read: brought into the cache while this one computes, a little at each instruction.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    spans: Vec<Span>,
    /// How far the last span has been fetched.
    fetched: usize,
    /// How many bytes are left.
    left: usize,
}

impl Ahead {
    /// Replaces what is to be fetched; nothing where it is more than the cache keeps.
    pub fn follow(&mut self, spans: impl Iterator<Item = Span>) {
        const BYTES_MAX: usize = 256 * 1024;
        self.spans.clear();
        self.spans.extend(spans);
        self.fetched = 0;
        self.left = self.spans.iter().map(|span| span.bytes).sum();
        if self.left > BYTES_MAX {
            self.left = 0;
        }
    }

    /// Fetches its share of what is left, when so many instructions are.
    pub fn fetch(&mut self, instructions_left: usize) {
        if self.left == 0 {
            return;
        }
        const LINE_BYTES: usize = 64;
        let mut share = self.left.div_ceil(instructions_left).next_multiple_of(LINE_BYTES);
        while let (Some(span), true) = (self.spans.last(), share > 0) {
            let end = span.bytes.min(self.fetched + share);
            (self.fetched..end).step_by(LINE_BYTES).for_each(|offset| prefetch(span.pointer.wrapping_add(offset)));
            share -= (end - self.fetched).min(share);
            self.left -= end - self.fetched;
            self.fetched = end;
            if end == span.bytes {
                self.spans.pop();
                self.fetched = 0;
            }
        }
    }
}

/// Asks for a line to be brought into the cache.
fn prefetch(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a prefetch touches nothing, wherever it points.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// A unit of the arena and of registers: what buffers are aligned to and padded to.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub struct Line(pub(super) [u8; PADDING_BYTES]);

impl Default for Line {
    fn default() -> Self {
        Self([0; PADDING_BYTES])
    }
}

/// The constants of a fused instruction, each repeated over a tile.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    lines: Vec<Line>,
    /// What was added and where, for printing.
    numbers: Vec<(usize, Scalar)>,
}

impl Pool {
    /// Adds a number, repeated so often; where it begins, in bytes.
    pub fn push(&mut self, number: Scalar, count: usize) -> usize {
        let first = self.lines.len();
        let bytes = count * number.dtype().size_bytes();
        self.lines.resize(first + bytes.div_ceil(PADDING_BYTES), Line::default());
        for line in &mut self.lines[first..] {
            line.fill(number);
        }
        self.numbers.push((first * PADDING_BYTES, number));
        first * PADDING_BYTES
    }

    /// The number that begins there.
    pub fn number_at(&self, offset: usize) -> Option<Scalar> {
        self.numbers.iter().find(|(place, _)| *place == offset).map(|(_, number)| *number)
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.lines.len() * PADDING_BYTES
    }

    pub(super) fn pointer(&self) -> *const u8 {
        self.lines.as_ptr().cast()
    }
}

impl Line {
    /// Fills the line with a number.
    pub(super) fn fill(&mut self, number: Scalar) {
        match number {
            Scalar::F32(number) => bytemuck::cast_slice_mut(&mut self.0).fill(number),
            Scalar::F64(number) => bytemuck::cast_slice_mut(&mut self.0).fill(number),
            Scalar::I32(number) => bytemuck::cast_slice_mut(&mut self.0).fill(number),
            Scalar::Bool(number) => self.0.fill(u8::from(number)),
        }
    }
}

/// Where each buffer of a program is, while it runs.
#[derive(Clone, Copy)]
pub(super) struct Memory<'a> {
    pointers: &'a [*mut u8],
}

// SAFETY: an instruction reads and writes what the plan gave it, and its pieces write to different places.
unsafe impl Send for Memory<'_> {}
// SAFETY: as above.
unsafe impl Sync for Memory<'_> {}

impl<'a> Memory<'a> {
    /// From a pointer for each buffer.
    pub(super) fn new(pointers: &'a [*mut u8]) -> Self {
        Self { pointers }
    }

    /// Where a buffer begins.
    pub(super) fn pointer(&self, buffer: BufferId) -> *mut u8 {
        self.pointers[buffer.index()]
    }
}
