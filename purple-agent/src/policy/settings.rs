//! Reads settings; errors name the setting and the expected value.

use std::time::Duration;

use bridge_protocol::wire::FieldError;
use serde_json::{Map, Value};

/// The members of a settings object that have not been read yet.
pub(super) struct Settings {
    members: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Settings {
    /// Wraps the members of an object; null counts as an empty object.
    pub(super) fn of(value: &Value) -> Result<Self, FieldError> {
        let members = match value {
            Value::Null => Map::new(),
            Value::Object(members) => members.clone(),
            other => return Err(FieldError::unexpected("an object", other)),
        };
        Ok(Self { members, known: Vec::new() })
    }

    /// Removes and returns a member; null counts as absent.
    pub(super) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.members.remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn string(&mut self, name: &'static str) -> Result<Option<String>, FieldError> {
        self.read(name, "a string", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn required_string(&mut self, name: &'static str) -> Result<String, FieldError> {
        let missing = || FieldError::new("a string", "nothing").inside(name);
        self.string(name)?.ok_or_else(missing)
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, FieldError> {
        self.read(name, "true or false", Value::as_bool)
    }

    pub(super) fn object(
        &mut self,
        name: &'static str,
    ) -> Result<Option<Map<String, Value>>, FieldError> {
        self.read(name, "an object", |value| value.as_object().cloned())
    }

    pub(super) fn list(&mut self, name: &'static str) -> Result<Option<Vec<Value>>, FieldError> {
        self.read(name, "a list", |value| value.as_array().cloned())
    }

    /// Reads a whole number of at least 1.
    pub(super) fn count(&mut self, name: &'static str) -> Result<Option<u64>, FieldError> {
        let positive = |value: &Value| value.as_u64().filter(|count| *count > 0);
        self.read(name, "a whole number from 1", positive)
    }

    /// Reads a whole number from 0 to `most`.
    pub(super) fn up_to(
        &mut self,
        name: &'static str,
        most: u32,
    ) -> Result<Option<u32>, FieldError> {
        let count = |value: &Value| {
            let count = u32::try_from(value.as_u64()?).ok();
            count.filter(|count| *count <= most)
        };
        self.read(name, &format!("a whole number from 0 to {most}"), count)
    }

    /// Reads a time in seconds, which may have a fraction.
    pub(super) fn seconds(&mut self, name: &'static str) -> Result<Option<Duration>, FieldError> {
        const DAY: f64 = 86_400.0;
        let time = |value: &Value| {
            let seconds = value.as_f64().filter(|seconds| (0.0..=DAY).contains(seconds));
            seconds.map(Duration::from_secs_f64)
        };
        self.read(name, "seconds, from 0 to 86400", time)
    }

    /// Checks that all members were read. A remaining member is an unknown setting.
    pub(super) fn end(self) -> Result<(), FieldError> {
        let Some(name) = self.members.keys().next() else {
            return Ok(());
        };
        let expected = match self.known.is_empty() {
            true => "no settings".to_owned(),
            false => format!("one of the settings {}", self.known.join(", ")),
        };
        Err(FieldError::new(expected, "another name").inside(name))
    }

    fn read<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, FieldError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let unexpected = || FieldError::unexpected(expected, &value).inside(name);
        read(&value).map(Some).ok_or_else(unexpected)
    }
}

/// Reads the settings of a policy that has one, a flag.
pub(super) fn only_flag(
    settings: &Value,
    name: &'static str,
    default: bool,
) -> Result<bool, FieldError> {
    let mut settings = Settings::of(settings)?;
    let flag = settings.flag(name)?.unwrap_or(default);
    settings.end().map(|()| flag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: &Value) -> Result<(), FieldError> {
        let mut settings = Settings::of(value)?;
        settings.required_string("model")?;
        settings.count("steps")?;
        settings.seconds("time")?;
        settings.object("parameters")?;
        settings.end()
    }

    #[test]
    fn a_bad_setting_is_named() {
        for (value, error) in [
            (json!([]), "expected an object, found a list"),
            (json!({}), "model: expected a string, found nothing"),
            (json!({"model": 7}), "model: expected a string, found the number 7"),
            (
                json!({"model": "m", "steps": 0}),
                "steps: expected a whole number from 1, found the number 0",
            ),
            (
                json!({"model": "m", "time": -1}),
                "time: expected seconds, from 0 to 86400, found the number -1",
            ),
            (
                json!({"model": "m", "modle": "n"}),
                "modle: expected one of the settings model, steps, time, parameters, found another name",
            ),
        ] {
            assert_eq!(read(&value).unwrap_err().to_string(), error, "{value}");
        }
        read(&json!({"model": "m", "steps": null, "time": 0.5})).unwrap();
    }
}
