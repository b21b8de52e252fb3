//! Reads `scenario.json5`, the manifest of AgentBeats' newer generation (Amber): components in containers,
//! bound to a gateway.
//!
//! The agents, their roles and the config are read: `metadata.agentbeats_ids`, the gateway's
//! `assessment_config` (with the defaults of `config_schema`) and `participant_roles`, the bindings, and the
//! programs of components whose manifests lie beside it. Proxies and experimental features are ignored.

use std::{collections::BTreeMap, path::Path, sync::LazyLock};

use regex::Regex;
use serde_json::{Map, Value};

use super::{
    agents::{ROLE, is_reserved, is_role},
    amber_config,
    amber_program::ComponentProgram,
    harness, name,
    roles::DeclaredRoles,
};
use crate::{
    error::{Problem, ScenarioErrors},
    inherits::Inherits,
    model::{Agent, Green, Scenario, Start},
    reader::document,
};

/// Reads the manifest.
pub(super) fn scenario(path: &Path, text: &str) -> Result<Scenario, ScenarioErrors> {
    let wrong = |key: &str, error| ScenarioErrors::one(path, "", key, Problem::Manifest(error));
    let manifest: Value = json5(text).map_err(|error| wrong("", format!("not JSON5: {error}")))?;
    let roles = ComponentRoles::of(&manifest)
        .map_err(|(key, expected)| wrong(key, format!("missing; expected {expected}")))?;
    if let Some((component, mistake)) = roles.mistake() {
        return Err(wrong(&format!("components.{component}"), mistake));
    }
    let config = amber_config::filled(&roles.config, &manifest["config_schema"]);
    let config = config.map_err(|path| {
        let expected =
            "missing; expected a default in config_schema, or the value in assessment_config";
        wrong(&format!("config_schema.{path}"), expected.to_owned())
    })?;
    let agent = |component: &str, role: &str| {
        let program = ComponentProgram::of(path, &manifest, component);
        let ComponentProgram { image, entrypoint, env, passed } = program;
        let agentbeats_id = id(&manifest, role).or_else(|| id(&manifest, component));
        let start = Start::Absent { image, entrypoint, is_built: false };
        let inherits = Inherits::Named(passed);
        Agent { agentbeats_id, env, inherits, ..Agent::new(role, start) }
    };
    let participants = roles.participants.iter();
    Ok(Scenario {
        path: path.to_owned(),
        name: name(path),
        green: Green::Agent(agent(&roles.green, "green")),
        participants: participants.map(|(component, role)| agent(component, role)).collect(),
        config,
        harness: document(path, "", |root| {
            harness::harness(&root.key("harness"), &DeclaredRoles::default())
        })?,
    })
}

/// The components that are agents.
struct ComponentRoles {
    green: String,
    /// The participants, each with its role.
    participants: Vec<(String, String)>,
    config: Map<String, Value>,
}

impl ComponentRoles {
    /// Reads the components; the error is the missing key and what it should be.
    fn of(manifest: &Value) -> Result<Self, (&'static str, &'static str)> {
        let components = manifest["components"].as_object();
        let expected = match manifest["program"].is_object() {
            true => {
                "the components; this is the manifest of one agent: pass the scenario.json5 that names it"
            }
            false => "the components, a gateway among them",
        };
        let components = components.ok_or(("components", expected))?;
        let gateway = components.iter().find(|(name, component)| {
            *name == "gateway" || component["config"].get("assessment_config").is_some()
        });
        let (gateway, component) = gateway.ok_or(("components.gateway", "the gateway"))?;
        let config = &component["config"];
        let bound = bound(manifest);
        let green = bound
            .iter()
            .find(|(to, slot, _)| to == gateway && slot == "green")
            .map(|(_, _, component)| component.clone());
        let green = green
            .or_else(|| components.get("green").map(|_| "green".to_owned()))
            .ok_or(("bindings", "what is bound to #gateway.green"))?;
        let mut participants: Vec<(String, String)> = Vec::new();
        for (to, slot, component) in bound {
            let is_agent = component != green && component != *gateway;
            let is_asked = to == *gateway || to == green;
            if is_agent && is_asked && participants.iter().all(|(known, _)| *known != component) {
                let role = config["participant_roles"][slot.as_str()].as_str();
                let role = role.unwrap_or(&component).to_owned();
                participants.push((component, role));
            }
        }
        if participants.is_empty() {
            return Err(("bindings", "a participant that is bound to the gateway"));
        }
        let config = config["assessment_config"].as_object().cloned();
        Ok(Self { green, participants, config: config.unwrap_or_default() })
    }

    /// Returns the first participant whose role cannot be used, with the reason.
    fn mistake(&self) -> Option<(&str, String)> {
        let mut known = BTreeMap::new();
        self.participants.iter().find_map(|(component, role)| {
            let mistake = match known.insert(role, component) {
                _ if !is_role(role) => format!("expected {ROLE}, found {role:?}"),
                _ if is_reserved(role) => Problem::ReservedRole(role.clone()).to_string(),
                Some(other) => format!(
                    "the role {role:?} is taken by the component {other:?}; expected a role for each participant"
                ),
                None => return None,
            };
            Some((component.as_str(), mistake))
        })
    }
}

/// Returns the bindings of agents: the component, its slot, and the component bound to it.
fn bound(manifest: &Value) -> Vec<(String, String, String)> {
    let bindings = manifest["bindings"].as_array().into_iter().flatten();
    bindings
        .filter_map(|binding| {
            let (to, slot) = place(&binding["to"])?;
            let (from, what) = place(&binding["from"])?;
            (what == "a2a").then_some((to, slot, from))
        })
        .collect()
}

/// Splits `#component.slot`.
fn place(text: &Value) -> Option<(String, String)> {
    let (component, slot) = text.as_str()?.strip_prefix('#')?.split_once('.')?;
    Some((component.to_owned(), slot.to_owned()))
}

/// Returns a component's id on AgentBeats, which some files write as a number; empty in a template.
fn id(manifest: &Value, name: &str) -> Option<String> {
    match &manifest["metadata"]["agentbeats_ids"][name] {
        Value::String(id) if !id.trim().is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _unset => None,
    }
}

/// The deepest nesting of a manifest. The crate json5 recurses for each level, and a text may have any number of them.
const DEEPEST: usize = 128;

/// Parses JSON5; the error says why it cannot be read.
pub(crate) fn json5(text: &str) -> Result<Value, String> {
    match nesting(text) {
        0..=DEEPEST => ::json5::from_str(text).map_err(|error| error.to_string()),
        _ => Err(format!("nested more than {DEEPEST} deep")),
    }
}

/// Returns the deepest nesting of a text. Brackets in its texts and comments do not count.
#[expect(clippy::unwrap_used, reason = "the pattern is a constant, which the tests read")]
fn nesting(text: &str) -> usize {
    static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
        let texts = r#""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"#;
        let comments = r"//[^\n\r\u{2028}\u{2029}]*|/\*.*?\*/";
        Regex::new(&format!(r"(?s){texts}|{comments}|[\[{{}}\]]")).unwrap()
    });
    let (mut depth, mut deepest) = (0_usize, 0);
    for token in TOKEN.find_iter(text) {
        match token.as_str() {
            "[" | "{" => depth += 1,
            "]" | "}" => depth = depth.saturating_sub(1),
            _text_or_comment => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::parse::parse;

    const MANIFEST: &str = r##"{
        config_schema: { properties: { topic: { type: "string", default: "tea" } }, required: ["topic"] },
        // The components that are agents.
        components: {
            gateway: { manifest: "https://h/gateway.json5", config: {
                assessment_config: { rounds: 2, topic: "${config.topic}" },
                participant_roles: { purple1: "debater" },
            } },
            green: { manifest: { program: { image: "judge:1" } } },
            one: { manifest: "./nowhere.json5" },
        },
        bindings: [
            { to: "#gateway.green", from: "#green.a2a" },
            { to: "#gateway.purple1", from: "#one.a2a" },
            { to: "#green.proxy", from: "#gateway.proxy" },
        ],
        metadata: { agentbeats_ids: { green: "", debater: 17 } },
    }"##;

    #[test]
    fn a_manifest_names_the_evaluator_and_the_participants() {
        let scenario = parse(Path::new("scenario.json5"), MANIFEST).unwrap();
        let Green::Agent(green) = &scenario.green else {
            panic!("an agent evaluates");
        };
        let image = Some("judge:1".to_owned());
        let entrypoint = Vec::new();
        assert_eq!(green.start, Start::Absent { image, entrypoint, is_built: false });
        assert_eq!(green.agentbeats_id, None);
        let [debater] = &scenario.participants[..] else {
            panic!("{:?}", scenario.participants);
        };
        assert_eq!(debater.role, "debater");
        assert_eq!(debater.agentbeats_id.as_deref(), Some("17"));
        assert_eq!(
            (&scenario.config["rounds"], &scenario.config["topic"]),
            (&2.into(), &"tea".into())
        );
    }

    #[test]
    fn missing_fields_are_reported() {
        for (text, expected) in [
            ("{", "a.json5:1:1: not JSON5: "),
            ("{}", "a.json5:1:1: components: missing; expected the components, a gateway"),
            (
                "{program: {image: 'a'}, exports: {a2a: 'a2a'}}",
                "a.json5:1:1: components: missing; expected the components; this is the manifest of one agent: pass",
            ),
            (
                &MANIFEST.replace("default: \"tea\"", ""),
                "a.json5:1:1: config_schema.topic: missing; expected a default in config_schema, or",
            ),
            (
                "{components: {gateway: {}, green: {}}}",
                "a.json5:1:1: bindings: missing; expected a participant",
            ),
        ] {
            let errors = parse(Path::new("a.json5"), text).unwrap_err().to_string();
            assert!(errors.starts_with(expected), "{errors}");
        }
    }

    #[test]
    fn roles_that_cannot_be_used_are_reported() {
        let text = |role: &str| {
            MANIFEST
                .replace("\"debater\"", &format!("{role:?}, purple2: \"judged\""))
                .replace("one:", "two: {}, one:")
                .replace(
                    "bindings: [",
                    "bindings: [{ to: \"#gateway.purple2\", from: \"#two.a2a\" },",
                )
        };
        parse(Path::new("a.json5"), &text("debater")).unwrap();
        for (role, expected) in [
            (
                "../debater",
                "expected a role: a text without \"->\", slashes or blanks around it, found \"../debater\"",
            ),
            ("green -> debater", "expected a role: a text without"),
            ("", "expected a role: a text without"),
            ("environment", "the role \"environment\" is reserved; expected one other than green,"),
            (
                "judged",
                "the role \"judged\" is taken by the component \"two\"; expected a role for each",
            ),
        ] {
            let errors = parse(Path::new("a.json5"), &text(role)).unwrap_err().to_string();
            let expected = format!("a.json5:1:1: components.one: {expected}");
            assert!(errors.starts_with(&expected), "{errors}");
        }
    }

    #[test]
    fn a_text_that_is_nested_too_deep_is_reported() {
        for open in ["[", "{a:", "['\\']',", "[/*]*/", "[//]\r", "[\"]\","] {
            let error = parse(Path::new("scenario.json5"), &open.repeat(100_000)).unwrap_err();
            assert!(error.to_string().contains("nested more than 128 deep"), "{error}");
        }
        let text = MANIFEST.replace("rounds: 2", &format!("rounds: \"{}\"", "[".repeat(1000)));
        parse(Path::new("scenario.json5"), &text).unwrap();
    }
}
