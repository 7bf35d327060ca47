//! What may be typed.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

const EXIT_CODES: &str =
    "Exit codes: 0 it went well; 1 the run failed; 2 the scene, its data or the arguments are wrong";

/// Train what a scene describes: a RON file that names data, a model, a loss and an optimiser.
#[derive(Parser)]
#[command(name = "entigrad", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Train a scene; write its parameters and metrics
    ///
    /// A line an epoch says how far it is. The parameters at the end are written as `parameters.safetensors`, the losses and
    /// accuracies as `metrics.csv`. What comes out depends on the scene, its data and the seed alone, never on the threads.
    Train(Train),
    /// Print the graphs of a scene, or their plans: forward pass, loss and training step
    Inspect(Inspect),
}

/// What `train` takes.
#[derive(Args)]
pub struct Train {
    /// The scene, a RON file
    pub scene: PathBuf,
    /// Epochs to train for, in place of the scene's
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub epochs: Option<u32>,
    /// Seed of weights and shuffling, in place of the scene's
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Threads to compute with; as many as the machine has where it is not given
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Folder for the files; `out/<scene name>` where it is not given
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// What `inspect` takes.
#[derive(Args)]
pub struct Inspect {
    /// Print the plans for one batch: instructions, fused groups with their programs, buffers, bytes moved, flops, what is saved
    /// and what is computed again
    #[arg(long)]
    pub plan: bool,
    /// The scene, a RON file
    pub scene: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::{Arguments, Command};
    use clap::Parser;

    #[test]
    fn inspect_takes_a_scene_and_asks_for_plans_where_they_are_wanted() {
        for (line, wanted) in [
            ("entigrad inspect line.ron", Some(false)),
            ("entigrad inspect --plan line.ron", Some(true)),
            ("entigrad inspect line.ron --plan", Some(true)),
            ("entigrad inspect --plan", None),
            ("entigrad train --plan line.ron", None),
        ] {
            let plan = Arguments::try_parse_from(line.split(' ')).ok().and_then(|arguments| match arguments.command {
                Command::Inspect(inspect) => Some(inspect.plan),
                Command::Train(_) => None,
            });
            assert_eq!(plan, wanted, "{line}");
        }
    }
}
