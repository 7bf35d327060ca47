//! What may be typed.

use clap::Parser;
use std::path::PathBuf;

/// Time what training steps, calls, gradients and traces take; print a JSON line each.
#[derive(Parser)]
#[command(name = "bench")]
pub struct Arguments {
    /// The case; all of them, each in a process of its own, where it is not given
    pub case: Option<String>,
    /// Threads to compute with, and CPUs to be pinned to
    #[arg(long, value_name = "N", default_value = "1", value_parser = threads)]
    pub threads: usize,
    /// Folder with the arrays of the cases, `DIR/CASE/*.npy`; they are made where it is not given
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

fn threads(text: &str) -> Result<usize, String> {
    let count = text.parse().map_err(|_| "it is no number of threads".to_owned())?;
    if (1..=1024).contains(&count) { Ok(count) } else { Err("a number from 1 to 1024 is wanted".to_owned()) }
}
