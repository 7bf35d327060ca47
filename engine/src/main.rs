//! The `entigrad` command: reads arguments, runs a scene, and says how it went by its exit code.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
