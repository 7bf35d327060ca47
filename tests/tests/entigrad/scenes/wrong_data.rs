//! Data that are wrong: the file is then the CSV file.
