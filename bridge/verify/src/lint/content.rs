//! Checks the description of an agent: name, modes, skills (specification 4.4.1 to 4.4.5; 0.3, 5.5).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Level, Linter};
use bridge_protocol::wire::FieldError;

impl Linter<'_> {
    pub(super) fn content(&mut self) {
        for (name, example) in [
            ("name", "\"Hello support\""),
            ("description", "\"Answers questions about opening hours\""),
            ("version", "\"1.0.0\""),
        ] {
            self.text(self.card, "", name, example);
        }
        self.capabilities();
        self.modes("defaultInputModes");
        self.modes("defaultOutputModes");
        self.provider();
        self.skills();
    }

    /// Checks that a required text is present.
    fn text(&mut self, object: &Map<String, Value>, path: &str, name: &str, example: &str) {
        let message = match object.get(name) {
            Some(Value::String(text)) if !text.trim().is_empty() => return,
            Some(Value::String(_)) => "is empty".to_string(),
            other => absent("a text", other),
        };
        let path = super::below(path, name);
        let level = match self.is_strict() {
            true => Level::Error,
            false => Level::Warning,
        };
        let fix = format!("add it, such as \"{name}\": {example}");
        self.add(level, "required-field", path, message, fix);
    }

    fn capabilities(&mut self) {
        let capabilities = self.card.get("capabilities");
        if capabilities.is_some_and(Value::is_object) || !self.is_strict() {
            return;
        }
        self.add(
            Level::Error,
            "required-field",
            "capabilities",
            absent("an object", capabilities),
            "add it, such as \"capabilities\": {\"streaming\": true}, or {} if there are none",
        );
    }

    fn modes(&mut self, name: &'static str) {
        let modes = self.card.get(name).and_then(Value::as_array);
        let modes: Vec<&str> = modes.into_iter().flatten().filter_map(Value::as_str).collect();
        if modes.is_empty() && self.is_strict() {
            let fix = format!("add it, such as \"{name}\": [\"text/plain\"]");
            let message = match self.card.get(name) {
                Some(Value::Array(_) | Value::Null) | None => "names no media type".to_string(),
                other => absent("a list", other),
            };
            self.add(Level::Error, "required-field", name, message, fix);
        }
        for (index, mode) in modes.iter().enumerate().filter(|(_, mode)| !mode.contains('/')) {
            let guess = match *mode {
                "text" => "text/plain",
                "data" | "json" => "application/json",
                _ => "TYPE/SUBTYPE",
            };
            self.add(
                Level::Warning,
                "media-type",
                format!("{name}[{index}]"),
                format!("{mode:?} is no media type: clients that look for one do not find it"),
                format!("write {guess:?}"),
            );
        }
    }

    fn provider(&mut self) {
        let Some(provider) = self.card.get("provider").and_then(Value::as_object) else {
            return;
        };
        self.text(provider, "provider", "organization", "\"Example\"");
        self.text(provider, "provider", "url", "\"https://example.com\"");
    }

    fn skills(&mut self) {
        let skills = self.card.get("skills").and_then(Value::as_array);
        let Some(skills) = skills.filter(|skills| !skills.is_empty()) else {
            let fix = "add at least one skill with id, name, description and tags";
            let message = match self.card.get("skills") {
                Some(Value::Array(_) | Value::Null) | None => "lists no skill".to_string(),
                other => absent("a list", other),
            };
            return self.add(Level::Warning, "skills", "skills", message, fix);
        };
        let mut known = BTreeSet::new();
        for (index, skill) in skills.iter().enumerate() {
            let path = format!("skills[{index}]");
            let Some(skill) = skill.as_object() else {
                continue;
            };
            for (name, example) in [
                ("id", "\"hours.answer\""),
                ("name", "\"Opening hours\""),
                ("description", "\"Says when we are open\""),
            ] {
                self.text(skill, &path, name, example);
            }
            let id = skill.get("id").and_then(Value::as_str).unwrap_or_default();
            if !id.is_empty() && !known.insert(id) {
                let message = format!("another skill has the id {id:?}");
                let fix = "give each skill an id of its own";
                self.add(Level::Error, "unique-ids", format!("{path}.id"), message, fix);
            }
            self.tags(skill, &path);
        }
    }

    fn tags(&mut self, skill: &Map<String, Value>, path: &str) {
        let tags = skill.get("tags");
        if !tags.is_some_and(Value::is_array) && self.is_strict() {
            let fix = "add it, such as \"tags\": [\"hours\"]";
            let path = format!("{path}.tags");
            self.add(Level::Error, "required-field", path, absent("a list", tags), fix);
        }
    }
}

/// Says what is wrong with a field that is missing or is no such value.
pub(super) fn absent(expected: &'static str, value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "is missing".to_string(),
        Some(other) => FieldError::unexpected(expected, other).to_string(),
    }
}
