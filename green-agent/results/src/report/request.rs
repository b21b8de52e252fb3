//! Parses `--report KIND=FILE`.

use std::{fmt, fs, io, path::PathBuf, str::FromStr};

use bridge_program::outln;
use clap::ValueEnum;
use green_agent_scenario::episode::{name_of, names};
use green_agent_transcript::{check_replaceable, replace_file};

use super::{agentbeats, atif, csv, html, junit, markdown, source::ReportSource, text};
use crate::run::RunReport;

/// The kinds of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportKind {
    /// The figures as text.
    Terminal,
    /// The whole report as one JSON document.
    Json,
    /// JUnit's XML: a test suite for each scenario, a test case for each trial.
    Junit,
    /// A table with a row for each attempt of each trial.
    Csv,
    /// A comment for a pull request.
    Markdown,
    /// The results as AgentBeats' leaderboards read them.
    Agentbeats,
    /// A folder of trajectories in Harbor's Agent Trajectory Interchange Format.
    Atif,
    /// One HTML file with every message.
    Html,
}

impl ReportKind {
    /// Returns whether it is one text, which can be printed.
    fn is_text(self) -> bool {
        !matches!(self, Self::Atif | Self::Html)
    }
}

/// A report to write: `KIND=FILE`, or `KIND` or `KIND=-` for standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRequest {
    /// The kind.
    pub kind: ReportKind,
    /// The file, for `atif` a folder; `None` for standard output.
    pub path: Option<PathBuf>,
}

/// A text that is not `KIND=FILE`.
#[derive(Debug, thiserror::Error)]
#[error("{0}; expected KIND=FILE, where KIND is one of: {list}", list = kinds())]
pub struct NotAReport(String);

/// Two reports that would be written to the same file, of which only the last would be left.
#[derive(Debug, thiserror::Error)]
#[error("--report {one} and --report {other} name the same file")]
pub struct SameFile {
    one: ReportRequest,
    other: ReportRequest,
}

/// A report that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the report {what}: {error}")]
pub struct ReportError {
    /// The kind and the file.
    what: String,
    /// The system's error.
    error: io::Error,
}

impl fmt::Display for ReportRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}={}", name_of(&self.kind), path.display()),
            None => f.write_str(&name_of(&self.kind)),
        }
    }
}

impl FromStr for ReportRequest {
    type Err = NotAReport;

    fn from_str(text: &str) -> Result<Self, NotAReport> {
        let (name, path) = text.split_once('=').unwrap_or((text, "-"));
        let kind = ReportKind::from_str(name, false);
        let kind = kind.map_err(|_| NotAReport(format!("there is no report {name:?}")))?;
        let path = match path {
            "" => return Err(NotAReport(format!("{text:?} names no file"))),
            "-" if kind.is_text() => None,
            "-" => return Err(NotAReport(format!("{name} cannot be printed"))),
            path => Some(path.into()),
        };
        Ok(Self { kind, path })
    }
}

fn kinds() -> String {
    names::<ReportKind>().join(", ")
}

impl ReportRequest {
    /// Describes the flag.
    pub const HELP: &str = "Write a report: terminal, json, junit, csv, markdown, agentbeats, atif (a folder) or html; may be given several times";

    /// Checks that each report has a file of its own.
    ///
    /// # Errors
    /// If two of them have the same.
    pub fn check_files(requests: &[Self]) -> Result<(), SameFile> {
        for (at, other) in requests.iter().enumerate().filter(|(_, one)| one.path.is_some()) {
            if let Some(one) = requests[..at].iter().find(|one| one.path == other.path) {
                return Err(SameFile { one: one.clone(), other: other.clone() });
            }
        }
        Ok(())
    }

    /// Checks that the report could be written now, before the work is done that it is about. It creates the report's folder.
    ///
    /// # Errors
    /// If the file or its folder cannot be written.
    pub fn check_writable(&self) -> Result<(), ReportError> {
        let checked = match (&self.path, self.kind) {
            (None, _) => Ok(()),
            (Some(folder), ReportKind::Atif) => check_replaceable(&folder.join("trajectory")),
            (Some(path), _) => check_replaceable(path),
        };
        checked.map_err(|error| self.failed(error))
    }

    /// Writes the report of a run, and of another run that it is compared with if the kind can show two.
    ///
    /// # Errors
    /// If the file or its folder cannot be written.
    pub fn write(
        &self,
        run: &ReportSource,
        other: Option<&ReportSource>,
    ) -> Result<(), ReportError> {
        self.try_write(run, other).map_err(|error| self.failed(error))
    }

    /// Writes the report of a run that has just ended, from which `json` is made.
    ///
    /// # Errors
    /// If the file or its folder cannot be written.
    pub fn write_json(&self, report: &RunReport) -> Result<(), ReportError> {
        let written = text::json(report).and_then(|text| self.put(&text));
        written.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> ReportError {
        ReportError { what: self.to_string(), error }
    }

    fn try_write(&self, run: &ReportSource, other: Option<&ReportSource>) -> io::Result<()> {
        if let Some(folder) = self.path.as_ref().and_then(|path| path.parent()) {
            fs::create_dir_all(folder)?;
        }
        let text = match (self.kind, &self.path) {
            (ReportKind::Html, Some(path)) => return html::write(run, other, path),
            (ReportKind::Atif, Some(path)) => return atif::write(run, path),
            (ReportKind::Html | ReportKind::Atif, None) => return Ok(()),
            (ReportKind::Terminal, _) => text::of(run),
            (ReportKind::Json, _) => text::json(&run.report())?,
            (ReportKind::Junit, _) => junit::of(run)?,
            (ReportKind::Csv, _) => csv::of(run)?,
            (ReportKind::Markdown, _) => markdown::of(run),
            (ReportKind::Agentbeats, _) => agentbeats::of(run)?,
        };
        self.put(&text)
    }

    /// Prints the report, or replaces the file.
    fn put(&self, text: &str) -> io::Result<()> {
        let Some(path) = &self.path else {
            outln!("{}", text.trim_end_matches('\n'));
            return Ok(());
        };
        replace_file(path, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_a_kind_and_a_file() {
        for &kind in ReportKind::value_variants() {
            let text = format!("{}=a/b", name_of(&kind));
            let request: ReportRequest = text.parse().unwrap();
            assert_eq!(request, ReportRequest { kind, path: Some("a/b".into()) });
            assert_eq!(request.to_string(), text);
        }
        let printed: ReportRequest = "markdown=-".parse().unwrap();
        assert_eq!(printed.path, None);
        for (wrong, why) in [
            (
                "xml=a",
                "there is no report \"xml\"; expected KIND=FILE, where KIND is one of: terminal, json",
            ),
            ("json=", "\"json=\" names no file"),
            ("html", "html cannot be printed"),
        ] {
            let error = wrong.parse::<ReportRequest>().unwrap_err().to_string();
            assert!(error.starts_with(why), "{error}");
        }
    }
}
