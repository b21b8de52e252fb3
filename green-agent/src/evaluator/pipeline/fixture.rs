//! Fixtures for the pipeline tests: pipelines as files write them, and agents that need no network.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{
    agent_directory::{AgentDirectory, SkillAgent},
    error::AttemptError,
};
use crate::scenario::{
    self,
    model::{Evaluator, Green},
    pipeline::Pipeline,
};

/// Returns the pipeline of a file with this `[config]`.
pub(super) fn pipeline(config: &str) -> Pipeline {
    let text =
        format!("[green_agent]\n[config]\nevaluator = 'pipeline'\nagents = ['http://h']\n{config}");
    match scenario::parse(Path::new("a.toml"), &text).unwrap().green {
        Green::Builtin(Evaluator::Pipeline(pipeline)) => pipeline,
        other => panic!("the evaluator is a pipeline, not {other:?}"),
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
        self.answers
            .lock()
            .unwrap()
            .insert(skill.to_owned(), answers);
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
        Err(AttemptError::NoAgent {
            looked: "nobody was there".to_owned(),
        })
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
            Answer::Fails(why) => Err(AttemptError::Failed {
                why: why.to_owned(),
            }),
            Answer::Refuses(why) => Err(AttemptError::Parameters {
                why: why.to_owned(),
            }),
            Answer::Hangs => std::future::pending().await,
        }
    }
}
