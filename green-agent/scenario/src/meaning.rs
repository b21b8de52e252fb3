//! The meaning of a scenario file for its digest: the file as JSON without addresses and paths, and without the keys
//! for the number, the place and the order of its trials. The same scenario in other folders and on other ports has the
//! same digest.

use std::path::Path;

use bridge_client::is_loopback;
use serde_json::{Map, Value, json};
use url::Url;

use super::{parse, placeholder::change_texts};

/// The keys of `[harness]` that do not affect a single trial.
const IGNORED_KEYS: &str = "trials seed dataset matrix retries reuse ports gate stop_when version";

/// The keys of agents whose value is an address.
const ADDRESSES: [&str; 3] = ["endpoint", "server", "bot"];

/// Returns the meaning of a file. A file that cannot be read means its text.
pub(super) fn of(path: &Path, text: &str) -> Value {
    let read = match parse::is_manifest(path) {
        true => parse::json5(text).ok(),
        false => {
            text.parse::<toml::Table>().ok().and_then(|table| serde_json::to_value(table).ok())
        }
    };
    let Some(Value::Object(mut file)) = read else {
        return Value::from(text);
    };
    if let Some(Value::Object(harness)) = file.get_mut("harness") {
        for key in IGNORED_KEYS.split(' ') {
            harness.remove(key);
        }
    }
    for key in parse::AGENTS {
        match file.get_mut(key) {
            Some(Value::Object(agent)) => of_agent(agent),
            Some(Value::Array(agents)) => {
                agents.iter_mut().filter_map(Value::as_object_mut).for_each(of_agent);
            }
            Some(_) | None => {}
        }
    }
    let mut file = Value::Object(file);
    without_addresses(&mut file);
    file
}

fn of_agent(agent: &mut Map<String, Value>) {
    let ports: Vec<String> = ADDRESSES
        .iter()
        .filter_map(|key| Url::parse(agent.get(*key)?.as_str()?).ok()?.port())
        .map(|port| port.to_string())
        .collect();
    for key in ADDRESSES {
        if let Some(address) = agent.get_mut(key) {
            // The existence of an address determines the kind of the agent.
            *address = json!(true);
        }
    }
    if let Some(Value::String(cmd)) = agent.get_mut("cmd") {
        *cmd = words(cmd, &ports);
    }
    if let Some(Value::Object(env)) = agent.get_mut("env") {
        for value in env.values_mut() {
            if let Value::String(text) = value {
                *text = words(text, &ports);
            }
        }
    }
}

/// Returns a command or a variable with the last segment of each path in it, and without these ports.
pub(super) fn words(text: &str, ports: &[String]) -> String {
    let words = text.split_whitespace().map(|word| {
        let name = word.trim_end_matches('/').rsplit('/').next();
        let name = name.unwrap_or(word);
        match ports.iter().any(|port| name == port || name.ends_with(&format!(":{port}"))) {
            true => "{port}",
            false => name,
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Replaces each text that is the address of this machine.
pub(super) fn without_addresses(value: &mut Value) {
    change_texts(value, &|text: &str| match Url::parse(text).ok().filter(is_loopback) {
        Some(url) => Value::from(format!("{{here}}{}", url.path())),
        None => Value::from(text),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "[green_agent]\nendpoint = 'http://127.0.0.1:9009'\n\
         cmd = 'python /a/green.py --port 9009'\nenv = { MODEL_URL = 'http://127.0.0.1:8/v1' }\n\
         [config]\ntopic = 'cats'\nmodel = 'http://localhost:8000/v1'\n\
         [harness]\nversion = 1\ntrials = 3\npass_score = 0.5\n";

    fn meaning(text: &str) -> Value {
        of(Path::new("a.toml"), text)
    }

    #[test]
    fn addresses_paths_and_counts_mean_nothing() {
        for (from, to) in [
            ("9009", "7777"),
            ("/a/green.py", "b/c/green.py"),
            ("localhost:8000", "127.0.0.1:1234"),
            ("trials = 3", "trials = 9\nseed = 4\nports = 'auto'"),
        ] {
            let other = FILE.replace(from, to);
            assert_ne!(other, FILE);
            assert_eq!(meaning(&other), meaning(FILE), "{from} -> {to}");
        }
    }

    #[test]
    fn programs_settings_and_judgement_mean_something() {
        for (from, to) in [
            ("green.py", "other.py"),
            ("cats", "dogs"),
            ("pass_score = 0.5", "pass_score = 0.6"),
            ("/v1'\n[harness]", "/v2'\n[harness]"),
        ] {
            let other = FILE.replace(from, to);
            assert_ne!(other, FILE);
            assert_ne!(meaning(&other), meaning(FILE), "{from} -> {to}");
        }
    }
}
