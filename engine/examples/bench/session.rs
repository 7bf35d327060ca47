//! A case being run: its arrays, its clock, and the lines it prints.

use crate::arguments::Arguments;
use crate::arrays::Arrays;
use crate::timing::{self, Clock};
use std::error::Error;
use std::io;

/// What a case can fail with.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What a case works with.
pub struct Session {
    case: &'static str,
    threads: usize,
    /// The arrays of the case.
    pub arrays: Arrays,
    /// What times it.
    pub clock: Clock,
}

/// What was measured of one variant of a case.
pub struct Measured {
    /// Which variant.
    pub variant: &'static str,
    /// Of what the median is, such as `us/step`.
    pub unit: &'static str,
    /// Milliseconds from a built engine to the first result.
    pub first_call_ms: f64,
    /// Microseconds of a warm one.
    pub median_us: f64,
    /// A number that tells the problem: for training, the loss of the tenth step; else the value.
    pub check: Option<f64>,
    /// The length of the gradient, where it is asked for.
    pub gradnorm: Option<f64>,
}

impl Session {
    /// A session of `case` on these CPUs.
    pub fn new(case: &'static str, arguments: &Arguments, cpus: Vec<usize>) -> io::Result<Self> {
        let arrays = Arrays::new(case, arguments.data.as_deref());
        Ok(Self { case, threads: arguments.threads, arrays, clock: Clock::new(cpus)? })
    }

    /// Prints the line of a variant.
    pub fn report(&self, measured: &Measured) {
        let Measured { variant, unit, first_call_ms, median_us, check, gradnorm } = measured;
        let mut line = format!(
            "{{\"framework\":\"entigrad\",\"case\":\"{}\",\"variant\":\"{variant}\",\"threads\":{},\"unit\":\"{unit}\",\
             \"median_us\":{median_us:.4},\"first_call_ms\":{first_call_ms:.3},\"rss_peak_mb\":{:.0}",
            self.case,
            self.threads,
            timing::memory_peak_mb()
        );
        for (name, number) in [("check", check), ("gradnorm", gradnorm)] {
            match number {
                Some(number) if number.is_finite() => line += &format!(",\"{name}\":{number}"),
                Some(_) => line += &format!(",\"{name}\":null"),
                None => {}
            }
        }
        println!("{line}}}");
    }
}
