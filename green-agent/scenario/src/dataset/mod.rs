//! Datasets: files whose rows fill the placeholders of a scenario, each row a sample.
//!
//! - JSON Lines (`.jsonl`, `.ndjson`): an object a line, as Inspect AI reads them
//! - CSV (`.csv`): names in the first line, RFC 4180, as promptfoo reads them; all values are texts
//! - TOML (`.toml`): tables `[[row]]`
//!
//! The field `id` names a sample, or `task_id`, `instance_id` or `question_id` if it names all rows; without one, the sample is
//! named by its number from 1.

mod csv;
mod rows;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// The largest dataset, in bytes.
pub const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The most rows of a dataset.
pub const MAX_ROWS: usize = 100_000;

/// The field that names a sample.
const ID: &str = "id";

/// The fields that public benchmarks use in place of `id`: HumanEval and GAIA, SWE-bench, MMLU-Pro. The first of them counts
/// whose values are the distinct names of all rows.
const ID_FIELDS: [&str; 3] = ["task_id", "instance_id", "question_id"];

/// A dataset that was read.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Its file.
    pub path: PathBuf,
    /// Its rows, in the file's order; never empty.
    pub rows: Vec<Row>,
}

/// One row of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The sample's name: the field `id`, or one that public benchmarks use in its place, or the row's number from 1.
    pub name: String,
    /// The line on which the row begins, from 1.
    pub line: usize,
    /// The digest of its fields: `sha256:...`.
    pub digest: String,
    /// Its fields.
    pub fields: Map<String, Value>,
}

/// The reason why a dataset cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum DatasetError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    /// The name or the size of the file is another than expected.
    #[error("{}: expected {expected}", path.display())]
    File { path: PathBuf, expected: String },
    /// A row that does not have the form of the file.
    #[error("{}:{line}: expected {expected}", path.display())]
    Row {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// A description of what a row must be, and what was found.
        expected: String,
    },
    /// An id that cannot be used as a name, or is that of another row.
    #[error("{}:{line}: id: {problem}", path.display())]
    Id {
        path: PathBuf,
        /// The line of the row, from 1.
        line: usize,
        problem: String,
    },
}

impl DatasetError {
    fn file(path: &Path, expected: String) -> Self {
        Self::File { path: path.to_owned(), expected }
    }

    fn row(path: &Path, line: usize, expected: String) -> Self {
        Self::Row { path: path.to_owned(), line, expected }
    }
}

impl Dataset {
    /// Reads the dataset at `path`.
    ///
    /// # Errors
    /// If the file cannot be read, is too large, has a row of another form, two rows with the same id, or no
    /// row.
    pub fn read(path: &Path) -> Result<Self, DatasetError> {
        type Rows = Result<Vec<(usize, Map<String, Value>)>, DatasetError>;
        // The name decides first: a compressed file would only be reported as no UTF-8.
        let read: fn(&Path, &str) -> Rows =
            match path.extension().and_then(|ending| ending.to_str()) {
                Some("jsonl" | "ndjson") => rows::json_lines,
                Some("csv") => csv::rows,
                Some("toml") => rows::toml,
                _ => return Err(DatasetError::file(path, expected_name(path))),
            };
        Self::new(path, read(path, &text(path)?)?)
    }

    /// Names the rows; each comes with the line on which it begins.
    fn new(path: &Path, rows: Vec<(usize, Map<String, Value>)>) -> Result<Self, DatasetError> {
        let path = path.to_owned();
        if rows.is_empty() {
            return Err(DatasetError::file(&path, "at least one row".to_owned()));
        }
        if rows.len() > MAX_ROWS {
            return Err(DatasetError::file(&path, format!("at most {MAX_ROWS} rows")));
        }
        let id = ID_FIELDS.into_iter().find(|field| names_all(&rows, field)).unwrap_or(ID);
        let mut lines = BTreeMap::new();
        let mut named = Vec::with_capacity(rows.len());
        for (index, (line, fields)) in rows.into_iter().enumerate() {
            let name = match fields.get(id) {
                None => (index + 1).to_string(),
                Some(id) => match name(id) {
                    Some(name) => name,
                    None => {
                        let problem = "expected a text that is not empty, or a number".to_owned();
                        return Err(DatasetError::Id { path, line, problem });
                    }
                },
            };
            if let Some(first) = lines.insert(name.clone(), line) {
                let problem = format!("{name:?} is the id of the row on line {first} too");
                return Err(DatasetError::Id { path, line, problem });
            }
            let digest = digest(&Value::Object(fields.clone()));
            named.push(Row { name, line, digest, fields });
        }
        Ok(Self { path, rows: named })
    }
}

impl Row {
    /// Returns the value of a field. `a.b` is the field of this name, or else the member `b` of the field
    /// `a`; `a.0` is the first element of a list.
    pub fn get(&self, field: &str) -> Option<&Value> {
        if let Some(value) = self.fields.get(field) {
            return Some(value);
        }
        let mut steps = field.split('.');
        let first = self.fields.get(steps.next()?)?;
        steps.try_fold(first, |value, step| match value {
            Value::Object(members) => members.get(step),
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })
    }
}

/// Returns the names that a dataset may have, and how a file of another form becomes one.
fn expected_name(path: &Path) -> String {
    let conversion = match path.extension().and_then(|ending| ending.to_str()) {
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
    };
    format!("a file whose name ends in .jsonl, .ndjson, .csv or .toml; {conversion}")
}

/// Whether `field` names all rows, which have no `id`, each by a name of its own.
fn names_all(rows: &[(usize, Map<String, Value>)], field: &str) -> bool {
    let mut names = BTreeSet::new();
    rows.iter().all(|(_, fields)| {
        let name = fields.get(field).and_then(name);
        !fields.contains_key(ID) && name.is_some_and(|name| names.insert(name))
    })
}

/// Returns the name that an id gives to a sample.
fn name(id: &Value) -> Option<String> {
    match id {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

fn text(path: &Path) -> Result<String, DatasetError> {
    let cannot_read = |error| DatasetError::Read { path: path.to_owned(), error };
    let file = File::open(path).map_err(cannot_read)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(cannot_read)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(DatasetError::file(path, format!("at most {MAX_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        DatasetError::row(path, line, "UTF-8".to_owned())
    })?;
    // Spreadsheet programs begin their CSV files with a byte order mark.
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// Returns the SHA-256 digest of a value, `sha256:` and 64 hexadecimal digits. It does not depend on the order
/// of members.
pub fn digest(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    format!("sha256:{:x}", Sha256::digest(value.to_string()))
}

#[cfg(test)]
mod tests;
