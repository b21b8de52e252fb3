//! Replaces the placeholder `{ROLE}` in a participant's `cmd`, `env` and `settings`, and in the turns of a conversation
//! with it, with the URL at which it reaches the participant in that role. In the `[config]` of a green agent, replaces
//! `{trial.seed}` and `{trial.number}`.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

/// The placeholder in a `cmd`, and in the `env` beside it, for a free port, on which the agent must listen.
pub const PORT: &str = "{port}";

/// The programs that replace variables in their arguments.
const SHELLS: [&str; 8] = ["ash", "bash", "cmd", "dash", "fish", "ksh", "sh", "zsh"];

static VARIABLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\$(?:\{[A-Za-z_][A-Za-z0-9_]*(?:[:-][^}]*)?\}|[A-Z_][A-Z0-9_]*)").ok()
});

/// Returns the first `${NAME}` or `$NAME` in a command, if no shell is in it that could replace it. Of the names without braces, only
/// those in capital letters are meant.
pub fn unreplaced_variable(cmd: &[String]) -> Option<&str> {
    let is_shell = |word: &String| {
        let name = word.rsplit('/').next().unwrap_or_default();
        SHELLS.contains(&name.trim_end_matches(".exe"))
    };
    if cmd.iter().any(is_shell) {
        return None;
    }
    cmd.iter().find_map(|word| variable(word))
}

/// Returns the first `${NAME}` or `$NAME` in these settings. Texts of several words, such as prompts, may have one on purpose, and
/// so may lists and tables: the steps of the policy `scripted` have placeholders of their own.
pub fn unreplaced_setting(settings: &Map<String, Value>) -> Option<&str> {
    settings.values().find_map(|value| match value {
        Value::String(text) if !text.contains(char::is_whitespace) => variable(text),
        _ => None,
    })
}

fn variable(text: &str) -> Option<&str> {
    Some(VARIABLE.as_ref()?.find(text)?.as_str())
}

/// Returns whether a text contains the placeholder of this role. `${ROLE}` is an environment variable and not
/// a placeholder.
pub fn names(text: &str, role: &str) -> bool {
    place(text, &written(role)).is_some()
}

/// Returns whether a text anywhere in these settings contains the placeholder of this role.
pub fn stands_in(settings: &Map<String, Value>, role: &str) -> bool {
    settings.values().any(|value| value_names(value, role))
}

/// Returns the text with every placeholder of the role replaced by this address, without a slash at its end if it is an origin
/// or another slash follows. The slash at the end of a path stays: some servers redirect requests without it, which not
/// all clients follow.
pub fn fill(text: &str, role: &str, address: &str) -> String {
    let (placeholder, bare) = (written(role), address.trim_end_matches('/'));
    let is_origin = bare.split_once("://").is_none_or(|(_, rest)| !rest.contains('/'));
    let (mut filled, mut rest) = (String::new(), text);
    while let Some(at) = place(rest, &placeholder) {
        filled.push_str(&rest[..at]);
        rest = &rest[at + placeholder.len()..];
        filled.push_str(if is_origin || rest.starts_with('/') { bare } else { address });
    }
    filled + rest
}

/// Returns a green agent's config with the seed and the number of a trial in place of `{trial.seed}` and `{trial.number}`. A
/// text that consists of one of them becomes a number.
#[must_use]
pub fn of_trial(config: &Map<String, Value>, seed: u64, number: u32) -> Map<String, Value> {
    let values = [("{trial.seed}", seed), ("{trial.number}", u64::from(number))];
    let fill = |text: &str| match values.iter().find(|(name, _)| text == *name) {
        Some((_, number)) => Value::from(*number),
        None => {
            let replace =
                |text: String, (name, number): (&str, u64)| text.replace(name, &number.to_string());
            Value::from(values.into_iter().fold(text.to_owned(), replace))
        }
    };
    let mut filled = config.clone();
    filled.values_mut().for_each(|value| change_texts(value, &fill));
    filled
}

/// Changes every text of a value.
pub(super) fn change_texts(value: &mut Value, change: &impl Fn(&str) -> Value) {
    match value {
        Value::String(text) => *value = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| change_texts(item, change)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| change_texts(member, change));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Replaces the placeholders in every text of these settings.
pub fn fill_settings(settings: &mut Map<String, Value>, role: &str, address: &str) {
    for value in settings.values_mut() {
        fill_value(value, role, address);
    }
}

/// Returns the settings with every possible placeholder replaced by some address, so that they can be
/// validated before addresses are known.
pub fn with_any_address(settings: &Map<String, Value>) -> Map<String, Value> {
    let mut filled = settings.clone();
    for role in roles_in(settings) {
        fill_settings(&mut filled, &role, ANY);
    }
    filled
}

/// The address used in place of unknown ones.
const ANY: &str = "http://127.0.0.1:9";

/// Returns the texts in braces anywhere in these settings.
fn roles_in(settings: &Map<String, Value>) -> Vec<String> {
    let text = Value::Object(settings.clone()).to_string();
    let after = text.split('{').skip(1);
    let inside = after.filter_map(|rest| Some(rest.split_once('}')?.0.to_owned()));
    inside.filter(|role| !role.contains('"')).collect()
}

fn written(role: &str) -> String {
    format!("{{{role}}}")
}

fn place(text: &str, placeholder: &str) -> Option<usize> {
    let mut found = text.match_indices(placeholder).map(|(at, _)| at);
    found.find(|at| !text[..*at].ends_with('$'))
}

/// Returns whether a text anywhere in this value contains the placeholder of this role.
pub fn value_names(value: &Value, role: &str) -> bool {
    match value {
        Value::String(text) => names(text, role),
        Value::Array(items) => items.iter().any(|item| value_names(item, role)),
        Value::Object(members) => stands_in(members, role),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Replaces the placeholders in every text of this value.
pub fn fill_value(value: &mut Value, role: &str, address: &str) {
    change_texts(value, &|text: &str| Value::from(fill(text, role, address)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_role_in_braces_becomes_its_address() {
        for (text, expected) in [
            ("--bot club={bot}", "--bot club=http://h:1/m/"),
            ("{bot}/v1 {bot}", "http://h:1/m/v1 http://h:1/m/"),
            ("{other} bot {\"bot\": 1}", "{other} bot {\"bot\": 1}"),
            ("${bot} {bot}", "${bot} http://h:1/m/"),
        ] {
            assert_eq!(fill(text, "bot", "http://h:1/m/"), expected);
            assert_eq!(names(text, "bot"), text != expected, "{text}");
        }
    }

    #[test]
    fn variables_that_nothing_replaces_are_found_in_commands() {
        for (cmd, found) in [
            ("agent --model ${MODEL}", Some("${MODEL}")),
            ("agent --model=$MODEL-x", Some("$MODEL")),
            ("agent --model '${MODEL:-small}'", Some("${MODEL:-small}")),
            (
                "agent {bot} '$.a' '^a$' '${1/text}' '$$' '${a b}' '$(X)' '$5' '${MODEL' {port}",
                None,
            ),
            ("/bin/sh -c 'agent --model $MODEL'", None),
            ("env A=b bash -c 'agent ${MODEL}'", None),
        ] {
            let words: Vec<String> = shlex::split(cmd).unwrap();
            assert_eq!(unreplaced_variable(&words), found, "{cmd}");
        }
    }

    #[test]
    fn variables_that_nothing_replaces_are_found_in_settings() {
        for (settings, found) in [
            (json!({"a": 1, "model": "${MODEL}"}), Some("${MODEL}")),
            (json!({"model": "x/$MODEL"}), Some("$MODEL")),
            (
                json!({"prompt": "Use ${HOME} as the home.", "model": "m", "url": "{model}/v1"}),
                None,
            ),
        ] {
            assert_eq!(unreplaced_setting(settings.as_object().unwrap()), found, "{settings}");
        }
    }

    #[test]
    fn settings_are_filled_wherever_they_have_texts() {
        let settings =
            json!({"base_url": "{model}/v1", "list": ["{model}", 1], "n": {"m": "{model}"}});
        let Value::Object(mut settings) = settings else { unreachable!() };
        assert!(stands_in(&settings, "model") && !stands_in(&settings, "bot"));
        fill_settings(&mut settings, "model", "http://h:1/");
        let filled = json!({"base_url": "http://h:1/v1", "list": ["http://h:1", 1], "n": {"m": "http://h:1"}});
        assert_eq!(Value::Object(settings), filled);
    }

    #[test]
    fn a_config_gets_seed_and_number_of_its_trial() {
        let config = json!({"seed": "{trial.seed}", "user": [{"id": "u-{trial.number}"}], "n": 1});
        let Value::Object(config) = config else { unreachable!() };
        let filled = json!({"seed": 41, "user": [{"id": "u-2"}], "n": 1});
        assert_eq!(Value::Object(of_trial(&config, 41, 2)), filled);
    }

    #[test]
    fn settings_can_be_looked_at_before_addresses_are_known() {
        let settings = json!({"base_url": "{model}/v1", "steps": [{"a": "${1/x}", "b": {}}]});
        let Value::Object(settings) = settings else { unreachable!() };
        let looked_at = Value::Object(with_any_address(&settings));
        let expected =
            json!({"base_url": "http://127.0.0.1:9/v1", "steps": [{"a": "${1/x}", "b": {}}]});
        assert_eq!(looked_at, expected);
    }
}
