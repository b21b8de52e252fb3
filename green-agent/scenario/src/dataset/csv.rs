//! Reads CSV (RFC 4180): names in the first record, fields in double quotes may contain commas, line breaks
//! and doubled quotes. Lines end with LF or CRLF; blank ones are skipped.

use std::path::Path;

use serde_json::{Map, Value};

use super::{DatasetError, rows::RawRow};

/// One record: its line, from 1, and its fields.
type Record = (usize, Vec<String>);

pub(super) fn rows(path: &Path, text: &str) -> Result<Vec<RawRow>, DatasetError> {
    let wrong = |line: usize, expected: String| DatasetError::row(path, line, expected);
    let mut records = records(text).map_err(|(line, expected)| wrong(line, expected))?.into_iter();
    let Some((line, names)) = records.next() else {
        return Ok(Vec::new());
    };
    if let [only] = &names[..]
        && only.contains([';', '\t'])
    {
        return Err(wrong(line, format!("commas between the names, found {only:?}")));
    }
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            return Err(wrong(
                line,
                format!("the names of the columns, each once, found {name:?} twice"),
            ));
        }
    }
    let mut rows = Vec::new();
    for (line, fields) in records {
        if fields.len() != names.len() {
            let expected =
                format!("{} fields as in the first line, found {}", names.len(), fields.len());
            return Err(wrong(line, expected));
        }
        let fields = names.iter().cloned().zip(fields.into_iter().map(Value::from));
        rows.push((line, fields.collect::<Map<_, _>>()));
    }
    Ok(rows)
}

/// Returns all records, or the line of a mistake and what was expected there.
fn records(text: &str) -> Result<Vec<Record>, (usize, String)> {
    let mut records = Vec::new();
    let mut reader = Reader { rest: text, line: 1 };
    while !reader.rest.is_empty() {
        let line = reader.line;
        let fields = reader.record()?;
        let is_blank = matches!(&fields[..], [only] if only.is_empty());
        if !is_blank {
            records.push((line, fields));
        }
    }
    Ok(records)
}

/// The text that is left, and the line on which it begins.
struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl Reader<'_> {
    fn record(&mut self) -> Result<Vec<String>, (usize, String)> {
        let mut fields = Vec::new();
        loop {
            let field = match self.rest.strip_prefix('"') {
                Some(rest) => {
                    self.rest = rest;
                    self.quoted()?
                }
                None => self.plain(),
            };
            fields.push(field);
            match self.rest.strip_prefix(',') {
                Some(rest) => self.rest = rest,
                None => break,
            }
        }
        let rest = self.rest.strip_prefix('\r').unwrap_or(self.rest);
        match rest.strip_prefix('\n') {
            Some(rest) => {
                self.rest = rest;
                self.line += 1;
            }
            None if rest.is_empty() => self.rest = rest,
            None => {
                let expected = "a comma or the end of the line after a closing quote";
                return Err((self.line, expected.to_owned()));
            }
        }
        Ok(fields)
    }

    fn plain(&mut self) -> String {
        let end = self.rest.find([',', '\n']).unwrap_or(self.rest.len());
        let (field, rest) = self.rest.split_at(end);
        self.rest = rest;
        field.strip_suffix('\r').unwrap_or(field).to_owned()
    }

    fn quoted(&mut self) -> Result<String, (usize, String)> {
        let begun = self.line;
        let mut field = String::new();
        loop {
            let Some((inside, rest)) = self.rest.split_once('"') else {
                let expected = "a closing quote for the field that begins here";
                return Err((begun, expected.to_owned()));
            };
            field.push_str(inside);
            self.line += inside.matches('\n').count();
            self.rest = rest;
            match self.rest.strip_prefix('"') {
                Some(rest) => {
                    field.push('"');
                    self.rest = rest;
                }
                None => return Ok(field),
            }
        }
    }
}
