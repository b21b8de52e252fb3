//! Finds mistakes in an agent card of any generation and suggests corrections.
//!
//! The readers of `bridge-protocol` are lenient, because existing cards leave out much; this module is for authors
//! of cards. An error breaks a rule of the specification or keeps clients away, a warning is probably
//! unintended, a note is useful to know.

mod address;
mod content;
mod security;
mod signature;
mod text;

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

pub use text::duplicates;

use bridge_protocol::{
    dialect::card::{self, Generation},
    wire::FieldError,
};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The card breaks a rule, or keeps clients away.
    Error,
    /// This was probably not intended.
    Warning,
    /// This is useful to know.
    Note,
}

/// One mistake in a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The severity.
    pub level: Level,
    /// The rule's name, such as `required-field`.
    pub rule: &'static str,
    /// The field, such as `skills[0].id`; empty for the whole card.
    pub path: String,
    /// The mistake.
    pub message: String,
    /// The suggested correction.
    pub fix: String,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

/// The card being checked, and the findings so far.
struct Linter<'a> {
    card: &'a Map<String, Value>,
    generation: Generation,
    found: Vec<Finding>,
}

/// Returns the generation of a card, if it can be determined, and the findings with the most severe first.
pub fn lint(document: &Value) -> (Option<Generation>, Vec<Finding>) {
    let Value::Object(fields) = document else {
        return (None, [unreadable(&FieldError::unexpected("an object", document))].into());
    };
    let read = card::read(document.clone());
    let generation = read.as_ref().map_or_else(|_| guess(fields), |(_, found)| *found);
    let mut linter = Linter { card: fields, generation, found: Vec::new() };
    if let Err(error) = &read {
        linter.found.push(unreadable(error));
    }
    linter.spellings();
    linter.content();
    linter.addresses();
    linter.security();
    linter.signatures();
    linter.texts(document, "");
    let mut found = linter.found;
    found.sort_by_key(|finding| finding.level);
    (Some(generation), found)
}

fn guess(fields: &Map<String, Value>) -> Generation {
    match fields.contains_key("supportedInterfaces") {
        true => Generation::V1_0,
        false => Generation::V0_3,
    }
}

fn unreadable(error: &FieldError) -> Finding {
    let (path, fix) = match error.expected == card::ADDRESS {
        true => (
            "url",
            "no client can call the agent: write its address, such as \"url\": \"https://agents.example/a2a\", \
             or the supportedInterfaces of 1.0",
        ),
        false => (
            error.path.as_str(),
            "strict clients refuse this card, and others ignore the entry: write the expected value",
        ),
    };
    Finding {
        level: Level::Error,
        rule: "readable",
        path: path.to_string(),
        message: format!("expected {}, found {}", error.expected, error.found),
        fix: fix.to_string(),
    }
}

impl Linter<'_> {
    fn add(
        &mut self,
        level: Level,
        rule: &'static str,
        path: impl Into<String>,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) {
        let (path, message, fix) = (path.into(), message.into(), fix.into());
        // A field that cannot be read is not reported again. It was found first.
        if self.found.first().is_some_and(|one| one.rule == "readable" && one.path == path) {
            return;
        }
        self.found.push(Finding { level, rule, path, message, fix });
    }

    /// Returns whether the rules of 0.3 or 1.0 apply; earlier versions required hardly anything.
    fn is_strict(&self) -> bool {
        match self.generation {
            Generation::V1_0 | Generation::V0_3 => true,
            Generation::Execute | Generation::V0_1 | Generation::V0_2 => false,
        }
    }

    fn is_1_0(&self) -> bool {
        self.generation == Generation::V1_0
    }

    /// Reports names in snake case, as Python writes them, which readers of the specification ignore.
    fn spellings(&mut self) {
        const NAMES: &str = "\
            protocolVersion preferredTransport additionalInterfaces supportedInterfaces \
            documentationUrl iconUrl defaultInputModes defaultOutputModes securitySchemes \
            securityRequirements supportsAuthenticatedExtendedCard inputModes outputModes \
            pushNotifications extendedAgentCard protocolBinding";
        let names: Vec<&String> = self.card.keys().filter(|key| key.contains('_')).collect();
        for name in names {
            let spelled = camel(name);
            if NAMES.split(' ').any(|one| one == spelled) {
                let fix = format!("write it as {spelled}");
                let message = format!("{name} is no field of an agent card: clients do not see it");
                self.add(Level::Error, "field-names", name.as_str(), message, fix);
            }
        }
    }

    /// Checks all texts of a document, and the names of members.
    fn texts(&mut self, value: &Value, path: &str) {
        match value {
            Value::String(text) => {
                self.placeholder(text, path);
                self.characters(text, path);
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.texts(item, &format!("{path}[{index}]"));
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    let at = below(path, name);
                    self.name_characters(name, &at);
                    self.texts(member, &at);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Returns the path of a member of the object at this path.
fn below(path: &str, name: &str) -> String {
    match path {
        "" => name.to_string(),
        path => format!("{path}.{name}"),
    }
}

/// Returns a name in the camel case of the specification.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_string();
    words.fold(first, |mut joined, word| {
        let mut letters = word.chars();
        joined.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        joined.extend(letters);
        joined
    })
}
