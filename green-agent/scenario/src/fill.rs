//! Fills the placeholders `{row.FIELD}` and `{matrix.AXIS}` in the texts of a scenario file, before it is
//! read: a text that consists of one placeholder takes the value with its type (where a text is expected, a number is read
//! as text), and otherwise the value becomes a part of the text. A text that consists of `{row}`, and such a word of a
//! `cmd`, becomes the whole row.
//!
//! A value of a row cannot change the structure of the file: in `cmd` it stays within its word, in `env` it refers to no
//! variable, and within a regular expression it stands for itself.

use std::{collections::BTreeSet, ops::Range};

use serde_json::{Map, Value};
use toml::{
    Spanned,
    de::{DeArray, DeString, DeTable, DeValue},
};

use super::{error::Problem, parse::AGENTS, reader::nearest};
use crate::dataset::{Dataset, Row};

/// One cell of a matrix: the value of each axis.
pub type Cell = Vec<(String, Value)>;

/// The values of one sample in one cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filling<'a> {
    pub(super) row: Option<(&'a Dataset, &'a Row)>,
    /// The cell; empty without a matrix.
    pub(super) cell: &'a [(String, Value)],
}

/// The keys of `[harness]` that name the sources of values. They are not filled.
const SOURCES: [&str; 2] = ["dataset", "matrix"];

/// The tables with checks of an answer, whose `contains`, `contains_all` and `contains_any` are texts.
const ANSWERS: [&str; 2] = ["config.turn[]", "config.turn[].expect[]"];

/// The tables with checks of the run. `matches` in these and in [`ANSWERS`] are regular expressions.
const EXPECTATIONS: &str = "harness.expect[]";

/// The kind of text that a value is inserted into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextKind {
    /// A text that takes the value unchanged.
    Plain,
    /// A command, in which the value must not begin another word.
    Command,
    /// A variable, in which a dollar sign refers to other variables.
    Variable,
    /// A regular expression, in which many characters have a meaning, such as those of `$1.50 (net)`.
    Pattern,
    /// A text that the answer to a turn must contain, which must not be empty because every answer contains that.
    Sought,
}

/// Reports a mistake at an offset of the file, with its key.
pub(super) type Report<'a> = &'a dyn Fn(usize, &str, Problem);

/// The numbers of all values as TOML. A parsed number borrows its digits, so they are kept here.
pub(super) type Numbers = BTreeSet<String>;

impl Filling<'_> {
    /// Returns the numbers of all values.
    pub(super) fn numbers(&self) -> Numbers {
        let mut numbers = Numbers::new();
        let row = self.row.iter().flat_map(|(_, row)| row.fields.values());
        for value in row.chain(self.cell.iter().map(|(_, value)| value)) {
            collect_numbers(value, &mut numbers);
        }
        numbers
    }

    /// Fills a whole file. A file without `[harness]` is left as it is, since other programs read it too.
    pub(super) fn fill<'n>(
        &self,
        root: &mut DeTable<'n>,
        numbers: &'n Numbers,
        report: Report<'_>,
    ) {
        if root.contains_key("harness") {
            Filler { filling: self, numbers, report }.file(root);
        }
    }

    fn text(&self, text: &str, place: TextKind) -> Result<Value, Problem> {
        match place {
            TextKind::Plain | TextKind::Sought if text == WHOLE_ROW => Ok(match self.row {
                Some((_, row)) => Value::Object(row.fields.clone()),
                None => Value::from(text),
            }),
            TextKind::Plain | TextKind::Pattern | TextKind::Sought => match next(text) {
                Some(("", placeholder, "")) => Ok(self.look_up(placeholder)?.clone()),
                _ if place == TextKind::Pattern => self.within(text, regex::escape),
                _ => self.within(text, str::to_owned),
            },
            TextKind::Variable => self.within(text, |value| value.replace('$', "$$")),
            TextKind::Command => {
                // The command is split before it is filled, so that a value with spaces or quotes stays one word.
                let Some(words) = shlex::split(text) else {
                    return Ok(Value::from(text));
                };
                let mut filled = Vec::new();
                for word in words {
                    let word = self.within(&word, str::to_owned)?;
                    filled.push(word.as_str().unwrap_or_default().to_owned());
                }
                let joined = shlex::try_join(filled.iter().map(String::as_str));
                joined.map(Value::from).map_err(|_null| Problem::Placeholder {
                    placeholder: text.to_owned(),
                    nearest: None,
                    expected: "a value without null characters, since it stands in a command"
                        .to_owned(),
                })
            }
        }
    }

    /// Returns the text with each placeholder replaced by its value as text, changed by `change`.
    fn within(&self, text: &str, change: impl Fn(&str) -> String) -> Result<Value, Problem> {
        if let (WHOLE_ROW, Some((_, row))) = (text, self.row) {
            let row = Value::Object(row.fields.clone());
            return Ok(Value::from(change(&row.to_string())));
        }
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, placeholder, after)) = next(rest) {
            filled.push_str(before);
            filled.push_str(&change(&as_text(self.look_up(placeholder)?)));
            rest = after;
        }
        Ok(Value::from(filled + rest))
    }

    /// Returns the problem of a value that cannot stand here, such as an empty text that is sought.
    fn unusable(&self, text: &str, expected: &str) -> Problem {
        let place = match self.row {
            Some((dataset, row)) => format!("{}:{}", dataset.path.display(), row.line),
            None => "the matrix".to_owned(),
        };
        Problem::Placeholder {
            placeholder: text.to_owned(),
            nearest: None,
            expected: format!("{expected}, found one in {place}"),
        }
    }

    fn look_up(&self, placeholder: &str) -> Result<&Value, Problem> {
        let misspelt = |expected: String, nearest: Option<String>| Problem::Placeholder {
            placeholder: format!("{{{placeholder}}}"),
            nearest: nearest.map(|nearest| format!("{{{nearest}}}")),
            expected,
        };
        let unknown = |expected: String| misspelt(expected, None);
        if let Some(axis) = placeholder.strip_prefix(MATRIX) {
            let found = self.cell.iter().find(|(name, _)| name == axis);
            let known: Vec<&str> = self.cell.iter().map(|(name, _)| name.as_str()).collect();
            return match (found, &known[..]) {
                (Some((_, value)), _) => Ok(value),
                (None, []) => Err(unknown("a table harness.matrix".to_owned())),
                (None, known) => {
                    let expected = format!("an axis of harness.matrix: {}", known.join(", "));
                    let nearest = nearest(axis, known).map(|axis| format!("{MATRIX}{axis}"));
                    Err(misspelt(expected, nearest))
                }
            };
        }
        let Some((dataset, row)) = self.row else {
            return Err(unknown("a dataset: harness.dataset = \"FILE\"".to_owned()));
        };
        let field = placeholder.strip_prefix(ROW).unwrap_or(placeholder);
        match row.get(field) {
            Some(Value::Null) => Err(unknown(format!(
                "a value, found null in {}:{}",
                dataset.path.display(),
                row.line
            ))),
            Some(value) => Ok(value),
            None => {
                let known = fields_beside(&row.fields, field);
                let (path, line, known) = (dataset.path.display(), row.line, known.join(", "));
                let expected = format!("a field of {path}:{line}: {known}");
                let nearest = nearest_field(&row.fields, field);
                Err(misspelt(expected, nearest.map(|field| format!("{ROW}{field}"))))
            }
        }
    }
}

/// Fills the texts of one file.
struct Filler<'f, 'n> {
    filling: &'f Filling<'f>,
    numbers: &'n Numbers,
    report: Report<'f>,
}

impl<'n> Filler<'_, 'n> {
    fn file(&self, root: &mut DeTable<'n>) {
        for (name, value) in root.iter_mut() {
            let name = name.get_ref().as_ref();
            match (name, value.get_mut()) {
                ("harness", DeValue::Table(harness)) => {
                    let others = harness
                        .iter_mut()
                        .filter(|(key, _)| !SOURCES.contains(&key.get_ref().as_ref()));
                    for (key, value) in others {
                        self.value(value, &format!("harness.{}", key.get_ref()), TextKind::Plain);
                    }
                }
                (agents, DeValue::Table(agent)) if AGENTS.contains(&agents) => {
                    self.agent(agent, agents);
                }
                (agents, DeValue::Array(list)) if AGENTS.contains(&agents) => {
                    for (index, agent) in list.iter_mut().enumerate() {
                        if let DeValue::Table(agent) = agent.get_mut() {
                            self.agent(agent, &format!("{agents}[{index}]"));
                        }
                    }
                }
                _ => self.value(value, name, TextKind::Plain),
            }
        }
    }

    fn agent(&self, agent: &mut DeTable<'n>, key: &str) {
        for (name, value) in agent.iter_mut() {
            let name = name.get_ref().as_ref();
            let place = match name {
                "cmd" => TextKind::Command,
                "env" => TextKind::Variable,
                _ => TextKind::Plain,
            };
            self.value(value, &format!("{key}.{name}"), place);
        }
    }

    fn value(&self, value: &mut Spanned<DeValue<'n>>, key: &str, place: TextKind) {
        let span = value.span();
        match value.get_mut() {
            DeValue::String(text) => match self.text(text, place, &span) {
                Ok(Some(filled)) => *value.get_mut() = filled,
                Ok(None) => {}
                Err(problem) => (self.report)(span.start, key, problem),
            },
            DeValue::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(item, &format!("{key}[{index}]"), place);
                }
            }
            DeValue::Table(members) => {
                let table: String = key.chars().filter(|c| !c.is_ascii_digit()).collect();
                let is_of_answer = ANSWERS.contains(&table.as_str());
                for (name, member) in members.iter_mut() {
                    let name = name.get_ref().as_ref();
                    let place = match name {
                        "matches" if is_of_answer || table == EXPECTATIONS => TextKind::Pattern,
                        "contains" | "contains_all" | "contains_any" if is_of_answer => {
                            TextKind::Sought
                        }
                        _ => place,
                    };
                    self.value(member, &format!("{key}.{name}"), place);
                }
            }
            _ => {}
        }
    }

    /// Returns the value of a text with placeholders; `None` for another text.
    fn text(
        &self,
        text: &str,
        place: TextKind,
        span: &Range<usize>,
    ) -> Result<Option<DeValue<'n>>, Problem> {
        if next(text).is_none() && !text.contains(WHOLE_ROW) {
            return Ok(None);
        }
        let filled = self.filling.text(text, place)?;
        if place == TextKind::Sought && is_in_all(&filled) {
            let expected = "a text that is not empty, since every answer contains that";
            return Err(self.filling.unusable(text, expected));
        }
        let unusable = || self.filling.unusable(text, "numbers that TOML has");
        to_toml(&filled, span, self.numbers).ok_or_else(unusable).map(Some)
    }
}

/// The words with which placeholders begin, before a dot.
pub(super) const ROOTS: [&str; 2] = ["row", "matrix"];

const ROW: &str = "row.";
/// The text that becomes a table with all fields of the row, if there is one.
const WHOLE_ROW: &str = "{row}";
const MATRIX: &str = "matrix.";

/// Returns the fields of the innermost object on the way to a field that is missing.
fn fields_beside(members: &Map<String, Value>, field: &str) -> Vec<String> {
    let inside = field
        .split_once('.')
        .and_then(|(first, rest)| Some((first, members.get(first)?.as_object()?, rest)));
    match inside {
        Some((first, inner, rest)) => {
            fields_beside(inner, rest).into_iter().map(|field| format!("{first}.{field}")).collect()
        }
        None => members.keys().cloned().collect(),
    }
}

/// Returns the field that is most similar to `field`, whose steps are separated by dots.
fn nearest_field(members: &Map<String, Value>, field: &str) -> Option<String> {
    let (first, rest) = match field.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (field, None),
    };
    match (members.get(first), rest) {
        (Some(Value::Object(inner)), Some(rest)) => {
            Some(format!("{first}.{}", nearest_field(inner, rest)?))
        }
        (Some(_), _) => None,
        (None, rest) => {
            let known: Vec<&str> = members.keys().map(String::as_str).collect();
            let first = nearest(first, &known)?.to_owned();
            Some(rest.map_or_else(|| first.clone(), |rest| format!("{first}.{rest}")))
        }
    }
}

/// Returns whether every answer contains a text, or a text of a list.
fn is_in_all(sought: &Value) -> bool {
    match sought {
        Value::String(text) => text.is_empty(),
        Value::Array(texts) => texts.is_empty() || texts.iter().any(|text| text == ""),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Returns the text before the first placeholder, the placeholder without its braces, and the text after it.
/// `${row.x}` is no placeholder, like `${ROLE}`.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    for (at, _) in text.match_indices('{') {
        let inside = &text[at + 1..];
        if text[..at].ends_with('$') || !(inside.starts_with(ROW) || inside.starts_with(MATRIX)) {
            continue;
        }
        let end = inside.find(['{', '}', '"', '\n']);
        if let Some(end) = end.filter(|end| inside[*end..].starts_with('}')) {
            return Some((&text[..at], &inside[..end], &inside[end + 1..]));
        }
    }
    None
}

/// Returns a value as a part of a text: a text unchanged, anything else as JSON.
pub(crate) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The number that stands for null within a value, because TOML has no null and JSON has not this number.
pub(super) const NULL: &str = "nan";

/// Converts a JSON value to TOML at the position of its placeholder; returns `None` for a number that TOML cannot represent.
fn to_toml<'n>(value: &Value, span: &Range<usize>, numbers: &'n Numbers) -> Option<DeValue<'n>> {
    let spanned = |value| Spanned::new(span.clone(), value);
    Some(match value {
        Value::Null => DeValue::parse(NULL).ok()?.into_inner(),
        Value::Bool(flag) => DeValue::Boolean(*flag),
        Value::String(text) => DeValue::String(DeString::Owned(text.clone())),
        Value::Number(number) => {
            let text = numbers.get(&number.to_string())?;
            DeValue::parse(text).ok()?.into_inner()
        }
        Value::Array(items) => {
            let mut list = DeArray::new();
            for item in items {
                list.push(spanned(to_toml(item, span, numbers)?));
            }
            DeValue::Array(list)
        }
        Value::Object(members) => {
            let mut table = DeTable::new();
            for (name, member) in members {
                let name = Spanned::new(span.clone(), DeString::Owned(name.clone()));
                table.insert(name, spanned(to_toml(member, span, numbers)?));
            }
            DeValue::Table(table)
        }
    })
}

fn collect_numbers(value: &Value, numbers: &mut Numbers) {
    match value {
        Value::Number(number) => {
            numbers.insert(number.to_string());
        }
        Value::Array(items) => items.iter().for_each(|item| collect_numbers(item, numbers)),
        Value::Object(members) => {
            members.values().for_each(|member| collect_numbers(member, numbers));
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}
