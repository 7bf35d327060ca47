//! What is known after an epoch, as a line for people and as a row of a table.

use std::fmt::{self, Write};

/// What is known after an epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpochMetrics {
    /// Which, from 1.
    pub epoch: u32,
    /// The mean over the training rows of the loss, each at the step that saw it.
    pub train_loss: f64,
    /// What the test rows say, where there are some.
    pub test: Option<TestMetrics>,
}

/// What the test rows say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestMetrics {
    /// The mean over the test rows of the loss.
    pub loss: f64,
    /// For classes: how many test rows are predicted rightly.
    pub correct_count: Option<usize>,
    /// How many test rows.
    pub row_count: usize,
}

impl TestMetrics {
    /// The part of the test rows that are predicted rightly, from 0 to 1.
    pub fn accuracy(&self) -> Option<f64> {
        Some(self.correct_count? as f64 / self.row_count as f64)
    }
}

impl fmt::Display for EpochMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "train loss {:.4}", self.train_loss)?;
        if let Some(test) = self.test {
            write!(f, "  test loss {:.4}", test.loss)?;
        }
        if let Some(accuracy) = self.test.and_then(|test| test.accuracy()) {
            write!(f, "  test accuracy {accuracy:.4}")?;
        }
        Ok(())
    }
}

/// A line for an epoch.
pub(crate) fn epoch_line(metrics: &EpochMetrics, epochs: u32) -> String {
    let width = epochs.to_string().len();
    format!("epoch {:width$}/{epochs}  {metrics}", metrics.epoch)
}

/// All epochs as CSV. Numbers are written so that they read back as the same bits; what there is not is an empty cell.
pub(crate) fn table(epochs: &[EpochMetrics]) -> String {
    let mut table = "epoch,train_loss,test_loss,test_accuracy\n".to_owned();
    let cell = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
    for EpochMetrics { epoch, train_loss, test } in epochs {
        let (loss, accuracy) = (cell(test.map(|test| test.loss)), cell(test.and_then(|test| test.accuracy())));
        // Writing to a string does not fail.
        let _ = writeln!(table, "{epoch},{train_loss},{loss},{accuracy}");
    }
    table
}
