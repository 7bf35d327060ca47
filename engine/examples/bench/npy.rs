//! Reads arrays of f32 or i32 from NumPy's `.npy` files.
//!
//! The format is NEP 1's: the magic, two bytes of version, the length of the header (2 bytes in version 1, else 4), the
//! header (a Python dictionary with `descr`, `fortran_order` and `shape`), the elements. Leaves out: other element types,
//! big-endian files, column-major files.

use entigrad::prelude::Tensor;
use std::error::Error;
use std::fs;
use std::path::Path;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The array in a file.
pub fn read(path: &Path) -> Result<Tensor, Box<dyn Error>> {
    let bytes = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    parse(&bytes).map_err(|error| format!("{}: {error}", path.display()).into())
}

fn parse(bytes: &[u8]) -> Result<Tensor, Box<dyn Error>> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("it is no .npy file")?;
    let (version, rest) = rest.split_first_chunk::<2>().ok_or("it ends in the version")?;
    let (length, rest) = match version[0] {
        1 => rest.split_first_chunk().map(|(length, rest)| (u16::from_le_bytes(*length) as usize, rest)),
        _ => rest.split_first_chunk().map(|(length, rest)| (u32::from_le_bytes(*length) as usize, rest)),
    }
    .ok_or("it ends in the length of the header")?;
    let (header, data) = rest.split_at_checked(length).ok_or("it ends in the header")?;
    let header = std::str::from_utf8(header)?;
    if !header.contains("'fortran_order': False") {
        return Err("it is not in row-major order".into());
    }
    let shape = header.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')')).ok_or("it has no shape")?.0;
    let lengths = shape.split(',').map(str::trim).filter(|length| !length.is_empty()).map(str::parse);
    let shape = lengths.collect::<Result<Vec<usize>, _>>()?;
    let (words, []) = data.as_chunks::<4>() else {
        return Err("its elements are not of 4 bytes".into());
    };
    if header.contains("'descr': '<f4'") {
        let elements: Vec<f32> = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
        Ok(Tensor::new(&shape, &elements)?)
    } else if header.contains("'descr': '<i4'") {
        let elements: Vec<i32> = words.iter().map(|word| i32::from_le_bytes(*word)).collect();
        Ok(Tensor::new(&shape, &elements)?)
    } else {
        Err(format!("its elements are neither f32 nor i32: {}", header.trim_end()).into())
    }
}
