//! A CSV file as a table of texts whose places are known.

use csv::{ReaderBuilder, StringRecord};
use std::ops::Range;
use std::path::Path;

use crate::scene::error::SceneError;
use crate::scene::text::Diagnostic;

/// A cell longer than this is not repeated in a message.
const CELL_BYTES_MAX: usize = 40;

/// A cell as messages name it.
pub(crate) fn quoted(cell: &str) -> String {
    if cell.len() > CELL_BYTES_MAX { "this".to_owned() } else { format!("`{cell}`") }
}

/// A CSV file: a line of column names, then rows of as many cells.
pub(crate) struct Table<'a> {
    path: &'a Path,
    text: &'a str,
    /// The column names.
    pub columns: Vec<String>,
    rows: Vec<StringRecord>,
}

impl<'a> Table<'a> {
    /// Reads the table in `text`, which came from `path`.
    pub fn new(path: &'a Path, text: &'a str) -> Result<Self, SceneError> {
        let mut table = Self { path, text, columns: Vec::new(), rows: Vec::new() };
        let mut reader = ReaderBuilder::new().flexible(true).has_headers(false).from_reader(text.as_bytes());
        for record in reader.records() {
            let record = record.map_err(|error| table.unreadable(&error))?;
            if table.columns.is_empty() {
                table.set_columns(&record)?;
            } else {
                table.push(record)?;
            }
        }
        if table.columns.is_empty() {
            return Err(table.wrong(0..1, "the file is empty: it begins with a line of column names, then rows"));
        }
        if table.rows.is_empty() {
            let end = table.text.trim_end().len();
            return Err(table.wrong(end..end + 1, "no row follows the column names"));
        }
        Ok(table)
    }

    /// How many rows.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// One cell, without spaces around it; empty where there is none.
    pub fn cell(&self, row: usize, column: usize) -> &str {
        self.rows.get(row).and_then(|row| row.get(column)).unwrap_or("").trim()
    }

    /// The finite number in a cell.
    pub fn number(&self, row: usize, column: usize) -> Result<f64, SceneError> {
        let cell = self.cell(row, column);
        match cell.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            Ok(_) => Err(self.wrong_cell(row, column, "a finite number is needed here")),
            Err(_) if cell.is_empty() => {
                Err(self.wrong_cell(row, column, "the cell is empty: a number is needed here"))
            }
            Err(_) => Err(self.wrong_cell(row, column, format!("{} is not a number", quoted(cell)))),
        }
    }

    /// An error about a cell; it names the column.
    pub fn wrong_cell(&self, row: usize, column: usize, message: impl Into<String>) -> SceneError {
        let place = self.rows.get(row).map_or(0..1, |row| self.field(row, column));
        let name = self.columns.get(column).map_or("?", String::as_str);
        self.wrong(place, format!("column `{name}`: {}", message.into()))
    }

    fn set_columns(&mut self, record: &StringRecord) -> Result<(), SceneError> {
        for (place, name) in record.iter().map(str::trim).enumerate() {
            if self.columns.iter().any(|known| known == name) {
                let message = format!("the column name `{name}` stands twice");
                return Err(self.wrong(self.field(record, place), message));
            }
            self.columns.push(name.to_owned());
        }
        Ok(())
    }

    fn push(&mut self, record: StringRecord) -> Result<(), SceneError> {
        let (wanted, given) = (self.columns.len(), record.len());
        if given != wanted {
            // Of a row that is too long, the first cell that is too many; of a short one, its last.
            let place = self.field(&record, wanted.min(given - 1));
            return Err(
                self.wrong(place, format!("the row has {given} cells, where the first line names {wanted} columns"))
            );
        }
        self.rows.push(record);
        Ok(())
    }

    fn unreadable(&self, error: &csv::Error) -> SceneError {
        let place = error.position().map_or(0, |position| position.byte() as usize);
        self.wrong(place..place + 1, error.to_string())
    }

    fn wrong(&self, place: Range<usize>, message: impl Into<String>) -> SceneError {
        Diagnostic::new(self.path, self.text, place, message).into()
    }

    /// The bytes of one cell of a record, quotes included.
    fn field(&self, record: &StringRecord, column: usize) -> Range<usize> {
        let start = record.position().map_or(0, |position| position.byte() as usize).min(self.text.len());
        // The reader counts the end of the line before as part of a record.
        let rest = self.text[start..].trim_start_matches(['\r', '\n']);
        let start = self.text.len() - rest.len();
        let (mut index, mut field_start, mut is_quoted) = (0, 0, false);
        for (place, byte) in rest.bytes().enumerate() {
            match byte {
                b'"' => is_quoted = !is_quoted,
                b',' | b'\n' | b'\r' if !is_quoted => {
                    if index == column || byte != b',' {
                        return start + field_start..start + place;
                    }
                    (index, field_start) = (index + 1, place + 1);
                }
                _ => {}
            }
        }
        start + field_start..self.text.len()
    }
}
