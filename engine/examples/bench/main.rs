//! The benchmark: how long training steps, calls, gradients and traces take, a JSON line each.
//!
//! `cargo run --release --example bench -- [CASE] [--threads N] [--data DIR]`
//!
//! A line says the case and its variant, the median microseconds of a warm step, call or training, what the first one took
//! (`first_call_ms`: everything from a built engine, whose models have their variables, to the first result), the most memory
//! the process ever held, and a `check`, by which the same case in another framework can be told to be the same problem.
//! With `--data DIR` the arrays of a case are `DIR/CASE/*.npy`; else they are made, of the same sizes.
//!
//! One thread is one thread: the main thread is one of the N of rayon's pool, and the process is pinned to N CPUs.

mod arguments;
mod arrays;
mod cases;
mod network;
mod npy;
mod scheduling;
mod session;
mod timing;

use arguments::Arguments;
use clap::Parser;
use session::Session;
use std::error::Error;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.case {
        Some(case) => run(case, &arguments),
        None => run_all(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(name: &str, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let Some((case, run)) = cases::CASES.iter().find(|(case, _)| *case == name) else {
        let known: Vec<&str> = cases::CASES.iter().map(|(case, _)| *case).collect();
        return Err(format!("there is no case `{name}`; there are {}", known.join(", ")).into());
    };
    let cpus = scheduling::pin(arguments.threads)?;
    rayon::ThreadPoolBuilder::new().num_threads(arguments.threads).use_current_thread().build_global()?;
    run(&mut Session::new(case, arguments, cpus)?)
}

/// Every case in a process of its own, with the arguments of this one: none is measured in what another left behind.
fn run_all() -> Result<(), Box<dyn Error>> {
    let mut failed = Vec::new();
    for (case, _) in cases::CASES {
        let status = Command::new(std::env::current_exe()?).arg(case).args(std::env::args_os().skip(1)).status()?;
        if !status.success() {
            failed.push(*case);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("these cases failed: {}", failed.join(", ")).into()) }
}
