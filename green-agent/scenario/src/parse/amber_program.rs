//! Reads what the manifest of an Amber component says about its program: the image, the entrypoint and the variables.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Map, Value, json};

use super::{amber_config, json5};
use crate::{fill::as_text, placeholder::PORT};

/// The largest manifest of a component that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// The program of a component.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ComponentProgram {
    pub(super) image: Option<String>,
    /// The words of the command in the image, with [`PORT`] in place of the port if they name it; empty if there is none.
    pub(super) entrypoint: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    /// The variables whose values only the caller knows, such as keys.
    pub(super) passed: Vec<String>,
}

impl ComponentProgram {
    /// Reads the manifest of a component if it is included in the scenario's `manifest` or lies beside it, at `path`.
    pub(super) fn of(path: &Path, manifest: &Value, component: &str) -> Self {
        let given = &manifest["components"][component];
        let Some(own) = manifest_of(path, given) else {
            return Self::default();
        };
        let schema = schema_with(&own["config_schema"], given, &manifest["config_schema"]);
        let program = &own["program"];
        // Amber fills in the other placeholders itself.
        let image = program["image"].as_str().filter(|image| !image.contains("${"));
        let mut read = Self {
            image: image.map(str::to_owned),
            entrypoint: entrypoint(&own, &schema).unwrap_or_default(),
            ..Self::default()
        };
        for (name, value) in program["env"].as_object().into_iter().flatten() {
            read.add(name, value, &schema);
        }
        read
    }

    /// Adds a variable, unless its value is the address of another component. One without a value gets the caller's.
    fn add(&mut self, name: &str, value: &Value, schema: &Value) {
        let value = match value["when"].as_str() {
            Some(condition) if condition.starts_with("config.") => &value["value"],
            Some(_) => return,
            None => value,
        };
        match text(value, schema) {
            Some(text) if text.contains("${") => {}
            Some(text) if !text.is_empty() => {
                self.env.insert(name.to_owned(), text.replace('$', "$$"));
            }
            Some(_) | None => self.passed.push(name.to_owned()),
        }
    }
}

/// Returns a component's own manifest, which may be on the web instead.
fn manifest_of(path: &Path, given: &Value) -> Option<Value> {
    let named = if given.is_string() { given } else { &given["manifest"] };
    if named.is_object() {
        return Some(named.clone());
    }
    let file = path.parent()?.join(named.as_str()?);
    let size = fs::metadata(&file).ok()?.len();
    let text = (size <= LARGEST).then(|| fs::read_to_string(&file))?.ok()?;
    json5(&text).ok()
}

/// Returns a component's `config_schema` with the values of its `config` as defaults. Those that nothing here knows are left out.
fn schema_with(own: &Value, given: &Value, scenario: &Value) -> Value {
    let mut schema = own.clone();
    for (name, value) in given["config"].as_object().into_iter().flatten() {
        let one = Map::from_iter([(name.clone(), value.clone())]);
        let filled = amber_config::filled(&one, scenario).unwrap_or_default();
        if let Some(value) = filled.get(name) {
            schema["properties"][name] = json!({"default": value});
        }
    }
    schema
}

/// Returns a text with the values of `${config.NAME}`; `None` if one is not known.
fn text(value: &Value, schema: &Value) -> Option<String> {
    const NAME: &str = "text";
    let one = Map::from_iter([(NAME.to_owned(), value.clone())]);
    amber_config::filled(&one, schema).ok()?.get(NAME).map(as_text)
}

/// Returns the words of the entrypoint, for the network of this machine and for a port of the caller's choice. `None` if it has
/// placeholders that only Amber can fill in.
fn entrypoint(own: &Value, schema: &Value) -> Option<Vec<String>> {
    let words = match &own["program"]["entrypoint"] {
        Value::String(line) => shlex::split(&text(&json!(line), schema)?)?,
        Value::Array(words) => {
            let words = words.iter().filter(|word| word.is_string());
            words.map(|word| text(word, schema)).collect::<Option<Vec<_>>>()?
        }
        _absent => return None,
    };
    let port = port(own);
    let word = |word: String| match word.as_str() {
        "0.0.0.0" => "127.0.0.1".to_owned(),
        _ => at_any_port(&word, port.as_deref()).unwrap_or(word),
    };
    let is_known = words.iter().all(|word| !word.contains("${"));
    is_known.then(|| words.into_iter().map(word).collect())
}

/// Returns the port at which the component speaks A2A.
fn port(own: &Value) -> Option<String> {
    let name = &own["provides"]["a2a"]["endpoint"];
    let endpoints = own["program"]["network"]["endpoints"].as_array()?;
    let endpoint = endpoints.iter().find(|one| one["name"] == *name).or(endpoints.first())?;
    Some(endpoint["port"].as_u64()?.to_string())
}

/// Returns the word with [`PORT`] in place of the port, as in `9009`, `--port=9009` and `127.0.0.1:9009`.
fn at_any_port(word: &str, port: Option<&str>) -> Option<String> {
    let before = word.strip_suffix(port?)?;
    let is_port = before.is_empty() || before.ends_with(['=', ':']);
    is_port.then(|| format!("{}{PORT}", before.replace("0.0.0.0", "127.0.0.1")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(own: &Value) -> ComponentProgram {
        let scenario = json!({
            "config_schema": {"properties": {
                "key": {"type": "string", "secret": true},
                "model": {"type": "string", "default": "large"},
            }, "required": ["key"]},
            "components": {"a": {"manifest": own, "config": {
                "api_key": "${config.key}", "model": "${config.model}", "rounds": 3, "price": "5 $",
            }}},
        });
        ComponentProgram::of(Path::new("scenario.json5"), &scenario, "a")
    }

    fn entrypoint_of(entrypoint: &Value) -> String {
        let program = program(&json!({
            "program": {
                "entrypoint": entrypoint,
                "network": {"endpoints": [{"name": "metrics", "port": 1}, {"name": "x", "port": 9009}]},
            },
            "provides": {"a2a": {"kind": "a2a", "endpoint": "x"}},
        }));
        program.entrypoint.join(" ")
    }

    #[test]
    fn the_entrypoint_gets_any_port_of_this_machine() {
        for (entrypoint, expected) in [
            (
                json!("uv run src/server.py --host 0.0.0.0 --port 9009"),
                "uv run src/server.py --host 127.0.0.1 --port {port}",
            ),
            (json!(["serve", "--port=9009", "19009"]), "serve --port={port} 19009"),
            (json!("gunicorn -b 0.0.0.0:9009 app"), "gunicorn -b 127.0.0.1:{port} app"),
            (json!("serve --model ${config.model}"), "serve --model large"),
            (json!("serve --url ${slots.proxy.url}"), ""),
            (json!("serve 'x"), ""),
            (json!(null), ""),
        ] {
            assert_eq!(entrypoint_of(&entrypoint), expected, "{entrypoint}");
        }
    }

    #[test]
    fn variables_have_the_values_of_the_config_or_of_the_caller() {
        let program = program(&json!({
            "config_schema": {"properties": {
                "api_key": {"type": "string"},
                "level": {"type": "string", "default": "INFO"},
                "base": {"type": "string", "default": ""},
            }, "required": ["api_key"]},
            "program": {"image": "judge:1", "env": {
                "API_KEY": "${config.api_key}",
                "BASE": "${config.base}",
                "HINT": "${slots.proxy}",
                "LEVEL": "${config.level}",
                "MODEL": "m-${config.model}",
                "OTHER": "${config.other}",
                "PRICE": "${config.price}",
                "ROUNDS": {"when": "config.rounds", "value": "${config.rounds}"},
                "UNBUFFERED": 1,
                "WORKER": {"when": "slots.worker", "value": "1"},
            }},
        }));
        let env: Vec<String> =
            program.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expected = ["LEVEL=INFO", "MODEL=m-large", "PRICE=5 $$", "ROUNDS=3", "UNBUFFERED=1"];
        assert_eq!(env, expected);
        assert_eq!(program.passed, ["API_KEY", "BASE", "OTHER"]);
        assert_eq!(program.image.as_deref(), Some("judge:1"));
    }
}
