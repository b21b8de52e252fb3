//! A scenario file with its dataset and its matrix: one scenario for each sample in each cell.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{
    error::{Problem, ScenarioError, ScenarioErrors},
    fill::{Cell, Filling, as_text},
    meaning, misspelt,
    model::Scenario,
    parse,
    reader::{Table, document},
    supplied::AgentOverrides,
};
use crate::dataset::{Dataset, DatasetError, Row, digest};

/// The most cells of a matrix.
const MAX_CELLS: usize = 10_000;

/// The most mistakes in filled scenarios that are reported: a field that is missing is often missing in all
/// rows.
const MAX_ERRORS: usize = 10;

/// A scenario file, its dataset and its matrix.
#[derive(Clone, Debug)]
pub struct ScenarioSource {
    path: PathBuf,
    name: String,
    text: String,
    dataset: Option<Dataset>,
    axes: Vec<(String, Vec<Value>)>,
}

/// Reads a scenario file, with the first row of its dataset in the first cell of its matrix.
///
/// # Errors
/// All mistakes in the file, or that it cannot be read.
pub fn read(path: &Path) -> Result<Scenario, ScenarioErrors> {
    ScenarioSource::read(path)?.first()
}

impl ScenarioSource {
    /// Reads a scenario file and its dataset.
    ///
    /// # Errors
    /// If one of them cannot be read. Mistakes elsewhere in the file are found by
    /// [`scenario`](Self::scenario).
    pub fn read(path: &Path) -> Result<Self, ScenarioErrors> {
        let text = parse::text_of(path)?;
        Self::new(path, text)
    }

    /// Takes the text of a scenario file; reads its dataset, relative to `path`.
    ///
    /// # Errors
    /// Like [`read`](Self::read).
    pub fn new(path: &Path, text: String) -> Result<Self, ScenarioErrors> {
        let (dataset, axes) = match parse::is_manifest(path) {
            true => (None, Vec::new()),
            false => match document(path, &text, |root| sources(path, root)) {
                Ok(sources) => sources,
                Err(errors) => return Err(with_others(errors, path, &text)),
            },
        };
        // The name must not depend on the working directory.
        let absolute = std::path::absolute(path);
        Ok(Self {
            name: parse::name(absolute.as_deref().unwrap_or(path)),
            path: path.to_owned(),
            text,
            dataset,
            axes,
        })
    }

    /// Returns the same source, whose scenarios have this name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Returns the rows of the dataset, in its order: one `None` without a dataset.
    pub fn rows(&self) -> Vec<Option<&Row>> {
        match &self.dataset {
            Some(dataset) => dataset.rows.iter().map(Some).collect(),
            None => vec![None],
        }
    }

    /// Returns the cells of the matrix, the last axis changing fastest: an empty one without a matrix.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = vec![Cell::new()];
        for (name, values) in &self.axes {
            let longer = |cell: Cell| {
                let with = |value: &Value| [&cell[..], &[(name.clone(), value.clone())]].concat();
                values.iter().map(with).collect::<Vec<_>>()
            };
            cells = cells.into_iter().flat_map(longer).collect();
        }
        cells
    }

    /// Returns whether there are several scenarios, or one that is filled from a dataset or a matrix.
    pub fn is_filled(&self) -> bool {
        self.dataset.is_some() || !self.axes.is_empty()
    }

    /// Returns the scenario of one sample in one cell.
    ///
    /// # Errors
    /// All mistakes in the filled file.
    pub fn scenario(
        &self,
        cell: &[(String, Value)],
        row: Option<&Row>,
    ) -> Result<Scenario, ScenarioErrors> {
        let filling = Filling { row: self.dataset.as_ref().zip(row), cell };
        let scenario = parse::parse_filled(&self.path, &self.text, &filling)?;
        Ok(Scenario { name: self.name.clone(), ..scenario })
    }

    /// Returns the scenario of the first sample in the first cell.
    ///
    /// # Errors
    /// All mistakes in the filled file.
    pub fn first(&self) -> Result<Scenario, ScenarioErrors> {
        let cells = self.cells();
        let row = self.rows().into_iter().next().flatten();
        self.scenario(cells.first().map_or(&[], Vec::as_slice), row)
    }

    /// Reads the scenario with each row in the first cell, and with the first row in each cell.
    ///
    /// # Errors
    /// The mistakes that were found until there were ten, without repetitions, and the number of further rows and cells with
    /// mistakes.
    pub fn check(&self) -> Result<(), ScenarioErrors> {
        let (cells, rows) = (self.cells(), self.rows());
        let first_cell = cells.first().map_or(&[][..], Vec::as_slice);
        let first_row = rows.first().copied().flatten();
        let by_row = rows.iter().map(|row| (first_cell, *row, *row));
        let by_cell = cells.iter().skip(1).map(|cell| (&cell[..], first_row, None));
        let mut errors: Vec<(ScenarioError, Option<&Row>, usize)> = Vec::new();
        let (mut tried, mut unlisted) = (0, 0);
        for (cell, row, tried_row) in by_row.chain(by_cell) {
            let new_tries = usize::from(tried_row.is_some());
            tried += new_tries;
            let (is_full, mut is_unlisted) = (errors.len() >= MAX_ERRORS, false);
            for new in self.scenario(cell, row).err().into_iter().flat_map(|more| more.0) {
                let is_left_out =
                    is_full || errors.iter().any(|(error, ..)| is_unfilled_too(error, &new));
                match errors.iter_mut().find(|(error, ..)| *error == new) {
                    Some((.., times)) => *times += new_tries,
                    None if is_left_out => is_unlisted = true,
                    None => errors.push((new, tried_row, new_tries)),
                }
            }
            unlisted += usize::from(is_unlisted);
        }
        let errors = errors.into_iter().map(|(error, row, times)| match row {
            Some(row) if times < tried => self.in_row(error, row),
            _ => error,
        });
        let mut errors: Vec<_> = errors.collect();
        let Some(last) = errors.last().cloned() else {
            return Ok(());
        };
        if unlisted > 0 {
            errors.push(ScenarioError { problem: Problem::Unlisted(unlisted), ..last });
        }
        Err(ScenarioErrors(errors))
    }

    /// Returns a mistake that not all rows have with the first row that has it.
    fn in_row(&self, error: ScenarioError, row: &Row) -> ScenarioError {
        let Some(dataset) = &self.dataset else {
            return error;
        };
        // Placeholders without a value name their row themselves.
        if matches!(error.problem, Problem::Placeholder { .. }) {
            return error;
        }
        let row = format!("{}:{}", dataset.path.display(), row.line);
        let problem = Problem::InRow { problem: Box::new(error.problem), row };
        ScenarioError { problem, ..error }
    }

    /// Returns a note about each text that is almost a placeholder; there are none in a file of another program.
    pub fn misspelt(&self) -> Vec<String> {
        match parse::is_manifest(&self.path) {
            true => Vec::new(),
            false => misspelt::placeholders(&self.path, &self.text),
        }
    }

    /// Returns the digest of the settings of agents, evaluation and judgement in the file and on the command line,
    /// before placeholders are filled: `sha256:...`. Addresses, paths and the number of trials are left out.
    pub fn digest(&self, overrides: &AgentOverrides) -> String {
        let meaning = meaning::of(&self.path, &self.text);
        digest(&json!([meaning, overrides.meaning()]))
    }
}

/// Returns whether two rows lack the value of the same placeholder at the same place.
fn is_unfilled_too(error: &ScenarioError, other: &ScenarioError) -> bool {
    match (&error.problem, &other.problem) {
        (
            Problem::Placeholder { placeholder: one, .. },
            Problem::Placeholder { placeholder: two, .. },
        ) => (error.line, error.column, one) == (other.line, other.column, two),
        _ => false,
    }
}

/// Returns the cell with its values as texts.
pub fn cell_texts(cell: &[(String, Value)]) -> std::collections::BTreeMap<String, String> {
    let texts = cell.iter().map(|(axis, value)| (axis.clone(), as_text(value)));
    texts.collect()
}

/// Returns the mistakes in the dataset or the matrix with the others of the file. Placeholders cannot be checked without
/// values.
fn with_others(mut errors: ScenarioErrors, path: &Path, text: &str) -> ScenarioErrors {
    let others = parse::parse(path, text).err().map(|errors| errors.0);
    let others = others.into_iter().flatten().filter(|other| {
        !matches!(other.problem, Problem::Placeholder { .. }) && !errors.0.contains(other)
    });
    let others: Vec<_> = others.collect();
    errors.0.extend(others);
    errors.0.sort_by_key(|error| (error.line, error.column));
    errors
}

type Sources = (Option<Dataset>, Vec<(String, Vec<Value>)>);

/// Reads `harness.dataset` and `harness.matrix`.
fn sources(path: &Path, root: &mut Table<'_>) -> Option<Sources> {
    let harness = root.get("harness").filter(super::reader::Node::is_table);
    let Some(mut harness) = harness.and_then(|node| node.table()) else {
        return Some((None, Vec::new()));
    };
    let mut sources: Sources = (None, Vec::new());
    if let Some(node) = harness.get("dataset") {
        let dataset = Dataset::read(&path.with_file_name(node.text()?));
        let report = |error: &DatasetError| node.report(Problem::Dataset(error.to_string()));
        sources.0 = Some(dataset.inspect_err(report).ok()?);
    }
    if let Some(node) = harness.get("matrix") {
        sources.1 = parse::matrix(&mut node.table()?)?;
        let cells = sources.1.iter().map(|(_, values)| values.len());
        if cells.fold(1_usize, usize::saturating_mul) > MAX_CELLS {
            return node.expected(format!("at most {MAX_CELLS} cells"));
        }
    }
    Some(sources)
}

#[cfg(test)]
mod tests;
