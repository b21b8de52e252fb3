//! Parses the text of a scenario file into its model.
//!
//! Unknown keys are ignored as AgentBeats ignores them. They are errors inside `[harness]` and the `[config]` of a
//! built-in evaluator, which only this program reads: there a misspelled key would be a check that never runs.

mod agents;
mod amber;
mod amber_config;
mod amber_program;
mod credential;
mod episode;
mod expect;
mod first;
mod gate;
mod green;
mod harness;
mod part;
mod pipeline;
mod policy;
mod roles;
mod start;
mod turns;
mod values;

use std::{fs, path::Path};

use serde_json::{Map, Value, json};

use self::{
    agents::{AgentKeys, GreenAgent},
    episode::EpisodeKeys,
    green::{EPISODE, PIPELINE},
    harness::HarnessKeys,
    pipeline::PipelineKeys,
    start::StartFile,
    turns::ConversationKeys,
};
use super::{
    error::{Problem, ScenarioErrors},
    fill::Filling,
    model::{AGENT_UNDER_TEST, Agent, Scenario},
    reader::{Key, Table, document, filled_document, kind, table},
    reuse,
};

pub(super) use self::{amber::json5, harness::matrix};

/// The tables of files whose agents have `cmd` and `env`.
pub(super) const AGENTS: [&str; 4] = ["green_agent", "participants", EVALUATOR, AGENT_UNDER_TEST];

/// The table of the green agent in the files of CAR-bench's contest.
const EVALUATOR: &str = "evaluator";

table! {
    /// A scenario: agents, the evaluator's settings, and how the harness runs and judges it. AgentBeats'
    /// `scenario.toml`, plus the table `[harness]`.
    pub(crate) struct FileKeys<'a> as "scenario", spelled, with(|_| built_in_evaluator()) {
        /// The evaluator. Without endpoint and cmd it is the built-in evaluator that config.evaluator names.
        later_required green_agent: Key<'a> as GreenAgent,
        /// The agents that are evaluated, and servers that they use.
        later participants: Key<'a> as Vec<AgentKeys<'a>>,
        /// The settings of the evaluator.
        later config: Key<'a> as Config,
        /// How the harness runs and judges the scenario; AgentBeats' own tools ignore this table.
        later harness: Key<'a> as HarnessKeys<'a>,
    }
}

kind! {
    /// The settings of the evaluator: of a conversation, an episode or a pipeline for the built-in ones, anything
    /// for another one.
    enum Config;
    |generator| json!({"anyOf": [
        generator.subschema_for::<ConversationKeys<'_>>(),
        generator.subschema_for::<EpisodeKeys<'_>>(),
        generator.subschema_for::<PipelineKeys<'_>>(),
        generator.subschema_for::<Map<String, Value>>(),
    ]})
}

/// Returns conditions on the evaluator's name, so that editors report mistakes in its own keys only.
fn built_in_evaluator() -> Value {
    let others = ["endpoint", "image", "agentbeats_id"];
    let others = others.map(|name| json!({"required": [name]}));
    let config =
        |name: &str| json!({"properties": {"config": {"$ref": format!("#/$defs/{name}")}}});
    let named = |evaluator: &str| {
        let evaluator =
            json!({"required": ["evaluator"], "properties": {"evaluator": {"const": evaluator}}});
        json!({"required": ["config"], "properties": {"config": evaluator}})
    };
    json!({
        "if": {"properties": {"green_agent": {"not": {"anyOf": others}}}},
        "then": {
            "required": ["config"],
            "if": named(EPISODE),
            "then": config("Episode"),
            "else": {"if": named(PIPELINE), "then": config("Pipeline"), "else": config("Conversation")},
        },
    })
}

/// Parses the text of a scenario file without a dataset; `path` is used for errors and for the name only.
///
/// # Errors
/// All mistakes in the text, in the file's order.
pub fn parse(path: &Path, text: &str) -> Result<Scenario, ScenarioErrors> {
    parse_filled(path, text, &Filling::default())
}

/// Parses the text of a scenario file whose placeholders are filled.
pub(super) fn parse_filled(
    path: &Path,
    text: &str,
    filling: &Filling<'_>,
) -> Result<Scenario, ScenarioErrors> {
    match is_manifest(path) {
        true => amber::scenario(path, text),
        false => filled_document(path, text, Some(filling), |root| scenario(path, root)),
    }
}

/// Returns whether the file is a manifest of AgentBeats' newer generation, by its name. No table `[harness]` is read from it.
pub fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json5")
}

/// Reads an overlay: the agents of a file in the same form, which may leave out everything else.
///
/// # Errors
/// All mistakes in the file, or that it cannot be read.
pub fn overlay(path: &Path) -> Result<Vec<Agent>, ScenarioErrors> {
    let text = text_of(path)?;
    document(path, &text, |root| {
        let keys = file_keys(root)?;
        let roles = agents::participants(&keys.participants, StartFile::Overlay);
        let whole = !roles.has_mistakes();
        let green = match keys.green_agent.table() {
            Some(mut table) => Some(agents::agent(
                &AgentKeys::of(&mut table)?,
                "green".to_owned(),
                StartFile::Overlay,
            )?),
            None => None,
        };
        whole.then(|| roles.agents.into_iter().chain(green).collect())
    })
}

/// Returns a scenario's name: its path below the nearest folder called `scenarios`, without `.toml`;
/// elsewhere the file's name, or its folder's if the file is `scenario.toml`.
pub fn name(path: &Path) -> String {
    let stem = path.with_extension("");
    let words: Vec<_> = stem.iter().map(|word| word.to_string_lossy()).collect();
    let Some((last, folders)) = words.split_last() else {
        return String::new();
    };
    match folders.iter().rposition(|folder| folder == "scenarios") {
        Some(root) => words[root + 1..].join("/"),
        None if last == "scenario" => folder_name(path).unwrap_or_else(|| last.to_string()),
        None => last.to_string(),
    }
}

fn folder_name(path: &Path) -> Option<String> {
    let folder = path.parent()?.file_name()?;
    Some(folder.to_string_lossy().into_owned())
}

/// Reads the text of a file.
pub(super) fn text_of(path: &Path) -> Result<String, ScenarioErrors> {
    let unreadable =
        |before: &str, what| ScenarioErrors::one(path, before, "", Problem::Unreadable(what));
    let bytes = fs::read(path).map_err(|error| unreadable("", error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| {
        let (valid, rest) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let byte = rest.first().copied().unwrap_or_default();
        let what = format!("the byte 0x{byte:02x} is not UTF-8; save the file as UTF-8");
        unreadable(&String::from_utf8_lossy(valid), what)
    })
}

/// Returns the tables of a file. In the files of CAR-bench's contest, `[evaluator]` is the green agent and
/// `[agent_under_test]` the only participant.
fn file_keys<'a>(root: &mut Table<'a>) -> Option<FileKeys<'a>> {
    let mut keys = FileKeys::of(root)?;
    if keys.green_agent.node().is_none() && root.has(AGENT_UNDER_TEST) {
        keys.green_agent = root.key(EVALUATOR);
        keys.participants = root.key(AGENT_UNDER_TEST);
    }
    Some(keys)
}

fn scenario(path: &Path, root: &mut Table<'_>) -> Option<Scenario> {
    let keys = file_keys(root)?;
    if keys.green_agent.node().is_none() && root.has("agents") {
        return first::scenario(path, root, &keys);
    }
    if keys.harness.node().is_some() {
        reject_misplaced(root);
    }
    let roles = agents::participants(&keys.participants, StartFile::Scenario);
    let mut config = keys.config.table();
    let green = green::green(&keys.green_agent, config.as_mut(), &roles);
    let config = config.map(|table| table.json()).unwrap_or_default();
    let harness = harness::harness(&keys.harness, &roles)?;
    let scenario = Scenario {
        path: path.to_owned(),
        name: name(path),
        green: green?,
        participants: roles.agents,
        config,
        harness,
    };
    check_reuse(&keys, &scenario);
    Some(scenario)
}

/// Reports keys of `[harness]` at the top level, where nothing reads them, so that a gate or an expectation would never be
/// checked. Other names may be keys of other programs.
fn reject_misplaced(root: &Table<'_>) {
    const OWN: [&str; 10] = [
        "dataset",
        "expect",
        "gate",
        "matrix",
        "pass_score",
        "retries",
        "reuse",
        "snapshot",
        "stop_when",
        "trials",
    ];
    for (name, node) in root.entries().filter(|(name, _)| OWN.contains(name)) {
        node.report(Problem::Misplaced(format!("harness.{name}")));
    }
}

/// Reports why the agents cannot be kept, if the scenario asks for that.
fn check_reuse(keys: &FileKeys<'_>, scenario: &Scenario) {
    let Some(obstacle) = reuse::obstacle(scenario) else {
        return;
    };
    let harness = keys.harness.table();
    let node = harness.and_then(|mut table| table.get("reuse"));
    if let Some(node) = node {
        node.report(Problem::NotKept(obstacle));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::read;

    #[test]
    fn a_name_is_the_path_below_scenarios() {
        for (path, expected) in [
            ("scenarios/debate.toml", "debate"),
            ("/w/scenarios/a/scenarios/b/c.toml", "b/c"),
            ("scenarios/tutorial/scenario.toml", "tutorial/scenario"),
            ("tutorial/scenario.toml", "tutorial"),
            ("scenario.toml", "scenario"),
            ("/tmp/debate.v2.toml", "debate.v2"),
            ("scenarios.toml", "scenarios"),
        ] {
            assert_eq!(name(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn keys_of_the_harness_that_stand_beside_it_are_refused() {
        let text = |beside: &str, harness: &str| {
            format!(
                "[green_agent]\nendpoint = 'http://127.0.0.1:1'\n[gate]\npass_rate = {{ ge = 1 }}\n[tool]\nx = 1\n\
                 {beside}\n{harness}"
            )
        };
        let beside = "[[expect]]\non = 'score'\nge = 1";
        let error = parse(Path::new("a.toml"), &text(beside, "[harness]\nversion = 1"));
        assert_eq!(
            error.unwrap_err().to_string(),
            "a.toml:3:1: gate: not read here; write it as harness.gate\n\
             a.toml:7:1: expect: not read here; write it as harness.expect"
        );
        // Without the table, it is a file of AgentBeats, whose programs may read them.
        assert!(parse(Path::new("a.toml"), &text(beside, "")).is_ok());
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error_like_any_other() {
        let error = read(Path::new("/nowhere/a.toml")).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/a.toml:1:1: cannot be read: "), "{error}");
    }

    #[test]
    fn a_file_in_another_encoding_is_refused_with_its_place() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"# one\n# caf\xe9\n").unwrap();
        let error = read(file.path()).unwrap_err().to_string();
        let expected = ":2:6: cannot be read: the byte 0xe9 is not UTF-8; save the file as UTF-8";
        assert!(error.ends_with(expected), "{error}");
    }
}
