//! The command line: arguments in, exit codes out. What is done lives in `entigrad::scene`.

mod arguments;
mod output;

use clap::Parser;
use entigrad::scene::{self, Inspected, Options, SceneError};
use std::io::Write;
use std::process::ExitCode;

use arguments::{Arguments, Command, Train};
use output::Output;

/// The run failed.
const FAILED: u8 = 1;
/// The scene, its data or the arguments are wrong.
const WRONG: u8 = 2;

/// Runs what the arguments ask for.
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let mut output = Output::new();
    let outcome = match arguments.command {
        Command::Train(train) => run_train(train, &mut output),
        Command::Inspect(inspect) => {
            let inspected = if inspect.plan { Inspected::Plans } else { Inspected::Graphs };
            scene::load(inspect.scene).and_then(|scene| scene::inspect(&scene, inspected, &mut output)).map_err(report)
        }
    };
    outcome.err().map_or(ExitCode::SUCCESS, ExitCode::from)
}

fn run_train(train: Train, output: &mut Output) -> Result<(), u8> {
    if let Some(threads) = train.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads));
        pool.build_global()
            .map_err(|error| complain(&format!("{threads} threads cannot be started: {error}"), FAILED))?;
    }
    let options = Options { epochs: train.epochs, seed: train.seed, out: train.out };
    let scene = scene::load(train.scene).map_err(report)?;
    scene::train(&scene, &options, output).map(drop).map_err(report)
}

/// Says what went wrong; the exit code for it.
fn report(error: SceneError) -> u8 {
    let code = if error.is_in_scene() { WRONG } else { FAILED };
    complain(&error.to_string(), code)
}

fn complain(message: &str, code: u8) -> u8 {
    // Where standard error is closed, the exit code still tells.
    let _ = writeln!(std::io::stderr(), "{message}");
    code
}
