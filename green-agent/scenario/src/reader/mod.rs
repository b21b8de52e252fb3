//! Reads TOML with positions. A wrong value is reported and reading goes on, so that a file's author sees all
//! mistakes at once.
//!
//! In all of these functions, `None` means absent, or wrong and reported.
//!
//! - [`kind`]: kinds of values
//! - [`declare`]: the macro `table!`, which makes reader and schema of a table from a list of its keys

mod declare;
mod kind;
mod node;
mod table;

use std::{cell::RefCell, ffi::OsStr, path::Path};

use toml::de::DeTable;

pub(super) use self::{
    declare::{DefaultValue, KeySchema, Keys, Rule, described, table, table_schema},
    kind::{Kind, kind},
    node::Node,
    table::{Key, Table, is_misspelled, nearest},
};
use super::{
    error::{Problem, ScenarioError, ScenarioErrors},
    fill::Filling,
};

/// The most syntax errors that are reported: one missing bracket can cause an error on every following line.
const MAX_SYNTAX_ERRORS: usize = 10;

/// Reads a document with `read`, which must report an error if it returns `None`.
pub(super) fn document<T>(
    path: &Path,
    text: &str,
    read: impl FnOnce(&mut Table<'_>) -> Option<T>,
) -> Result<T, ScenarioErrors> {
    filled_document(path, text, None, read)
}

/// Reads a document whose placeholders are filled first, if there is a filling.
pub(super) fn filled_document<T>(
    path: &Path,
    text: &str,
    filling: Option<&Filling<'_>>,
    read: impl FnOnce(&mut Table<'_>) -> Option<T>,
) -> Result<T, ScenarioErrors> {
    let source = Source::new(path, text);
    let numbers = filling.map(Filling::numbers).unwrap_or_default();
    let (mut root, errors) = DeTable::parse_recoverable(text);
    source.report_syntax(&errors);
    if let Some(filling) = filling.filter(|_| errors.is_empty()) {
        let report = |offset, key: &str, problem| source.report(offset, key, problem);
        filling.fill(root.get_mut(), &numbers, &report);
    }
    let unfilled = source.errors.borrow().len();
    let value = if errors.is_empty() { read(&mut Table::root(&source, &root)) } else { None };
    source.forget_consequences_of(unfilled);
    source.finish(value)
}

/// Joins the lines of a message.
pub(super) fn one_line(message: &str) -> String {
    let lines: Vec<&str> = message.lines().map(str::trim).collect();
    lines.join("; ")
}

/// Returns a hint for the syntax errors of a file whose extension is that of another language, such as `.yaml`.
fn other_language(path: &Path) -> &'static str {
    let name = path.extension().and_then(OsStr::to_str);
    match name.map(str::to_ascii_lowercase).as_deref() {
        Some("json" | "json5" | "yaml" | "yml") => {
            "; a scenario is a TOML file, or AgentBeats' scenario.json5"
        }
        Some(_) | None => "",
    }
}

/// The text of the file, and the mistakes found in it.
struct Source<'a> {
    path: &'a Path,
    text: &'a str,
    /// The offsets of its line feeds.
    breaks: Vec<usize>,
    errors: RefCell<Vec<ScenarioError>>,
}

impl<'a> Source<'a> {
    fn new(path: &'a Path, text: &'a str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { path, text, breaks, errors: RefCell::default() }
    }

    fn report(&self, offset: usize, key: &str, problem: Problem) {
        let (line, column) = self.position(offset);
        self.errors.borrow_mut().push(ScenarioError {
            path: self.path.to_owned(),
            line,
            column,
            key: key.to_owned(),
            problem,
        });
    }

    fn report_syntax(&self, errors: &[toml::de::Error]) {
        for error in errors.iter().take(MAX_SYNTAX_ERRORS) {
            let offset = error.span().map_or(0, |span| span.start);
            let error = one_line(error.message());
            let error = format!("{error}{}", other_language(self.path));
            self.report(offset, "", Problem::Syntax(error));
        }
    }

    /// Returns line and column of an offset, from 1; the column is counted in characters, as editors do.
    fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let earlier = self.breaks.partition_point(|at| *at < before.len());
        let line_start = earlier.checked_sub(1).map_or(0, |last| self.breaks[last] + 1);
        (earlier + 1, before[line_start..].chars().count() + 1)
    }

    /// Removes the mistakes in values that the first mistakes are about: a text whose placeholder was not filled may be no
    /// valid value.
    fn forget_consequences_of(&self, first: usize) {
        let mut errors = self.errors.borrow_mut();
        let later = errors.split_off(first);
        let place = |error: &ScenarioError| (error.line, error.column);
        let known: Vec<_> = errors.iter().map(place).collect();
        errors.extend(later.into_iter().filter(|error| !known.contains(&place(error))));
    }

    fn finish<T>(self, value: Option<T>) -> Result<T, ScenarioErrors> {
        let mut errors = self.errors.into_inner();
        match value {
            Some(value) if errors.is_empty() => Ok(value),
            Some(_) | None => {
                errors.sort_by_key(|error| (error.line, error.column));
                Err(ScenarioErrors(errors))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let source = Source::new(Path::new("a.toml"), "x = 1\nä = \"ö\"");
        assert_eq!(source.position(0), (1, 1));
        assert_eq!(source.position(6), (2, 1));
        assert_eq!(source.position(11), (2, 5));
        assert_eq!(source.position(99), (2, 8));
    }

    #[test]
    fn errors_come_in_the_files_order() {
        let errors = document(Path::new("a.toml"), "b = 1\na = 2\n", |root| {
            root.key("a").read::<String>();
            root.key("b").read::<String>()
        })
        .unwrap_err();
        assert_eq!(
            errors.to_string(),
            "a.toml:1:5: b: expected text, found 1\na.toml:2:5: a: expected text, found 2"
        );
    }
}
