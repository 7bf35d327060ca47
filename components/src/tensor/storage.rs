//! Storage: bytes that begin at a cache line, a whole number of vectors, zero where nobody wrote.
//!
//! An allocator asked for more alignment than it has by itself writes the zeros of fresh pages once more; so it is asked for a
//! little more room instead, which is used from its first cache line on.

use bytemuck::{Pod, Zeroable};

/// Storage is allocated in multiples of this: sixteen elements of the widest type.
pub const PADDING_BYTES: usize = 128;

/// Where storage begins is a multiple of this.
const CACHE_LINE_BYTES: usize = 64;

/// What every allocator aligns to by itself.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(16))]
struct Block([u8; BLOCK_BYTES]);

const BLOCK_BYTES: usize = 16;
const LINE_BLOCKS: usize = CACHE_LINE_BYTES / BLOCK_BYTES;

/// The bytes of a tensor.
#[derive(Default)]
pub(super) struct Storage {
    blocks: Vec<Block>,
    /// The block at the first cache line.
    first: usize,
    /// How many bytes there are from there on.
    bytes: usize,
}

impl Storage {
    /// Zeros, at least so many.
    pub(super) fn zeroed(bytes: usize) -> Self {
        if bytes == 0 {
            return Self::default();
        }
        let bytes = bytes.next_multiple_of(PADDING_BYTES);
        let blocks = bytemuck::zeroed_vec::<Block>(bytes / BLOCK_BYTES + LINE_BLOCKS - 1);
        let first = (blocks.as_ptr().addr() / BLOCK_BYTES).wrapping_neg() % LINE_BLOCKS;
        Self { blocks, first, bytes }
    }

    /// How many bytes, padding included.
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    /// All bytes, padding included.
    pub(super) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.blocks[self.first..])[..self.bytes]
    }

    /// The same to write.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.blocks[self.first..])[..self.bytes]
    }

    /// Where they begin.
    pub(super) fn pointer(&self) -> *const u8 {
        self.blocks.as_ptr().wrapping_add(self.first).cast()
    }

    /// The same to write.
    pub(super) fn pointer_mut(&mut self) -> *mut u8 {
        self.blocks.as_mut_ptr().wrapping_add(self.first).cast()
    }
}

/// A copy lies elsewhere, so it may begin at another block.
impl Clone for Storage {
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.bytes);
        copy.bytes_mut().copy_from_slice(self.bytes());
        copy
    }
}
