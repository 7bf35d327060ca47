//! Storage: bytes that begin at a cache line, a whole number of vectors, zero where nobody wrote.
//!
//! An allocator asked for more alignment than it has by itself writes the zeros of fresh pages once more; so it is asked for a
//! little more room instead, which is used from its first cache line on. What is so large that the allocator would ask the system
//! for pages each time is asked of the system here, in large pages where it has them: most of the time of a pass over fresh memory
//! goes into making small ones.

use bytemuck::{Pod, Zeroable};
use memmap2::MmapMut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Storage is allocated in multiples of this: sixteen elements of the widest type.
pub const PADDING_BYTES: usize = 128;

/// Where storage begins is a multiple of this.
const CACHE_LINE_BYTES: usize = 64;

/// From how many bytes on the system is asked.
const PAGES_BYTES_MIN: usize = 32 << 20;

/// What every allocator aligns to by itself.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(16))]
struct Block([u8; BLOCK_BYTES]);

const BLOCK_BYTES: usize = 16;
const LINE_BLOCKS: usize = CACHE_LINE_BYTES / BLOCK_BYTES;

/// The bytes of a tensor.
pub(super) struct Storage {
    memory: Memory,
    /// Where the first cache line is. (A pointer that may be sent along; nobody changes it.)
    start: AtomicPtr<u8>,
    /// How many bytes there are from the first cache line on.
    bytes: usize,
}

enum Memory {
    /// From the allocator; the cache line begins at a block.
    Blocks(Vec<Block>, usize),
    /// From the system.
    Pages(MmapMut),
}

impl Default for Storage {
    fn default() -> Self {
        Self::of(Memory::Blocks(Vec::new(), 0), 0)
    }
}

impl Storage {
    /// Zeros, at least so many.
    pub(super) fn zeroed(bytes: usize) -> Self {
        if bytes == 0 {
            return Self::default();
        }
        let bytes = bytes.next_multiple_of(PADDING_BYTES);
        if let Some(pages) = pages(bytes) {
            return Self::of(Memory::Pages(pages), bytes);
        }
        let blocks = bytemuck::zeroed_vec::<Block>(bytes / BLOCK_BYTES + LINE_BLOCKS - 1);
        let first = (blocks.as_ptr().addr() / BLOCK_BYTES).wrapping_neg() % LINE_BLOCKS;
        Self::of(Memory::Blocks(blocks, first), bytes)
    }

    fn of(mut memory: Memory, bytes: usize) -> Self {
        let start = match &mut memory {
            Memory::Blocks(blocks, first) => blocks.as_mut_ptr().wrapping_add(*first).cast(),
            Memory::Pages(pages) => pages.as_mut_ptr(),
        };
        Self { memory, start: AtomicPtr::new(start), bytes }
    }

    /// How many bytes, padding included.
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    /// All bytes, padding included.
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.memory {
            Memory::Blocks(blocks, first) => &bytemuck::cast_slice(&blocks[*first..])[..self.bytes],
            Memory::Pages(pages) => &pages[..self.bytes],
        }
    }

    /// The same to write.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Blocks(blocks, first) => &mut bytemuck::cast_slice_mut(&mut blocks[*first..])[..self.bytes],
            Memory::Pages(pages) => &mut pages[..self.bytes],
        }
    }

    /// Where they begin: to write only for whom nobody shares this.
    pub(super) fn pointer(&self) -> *mut u8 {
        self.start.load(Ordering::Relaxed)
    }
}

/// Pages of the system, where so many bytes are worth it and it has them.
fn pages(bytes: usize) -> Option<MmapMut> {
    let pages = (bytes >= PAGES_BYTES_MIN).then(|| MmapMut::map_anon(bytes))?.ok()?;
    // A system that has no large pages gives small ones.
    #[cfg(target_os = "linux")]
    let _ = pages.advise(memmap2::Advice::HugePage);
    Some(pages)
}

/// A copy lies elsewhere, so it may begin at another block.
impl Clone for Storage {
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.bytes);
        copy.bytes_mut().copy_from_slice(self.bytes());
        copy
    }
}
