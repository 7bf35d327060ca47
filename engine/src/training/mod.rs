//! Training in a world: trainers, their data, and what is known of them.

mod batches;
mod trainer;

pub use batches::{Batches, Shuffle};
pub use trainer::{TrainerReport, Training, UpdateReport, WithOptimizer};

pub(crate) use trainer::{builder, failure, failures, report, update_report};
