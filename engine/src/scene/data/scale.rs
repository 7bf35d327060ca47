//! Scaling of the inputs.

use crate::scene::schema::Scaling;

/// Numbers of `column_count` columns, row by row, scaled as asked; statistics are those of the first `train_rows` rows. Where a
/// number does not fit into f32, its place.
pub(crate) fn scale(
    mut numbers: Vec<f64>,
    column_count: usize,
    train_rows: usize,
    scaling: &Scaling,
) -> Result<Vec<f32>, usize> {
    match scaling {
        Scaling::Unscaled => {}
        Scaling::Divide(divisor) => numbers.iter_mut().for_each(|number| *number /= divisor),
        Scaling::Standardise => {
            for column in 0..column_count {
                let cells = |rows: usize| (0..rows).map(move |row| row * column_count + column);
                let count = train_rows as f64;
                let mean = cells(train_rows).map(|cell| numbers[cell]).sum::<f64>() / count;
                let square = |cell: usize| (numbers[cell] - mean) * (numbers[cell] - mean);
                let deviation = (cells(train_rows).map(square).sum::<f64>() / count).sqrt();
                let divisor = if deviation > 0.0 { deviation } else { 1.0 };
                for cell in cells(numbers.len() / column_count) {
                    numbers[cell] = (numbers[cell] - mean) / divisor;
                }
            }
        }
    }
    let scaled: Vec<f32> = numbers.into_iter().map(|number| number as f32).collect();
    scaled.iter().position(|number| !number.is_finite()).map_or(Ok(scaled), Err)
}
