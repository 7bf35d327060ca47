//! Vectors: what one step of a kernel handles, and which instructions this machine has for it.
//!
//! Kernels are written once, over chunks of sixteen elements, and compiled for each level; which level runs is found out once.

use std::sync::OnceLock;

/// Elements that one step of a kernel handles.
pub const LANES: usize = 16;

/// What one step of a kernel handles.
pub type Chunk<T> = [T; LANES];

/// The instructions that a kernel is compiled for.
pub trait Level: Copy + 'static {
    /// Whether `mul_add` is one instruction; where it is not, it is slower than two.
    const FMA: bool;
}

/// 512-bit vectors of x86-64.
#[derive(Clone, Copy, Debug)]
pub struct Avx512;
/// 256-bit vectors of x86-64, with fused multiply-add.
#[derive(Clone, Copy, Debug)]
pub struct Avx2;
/// What the compiler's target has for certain: SSE2, NEON.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl Level for Avx512 {
    const FMA: bool = true;
}
impl Level for Avx2 {
    const FMA: bool = true;
}
impl Level for Portable {
    const FMA: bool = cfg!(target_arch = "aarch64");
}

/// A level as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineLevel {
    /// [`Avx512`].
    Avx512,
    /// [`Avx2`].
    Avx2,
    /// [`Portable`].
    Portable,
}

/// The widest level that this machine can run.
pub fn machine_level() -> MachineLevel {
    static LEVEL: OnceLock<MachineLevel> = OnceLock::new();
    *LEVEL.get_or_init(detect)
}

#[cfg(target_arch = "x86_64")]
fn detect() -> MachineLevel {
    let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let has_avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match (has_avx2, has_avx512) {
        (true, true) => MachineLevel::Avx512,
        (true, false) => MachineLevel::Avx2,
        (false, _) => MachineLevel::Portable,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> MachineLevel {
    MachineLevel::Portable
}

/// The chunks that hold so many elements.
pub const fn chunk_count(elements: usize) -> usize {
    elements.div_ceil(LANES)
}

/// The elements of as many whole chunks as hold `elements`.
pub const fn whole_chunks(elements: usize) -> usize {
    chunk_count(elements) * LANES
}

/// Keeps the compiler from vectorising a loop over chunks once more, which turns its loads into gathers. Costs no instruction.
#[inline(always)]
#[allow(unsafe_code)]
pub(super) fn chunk_by_chunk() {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: there is no instruction.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
}
