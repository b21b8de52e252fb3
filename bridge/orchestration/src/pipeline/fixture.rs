//! Fixtures for the tests: pipelines as scenario files write them, and agents that need no network.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bridge_protocol::a2a::Part;
use serde_json::{Map, Value};

use super::{
    directory::{AgentDirectory, SkillAgent},
    error::AttemptError,
    model::{AgentAddress, Agents, Input, Pipeline, Reference, Step},
    progress::Progress,
    value_path::{ValuePath, first_name},
};

/// Returns the pipeline with the `[config]` of a scenario file, in which all references are JSON pointers or
/// JSONPaths, all durations whole seconds or minutes.
pub(super) fn pipeline(config: &str) -> Pipeline {
    let config = format!("[config]\n{config}");
    let file: toml::Table = config.parse().unwrap();
    let config = &file["config"];
    let result = config.get("result").and_then(toml::Value::as_table);
    Pipeline {
        requirements: None,
        agents: Agents {
            listed: vec![AgentAddress::Url("http://h".parse().unwrap())],
            registry: None,
        },
        credentials: Vec::new(),
        steps: config["step"].as_array().unwrap().iter().map(step).collect(),
        result: result
            .into_iter()
            .flatten()
            .map(|(name, path)| (name.clone(), reference(path.as_str().unwrap())))
            .collect(),
        parallel: number(config, "parallel").unwrap_or(4) as usize,
        timeout: duration(config, "timeout").unwrap_or(Duration::from_secs(60)),
    }
}

fn step(step: &toml::Value) -> Step {
    let text = |key: &str| step[key].as_str().unwrap().to_owned();
    let after = step.get("after").and_then(toml::Value::as_array);
    let after = after.into_iter().flatten();
    let inputs = step.get("input").and_then(toml::Value::as_table);
    let input = |value: &toml::Value| match value.as_str() {
        Some(path) => Input::From(reference(path)),
        None => Input::Value(serde_json::to_value(&value["value"]).unwrap()),
    };
    Step {
        line: 0,
        id: text("id"),
        skill: text("skill"),
        input: inputs
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), input(value)))
            .collect(),
        after: after.map(|id| id.as_str().unwrap().to_owned()).collect(),
        retries: number(step, "retries").unwrap_or(0) as u32,
        backoff: duration(step, "backoff").unwrap_or(Duration::from_secs(1)),
        timeout: duration(step, "timeout"),
    }
}

/// Returns a JSONPath if the text begins with `$`, otherwise a JSON pointer.
pub(super) fn path(text: &str) -> ValuePath {
    match text.starts_with('$') {
        true => ValuePath::JsonPath(Box::new(text.parse().unwrap())),
        false => ValuePath::Pointer(text.to_owned()),
    }
}

fn reference(path: &str) -> Reference {
    let path = self::path(path);
    let source = first_name(&path).unwrap();
    Reference { source, path }
}

fn number(table: &toml::Value, key: &str) -> Option<i64> {
    table.get(key)?.as_integer()
}

fn duration(table: &toml::Value, key: &str) -> Option<Duration> {
    let text = table.get(key)?.as_str()?;
    let seconds = match text.strip_suffix('m') {
        Some(minutes) => 60 * minutes.parse::<u64>().unwrap(),
        None => text.strip_suffix('s').unwrap().parse().unwrap(),
    };
    Some(Duration::from_secs(seconds))
}

/// Ignores all messages.
#[derive(Debug)]
pub(super) struct Ignored;

impl Progress for Ignored {
    type Error = Infallible;

    async fn send(&self, _: Vec<Part>) -> Result<(), Infallible> {
        Ok(())
    }

    async fn show(&self, _: &str, _: Vec<Part>) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Agents by skill, each with its scripted answers in order; the last answer is repeated.
#[derive(Clone, Default)]
pub(super) struct ScriptedDirectory {
    answers: Arc<Mutex<BTreeMap<String, Vec<Answer>>>>,
    /// The skills and inputs of all calls, in the order in which they began.
    pub(super) calls: Arc<Mutex<Vec<(String, Value)>>>,
}

/// A scripted answer to a call.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Gives(Value),
    Fails(&'static str),
    Refuses(&'static str),
    Hangs,
}

impl ScriptedDirectory {
    pub(super) fn with(self, skill: &str, answers: impl Into<Vec<Answer>>) -> Self {
        let answers = answers.into();
        self.answers.lock().unwrap().insert(skill.to_owned(), answers);
        self
    }

    pub(super) fn called(&self) -> Vec<String> {
        let calls = self.calls.lock().unwrap();
        calls.iter().map(|(skill, _)| skill.clone()).collect()
    }

    fn next(&self, skill: &str) -> Answer {
        let mut answers = self.answers.lock().unwrap();
        let answers = answers.get_mut(skill).unwrap();
        match answers.len() {
            1 => answers[0].clone(),
            _ => answers.remove(0),
        }
    }
}

#[async_trait]
impl AgentDirectory for ScriptedDirectory {
    async fn find(&self, skill: &str, _anew: bool) -> Result<Box<dyn SkillAgent>, AttemptError> {
        if self.answers.lock().unwrap().contains_key(skill) {
            return Ok(Box::new(Actor {
                skill: skill.to_owned(),
                name: format!("{skill}-agent"),
                agent_directory: self.clone(),
            }));
        }
        Err(AttemptError::NoAgent("nobody was there".to_owned()))
    }
}

struct Actor {
    skill: String,
    name: String,
    agent_directory: ScriptedDirectory,
}

#[async_trait]
impl SkillAgent for Actor {
    fn name(&self) -> &str {
        &self.name
    }

    async fn work(&self, input: &Map<String, Value>) -> Result<Value, AttemptError> {
        let input = Value::Object(input.clone());
        let call = (self.skill.clone(), input);
        self.agent_directory.calls.lock().unwrap().push(call);
        match self.agent_directory.next(&self.skill) {
            Answer::Gives(output) => Ok(output),
            Answer::Fails(why) => Err(AttemptError::Failed(why.to_owned())),
            Answer::Refuses(why) => Err(AttemptError::Parameters(why.to_owned())),
            Answer::Hangs => std::future::pending().await,
        }
    }
}
