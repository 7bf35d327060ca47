//! Copies operands that lie otherwise than the domain into registers.
//!
//! `unsafe` is allowed here: registers and buffers are raw memory.
#![allow(unsafe_code)]

use smallvec::SmallVec;

use super::access::Access;

/// Fills `count` elements with one.
///
/// # Safety
/// `from` is one element, `to` holds `count`.
pub(super) unsafe fn fill<T: Copy>(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: the caller's promise; registers are aligned to a cache line.
    unsafe {
        let value = from.cast::<T>().read();
        std::slice::from_raw_parts_mut(to.cast::<T>(), count).fill(value);
    }
}

/// Copies `length` elements of an access, from index `start` of the domain.
///
/// # Safety
/// The access stays within the buffer for these indices, and `to` holds `length` elements.
pub(super) unsafe fn copy_strided<T: Copy>(from: *const u8, to: *mut u8, access: &Access, start: usize, length: usize) {
    let (from, to, digits) = (from.cast::<T>(), to.cast::<T>(), access.digits());
    let mut places: SmallVec<[usize; 6]> = SmallVec::from_elem(0, digits.len());
    let (mut rest, mut element) = (start, access.offset());
    for (place, digit) in places.iter_mut().zip(digits).rev() {
        *place = rest % digit.extent;
        element += *place * digit.stride;
        rest /= digit.extent;
    }
    let Some((last, slower)) = digits.split_last() else { return };
    let mut done = 0;
    while done < length {
        let run = (last.extent - places[slower.len()]).min(length - done);
        // SAFETY: the run is within the last digit, so within the buffer.
        unsafe {
            let (from, to) = (from.add(element), to.add(done));
            match last.stride {
                0 => std::slice::from_raw_parts_mut(to, run).fill(from.read()),
                1 => std::ptr::copy_nonoverlapping(from, to, run),
                stride => (0..run).for_each(|place| to.add(place).write(from.add(place * stride).read())),
            }
        }
        done += run;
        // The last digit begins anew, and the next slower one that can moves on.
        element -= places[slower.len()] * last.stride;
        places[slower.len()] = 0;
        for (place, digit) in places.iter_mut().zip(slower).rev() {
            *place += 1;
            element += digit.stride;
            if *place < digit.extent {
                break;
            }
            element -= digit.extent * digit.stride;
            *place = 0;
        }
    }
}
