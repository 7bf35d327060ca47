//! From a CSV file to tensors: the columns that the scene names, scaled, and split into rows to train on and to test.

mod scale;
mod table;

use entigrad_components::Tensor;

use super::error::SceneError;
use super::load::{Scene, utf8};
use super::schema::{Inputs, Loss, Model};
use super::text::suggestion;
use scale::scale;
use table::{Table, quoted};

/// What a scene is trained and tested on.
pub(crate) struct DataSet {
    /// The rows to train on: at least one.
    pub train: Rows,
    /// The rows to test.
    pub test: Option<Rows>,
}

/// Some rows.
#[derive(Clone)]
pub(crate) struct Rows {
    /// `f32[n, inputs]`.
    pub inputs: Tensor,
    /// Classes as `i32[n]`, or numbers as `f32[n, 1]`.
    pub targets: Tensor,
}

impl Rows {
    /// How many.
    pub fn count(&self) -> usize {
        self.inputs.shape().first().copied().unwrap_or(0)
    }

    /// How many inputs each has.
    pub fn input_count(&self) -> usize {
        self.inputs.shape().get(1).copied().unwrap_or(0)
    }
}

/// Reads the data of a scene.
pub(crate) fn read(scene: &Scene) -> Result<DataSet, SceneError> {
    let path = scene.data_path();
    let bytes = std::fs::read(&path).map_err(|cause| {
        scene.wrong("data.file", format!("names {}, which cannot be read: {cause}", path.display()))
    })?;
    let text = utf8(&path, bytes)?;
    let table = Table::new(&path, &text)?;
    let (inputs, target) = columns(scene, &table)?;
    let (rows, test_rows) = (table.row_count(), scene.settings.data.test_rows);
    if test_rows >= rows {
        let message = format!("is {test_rows}, which leaves no row to train on: {} has {rows}", path.display());
        return Err(scene.wrong("data.test_rows", message));
    }
    let train_rows = rows - test_rows;

    let (numbers, targets) = cells(scene, &table, &inputs, target)?;
    let numbers = scale(numbers, inputs.len(), train_rows, &scene.settings.data.scaling).map_err(|cell| {
        let (row, column) = (cell / inputs.len(), inputs[cell % inputs.len()]);
        match single(&table, row, column) {
            Ok(_) => scene.wrong("data.scaling", "makes numbers that are too large for f32"),
            Err(error) => error,
        }
    })?;
    let split = |first: usize, last: usize| -> Result<Rows, entigrad_systems::Error> {
        let width = inputs.len();
        let inputs = Tensor::new(&[last - first, width], &numbers[first * width..last * width])?;
        Ok(Rows { inputs, targets: targets.tensor(first, last)? })
    };
    let engine = |cause| scene.failed(cause);
    let train = split(0, train_rows).map_err(engine)?;
    let test = (test_rows > 0).then(|| split(train_rows, rows)).transpose().map_err(engine)?;
    Ok(DataSet { train, test })
}

/// The places of the input columns and of the target.
fn columns(scene: &Scene, table: &Table<'_>) -> Result<(Vec<usize>, usize), SceneError> {
    let find = |field: &str, name: &str| {
        table.columns.iter().position(|column| column == name).ok_or_else(|| {
            let known = suggestion(name, table.columns.iter().map(String::as_str));
            let path = scene.data_path();
            scene.wrong(field, format!("names the column `{name}`, which {} does not have; {known}", path.display()))
        })
    };
    let target = find("data.target", &scene.settings.data.target)?;
    let inputs = match &scene.settings.data.inputs {
        Inputs::AllOthers => (0..table.columns.len()).filter(|column| *column != target).collect(),
        Inputs::Columns(names) => {
            let places = names.iter().enumerate();
            places.map(|(place, name)| find(&format!("data.inputs[{place}]"), name)).collect::<Result<Vec<_>, _>>()?
        }
    };
    if inputs.is_empty() {
        let path = scene.data_path();
        return Err(scene.wrong("data.target", format!("is the only column of {}: no input is left", path.display())));
    }
    Ok((inputs, target))
}

/// What the model is to predict.
enum Targets {
    Classes(Vec<i32>),
    Numbers(Vec<f32>),
}

impl Targets {
    fn tensor(&self, first: usize, last: usize) -> Result<Tensor, entigrad_systems::Error> {
        Ok(match self {
            Self::Classes(classes) => Tensor::new(&[last - first], &classes[first..last])?,
            Self::Numbers(numbers) => Tensor::new(&[last - first, 1], &numbers[first..last])?,
        })
    }
}

/// The numbers of the inputs, row by row, and the targets.
fn cells(scene: &Scene, table: &Table<'_>, inputs: &[usize], target: usize) -> Result<(Vec<f64>, Targets), SceneError> {
    let Model::Mlp { layers, .. } = &scene.settings.model;
    let class_count = layers.last().copied().unwrap_or(0);
    let mut numbers = Vec::with_capacity(inputs.len() * table.row_count());
    let mut targets = match scene.settings.loss {
        Loss::CrossEntropy => Targets::Classes(Vec::with_capacity(table.row_count())),
        Loss::Mse => Targets::Numbers(Vec::with_capacity(table.row_count())),
    };
    for row in 0..table.row_count() {
        for column in inputs {
            numbers.push(table.number(row, *column)?);
        }
        match &mut targets {
            Targets::Classes(classes) => classes.push(class(table, row, target, class_count)?),
            Targets::Numbers(numbers) => numbers.push(single(table, row, target)?),
        }
    }
    Ok((numbers, targets))
}

fn class(table: &Table<'_>, row: usize, column: usize, class_count: usize) -> Result<i32, SceneError> {
    let number = table.number(row, column)?;
    if number.fract() == 0.0 && (0.0..class_count as f64).contains(&number) {
        return Ok(number as i32);
    }
    let (cell, last) = (quoted(table.cell(row, column)), class_count.saturating_sub(1));
    let message = format!("{cell} is no class: the last layer is {class_count} wide, so classes are 0 to {last}");
    Err(table.wrong_cell(row, column, message))
}

fn single(table: &Table<'_>, row: usize, column: usize) -> Result<f32, SceneError> {
    let number = table.number(row, column)? as f32;
    if number.is_finite() { Ok(number) } else { Err(table.wrong_cell(row, column, "the number is too large for f32")) }
}
