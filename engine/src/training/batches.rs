//! Batches of rows, shuffled by a key.

use entigrad_components::Tensor;
use entigrad_systems::Error;
use entigrad_systems::training::DataSource;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// In which order an epoch takes the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shuffle {
    /// As they stand.
    Never,
    /// In an order that depends on this seed and the number of the epoch alone.
    Seeded(u64),
}

/// Tensors of one first axis, given out some rows at a time. What a step gets depends on its number alone, so a training
/// that goes on later sees the rows it would have seen.
pub struct Batches {
    leaves: Vec<Tensor>,
    row_count: usize,
    batch_rows: usize,
    shuffle: Shuffle,
    /// The order of the rows in one epoch, and which.
    order: (Option<u64>, Vec<usize>),
}

impl Batches {
    /// Batches of `batch_rows` rows; the last one of an epoch may be smaller.
    pub fn new(leaves: Vec<Tensor>, batch_rows: usize, shuffle: Shuffle) -> Result<Self, Error> {
        let row_count = leaves.first().and_then(|leaf| leaf.shape().first().copied()).unwrap_or(0);
        if batch_rows == 0 || row_count == 0 {
            return Err(Error::invalid("a batch needs at least one row, and so does the data"));
        }
        if let Some(other) = leaves.iter().find(|leaf| leaf.shape().first() != Some(&row_count)) {
            let message = match other.shape().first() {
                Some(rows) => format!("batches need tensors of one number of rows: {row_count} and {rows} differ"),
                None => "batches need tensors with rows, and one is a scalar".to_owned(),
            };
            return Err(Error::invalid(message));
        }
        Ok(Self { leaves, row_count, batch_rows, shuffle, order: (None, (0..row_count).collect()) })
    }

    /// Steps in one epoch.
    pub fn steps_per_epoch(&self) -> u64 {
        self.row_count.div_ceil(self.batch_rows) as u64
    }

    fn reorder(&mut self, epoch: u64) {
        if self.order.0 == Some(epoch) {
            return;
        }
        self.order.1.clear();
        self.order.1.extend(0..self.row_count);
        if let Shuffle::Seeded(seed) = self.shuffle {
            let mut generator = ChaCha8Rng::seed_from_u64(seed);
            generator.set_stream(epoch);
            self.order.1.shuffle(&mut generator);
        }
        self.order.0 = Some(epoch);
    }
}

impl DataSource for Batches {
    fn leaves(&mut self, step: u64) -> Result<Vec<Tensor>, Error> {
        let mut leaves = Vec::new();
        self.refill(step, &mut leaves)?;
        Ok(leaves)
    }

    fn refill(&mut self, step: u64, leaves: &mut Vec<Tensor>) -> Result<(), Error> {
        let steps = self.steps_per_epoch();
        self.reorder(step / steps);
        let start = (step % steps) as usize * self.batch_rows;
        let rows = &self.order.1[start..self.row_count.min(start + self.batch_rows)];
        leaves.resize(self.leaves.len(), Tensor::default());
        for (leaf, into) in self.leaves.iter().zip(leaves) {
            leaf.rows_into(rows, into)?;
        }
        Ok(())
    }
}
