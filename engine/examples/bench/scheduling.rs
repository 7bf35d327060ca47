//! Pins the process to CPUs and gives it priority while it is timed; does neither where the system is not Linux.
//!
//! The one place of the benchmark that calls the C library.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
pub use linux::{pin, set_priority};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io;
    use std::mem::{size_of, zeroed};

    /// Pins this thread, and those it starts, to the last `count` of the CPUs it may use; which they are.
    pub fn pin(count: usize) -> io::Result<Vec<usize>> {
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: a `cpu_set_t` is an array of bits, for which zeros are a value, and the call writes at most `size` bytes.
        let (allowed, status) = unsafe {
            let mut set = zeroed();
            let status = libc::sched_getaffinity(0, size, &mut set);
            (set, status)
        };
        check(status)?;
        // SAFETY: `CPU_ISSET` reads a bit of the set, whose number is within it.
        let is_allowed = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &allowed) };
        let mut cpus: Vec<usize> = (0..8 * size).filter(is_allowed).collect();
        if cpus.len() < count {
            return Err(io::Error::other(format!("there are {} CPUs to use, and {count} are asked for", cpus.len())));
        }
        cpus.drain(..cpus.len() - count);
        // SAFETY: as above; `CPU_SET` writes a bit of the set.
        let status = unsafe {
            let mut set = zeroed();
            cpus.iter().for_each(|cpu| libc::CPU_SET(*cpu, &mut set));
            libc::sched_setaffinity(0, size, &set)
        };
        check(status)?;
        Ok(cpus)
    }

    /// Gives every thread of the process the least real-time priority, in turns with others of it, or the ordinary one. An error
    /// where the system does not allow it.
    pub fn set_priority(is_real_time: bool) -> io::Result<()> {
        let (policy, priority) = if is_real_time { (libc::SCHED_RR, 1) } else { (libc::SCHED_OTHER, 0) };
        for entry in fs::read_dir("/proc/self/task")? {
            let Some(thread) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let parameters = libc::sched_param { sched_priority: priority };
            // SAFETY: the call reads the parameters and changes no memory of ours.
            let status = unsafe { libc::sched_setscheduler(thread, policy, &parameters) };
            match check(status) {
                // A thread that has ended since needs no priority.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                other => other?,
            }
        }
        Ok(())
    }

    fn check(status: libc::c_int) -> io::Result<()> {
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Pins nothing.
#[cfg(not(target_os = "linux"))]
pub fn pin(_: usize) -> std::io::Result<Vec<usize>> {
    Ok(Vec::new())
}

/// Gives nobody priority.
#[cfg(not(target_os = "linux"))]
pub fn set_priority(_: bool) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
