//! `green-agent serve --pipeline`: serves the pipeline of a scenario file as an A2A agent.

use std::{error::Error, path::PathBuf};

use axum::Router;
use bridge_client::{Limits, web_url};
use clap::Args;
use url::Url;

use crate::{
    evaluator::pipeline::{Engine, Key, Keyring, PipelineEvaluator, router},
    participant::env_vars::EnvVars,
    scenario::{
        model::{Evaluator, Green},
        pipeline::{AgentAddress, Agents, Pipeline},
        source,
    },
};

/// The flags for a pipeline.
#[derive(Debug, Args)]
pub(super) struct PipelineArgs {
    /// The pipeline to run: a scenario file with evaluator = "pipeline"
    #[arg(long, value_name = "FILE")]
    pipeline: Option<PathBuf>,
    /// Find agents at this URL, of an agent or of a catalogue of agents, instead of at those in the file;
    /// may be repeated
    #[arg(long = "agent", value_name = "URL", conflicts_with = "environment", value_parser = address)]
    agents: Vec<Url>,
    /// Find agent cards in this OCI registry instead of the one in the file
    #[arg(long, value_name = "URL", conflicts_with = "environment", value_parser = address)]
    registry: Option<Url>,
}

/// Returns the credentials for agents. A credential for a role is refused: the participants of a
/// served pipeline are named by its callers, who could direct the secret to themselves.
fn keys(pipeline: &Pipeline) -> Result<Vec<Key>, Box<dyn Error>> {
    let folder = std::env::current_dir()?;
    let environment = EnvVars::load(&folder)?;
    let variable = |name: &str| environment.variable(name);
    let keyring = Keyring::look_up(&pipeline.credentials, variable, &folder)?;
    Ok(keyring.keys(&[])?)
}

fn address(text: &str) -> Result<Url, &'static str> {
    web_url(text).ok_or("expected an http or https URL")
}

impl PipelineArgs {
    /// Returns the routes of a pipeline as an agent that is reached at `public_url`.
    pub(super) async fn app(
        pipeline: Pipeline,
        public_url: &Url,
    ) -> Result<Router, Box<dyn Error>> {
        let keys = keys(&pipeline)?;
        let engine = Engine::new(pipeline, Limits::default()).with_keys(keys);
        Ok(router(PipelineEvaluator(engine), public_url).await?)
    }

    /// Reads the pipeline from the file. The file's participants are not started: agents are looked for where
    /// the flags or the file say, or among the participants that a request names.
    pub(super) fn read(&self) -> Result<Pipeline, Box<dyn Error>> {
        let path = self.pipeline.clone().unwrap_or_default();
        let Green::Builtin(Evaluator::Pipeline(mut pipeline)) = source::read(&path)?.green else {
            let path = path.display();
            return Err(format!("{path}: expected config.evaluator = \"pipeline\"").into());
        };
        if !self.agents.is_empty() || self.registry.is_some() {
            pipeline.agents = Agents {
                listed: self.agents.iter().cloned().map(AgentAddress::Url).collect(),
                registry: self.registry.clone().map(AgentAddress::Url),
            };
        }
        Ok(pipeline)
    }
}
