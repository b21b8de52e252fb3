//! The errors of datasets.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{MAX_BYTES, MAX_ROWS};

/// The reason why a dataset cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum DatasetError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    /// The file is too large.
    #[error("{}: expected at most {MAX_BYTES} bytes", .0.display())]
    TooLarge(PathBuf),
    /// The file has too many rows.
    #[error("{}: expected at most {MAX_ROWS} rows", .0.display())]
    TooManyRows(PathBuf),
    /// The file's name does not say what it contains.
    #[error("{}: expected a file whose name ends in .jsonl, .ndjson, .csv or .toml; {}", .0.display(), conversion(.0))]
    Format(PathBuf),
    /// The file is not UTF-8.
    #[error("{}:{line}: expected UTF-8", path.display())]
    NotUtf8 {
        path: PathBuf,
        /// The line of the first byte that is not, from 1.
        line: usize,
    },
    /// The file has no rows.
    #[error("{}: expected at least one row", .0.display())]
    Empty(PathBuf),
    /// A row that does not have the form of the file.
    #[error("{}:{line}: expected {expected}", path.display())]
    Row {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// A description of what a row must be, and what was found.
        expected: String,
    },
    /// An id that cannot be used as a name.
    #[error("{}:{line}: id: expected a text that is not empty, or a number", path.display())]
    Id {
        path: PathBuf,
        /// The line of the row, from 1.
        line: usize,
    },
    /// Two rows with the same name.
    #[error("{}:{line}: id: {id:?} is the id of the row on line {first} too", path.display())]
    DuplicateId {
        path: PathBuf,
        /// The line of the second row, from 1.
        line: usize,
        id: String,
        first: usize,
    },
}

/// Returns how a file of another form becomes a dataset.
fn conversion(path: &Path) -> &'static str {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => {
            "rename it to .jsonl if each line is an object; of a list, jq -c '.[]' FILE > rows.jsonl makes lines"
        }
        Some("tsv") => {
            "convert it, with pandas for example: read_csv(FILE, sep=\"\\t\").to_csv(\"rows.csv\", index=False)"
        }
        _ => {
            "unpack or convert it, with pandas for example: \
             read_parquet(FILE).to_json(\"rows.jsonl\", orient=\"records\", lines=True)"
        }
    }
}
