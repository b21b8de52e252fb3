//! Reads and writes the file format of insta: YAML front matter between two `---` lines, then the text.

use std::fmt;

/// A snapshot of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotFile {
    source: Option<String>,
    content: String,
}

impl SnapshotFile {
    /// Returns the snapshot of a text with its source, such as `scenarios/echo/hello.toml`.
    pub fn new(source: String, content: &str) -> Self {
        Self { source: Some(source), content: normalised(content) }
    }

    /// Parses a file; the error is the reason why it is not a snapshot of text.
    ///
    /// # Errors
    /// The reason why it is not a snapshot of text.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let mut lines = text.split_inclusive('\n');
        if lines.next().map(str::trim_end) != Some("---") {
            return Err("it does not begin with a line ---");
        }
        let mut source = None;
        for line in lines.by_ref() {
            match line.trim_end().split_once(':') {
                _ if line.trim_end() == "---" => {
                    let content = normalised(&lines.collect::<String>());
                    return Ok(Self { source, content });
                }
                Some(("snapshot_kind", kind)) if unquoted(kind) == "binary" => {
                    return Err("it is a binary snapshot");
                }
                Some(("source", value)) => source = Some(unquoted(value)),
                Some(_) | None => {}
            }
        }
        Err("the front matter has no end, a second line ---")
    }

    /// Returns the source of the text, if the file names one.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// Returns the text, with `\n` line breaks and without trailing whitespace.
    pub fn content(&self) -> &str {
        &self.content
    }
}

/// Writes the whole file.
impl fmt::Display for SnapshotFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "---")?;
        if let Some(source) = &self.source {
            writeln!(f, "source: {}", quoted(source))?;
        }
        writeln!(f, "expression: transcript\n---\n{}", self.content)
    }
}

fn normalised(text: &str) -> String {
    text.trim_end().replace("\r\n", "\n")
}

/// Returns a YAML scalar: plain where that is safe, otherwise quoted as in JSON, which YAML accepts.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(plain) {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}

fn unquoted(scalar: &str) -> String {
    let scalar = scalar.trim();
    serde_json::from_str(scalar).unwrap_or_else(|_| scalar.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_values_are_read_again() {
        for source in ["scenarios/echo/hello.toml", "scenarios/it's: a \"test\".toml"] {
            let file = SnapshotFile::new(source.to_owned(), "## a -> b\n\n---\nlast  \n\n");
            assert_eq!(file.content(), "## a -> b\n\n---\nlast");
            assert_eq!(SnapshotFile::parse(&file.to_string()).unwrap(), file);
        }
    }

    #[test]
    fn other_files_are_refused() {
        for text in
            ["", "text", "---\nsource: a\n", "---\nsnapshot_kind: binary\nextension: bin\n---\n"]
        {
            assert!(SnapshotFile::parse(text).is_err(), "{text:?}");
        }
        let windows = SnapshotFile::parse("---\r\nsource: a\r\n---\r\none\r\ntwo\r\n").unwrap();
        assert_eq!((windows.source(), windows.content()), (Some("a"), "one\ntwo"));
    }
}
