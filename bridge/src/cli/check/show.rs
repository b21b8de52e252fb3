//! Prints the findings, as text or JSON.

use std::fmt;

use bridge_program::terminal::line;
use bridge_protocol::dialect::card::Generation;
use bridge_verify::lint::{Finding, Level};
use serde_json::{Value, json};

use super::Result;

/// The findings for one subject.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// The generation, if it is a card.
    pub(super) generation: Option<Generation>,
    /// The id of the key that has signed the card, if a signature is required.
    pub(super) signed: Option<String>,
    pub(super) findings: Vec<Finding>,
    /// Whether it is a configuration and not a card.
    pub(super) is_configuration: bool,
    /// Whether one of the mistakes is that a file which the configuration names cannot be read.
    pub(super) is_unreadable: bool,
}

/// A subject with its result.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) subject: String,
    pub(super) found: Result<Report>,
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = match &self.found {
            Ok(report) => report,
            Err(error) => {
                return writeln!(f, "{}: cannot be checked: {error}", line(&self.subject));
            }
        };
        writeln!(f, "{}: {}", line(&self.subject), line(&report.summary()))?;
        for finding in &report.findings {
            let Finding { level, rule, path, .. } = finding;
            writeln!(f, "  {level} {} [{rule}]", line(path))?;
            writeln!(f, "    {}", line(&finding.message))?;
            writeln!(f, "    fix: {}", line(&finding.fix))?;
        }
        Ok(())
    }
}

impl Report {
    fn summary(&self) -> String {
        let kind = match (self.is_configuration, self.generation) {
            (true, _) => "configuration".to_owned(),
            (false, None) => "no card".to_owned(),
            (false, Some(Generation::Execute)) => "card with skills as methods".to_owned(),
            (false, Some(known)) => format!("card of A2A {}", version(known)),
        };
        let signed = self.signed.as_ref();
        let signed = signed.map_or_else(String::new, |key| format!(", signed by the key {key}"));
        let count = |level: Level| self.findings.iter().filter(|one| one.level == level).count();
        let (errors, warnings) = (count(Level::Error), count(Level::Warning));
        match errors + warnings {
            0 => format!("{kind}{signed}, no mistakes"),
            _ => format!("{kind}{signed}, errors: {errors}, warnings: {warnings}"),
        }
    }
}

fn version(generation: Generation) -> &'static str {
    match generation {
        // The output has the form of a card of 0.1: one address, and skills.
        Generation::Execute => "execute",
        Generation::V0_1 => "0.1",
        Generation::V0_2 => "0.2",
        Generation::V0_3 => "0.3",
        Generation::V1_0 => "1.0",
    }
}

/// Returns all results as JSON: `{"checked": [{"subject", "generation", "signedBy", "findings"} or {"subject",
/// "error"}]}`.
pub(super) fn json(all: &[Checked]) -> Value {
    let one = |checked: &Checked| match &checked.found {
        Ok(report) => json!({
            "subject": checked.subject,
            "generation": report.generation.map(version),
            "signedBy": report.signed,
            "findings": report.findings,
        }),
        Err(error) => json!({"subject": checked.subject, "error": error.to_string()}),
    };
    json!({"checked": all.iter().map(one).collect::<Vec<_>>()})
}
