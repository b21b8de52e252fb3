//! `green-agent serve --pipeline`: agents are led through the pipeline of a scenario file.

use std::{error::Error, path::PathBuf};

use axum::Router;
use bridge_client::Limits;
use clap::Args;
use url::Url;

use crate::{
    evaluator::pipeline::{Key, Keyring, PipelineEvaluator, router},
    participant::env_vars::EnvVars,
    scenario::{
        model::{Evaluator, Green},
        parse,
        pipeline::{Agents, Pipeline, Place},
    },
};

/// The flags of a pipeline.
#[derive(Debug, Args)]
pub(super) struct PipelineArgs {
    /// The pipeline that agents are led through: a scenario file with evaluator = "pipeline"
    #[arg(long, value_name = "FILE", conflicts_with = "environment")]
    pipeline: Option<PathBuf>,
    /// Where an agent or a catalogue of agents is, in the place of what the file says; may be repeated
    #[arg(long = "agent", value_name = "URL", requires = "pipeline", value_parser = address)]
    agents: Vec<Url>,
    /// The OCI registry that holds agent cards, in the place of what the file says
    #[arg(long, value_name = "URL", requires = "pipeline", value_parser = address)]
    registry: Option<Url>,
}

/// What agents are shown. Whoever asks names the participants, so that a role is nobody to be trusted here.
fn keys(pipeline: &Pipeline) -> Result<Vec<Key>, Box<dyn Error>> {
    let folder = std::env::current_dir()?;
    let environment = EnvVars::load(&folder)?;
    let variable = |name: &str| environment.variable(name);
    let keyring = Keyring::look_up(&pipeline.credentials, variable, &folder)?;
    Ok(keyring.keys(&[])?)
}

fn address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| "expected an http or https URL".to_owned())
}

impl PipelineArgs {
    /// The routes of the pipeline as an agent that is reached at `public_url`.
    pub(super) async fn app(&self, public_url: &Url) -> Result<Router, Box<dyn Error>> {
        let pipeline = self.read()?;
        let keys = keys(&pipeline)?;
        let evaluator = PipelineEvaluator::new(pipeline, Limits::default()).with_keys(keys);
        Ok(router(evaluator, public_url).await?)
    }

    /// The file's pipeline. Nobody starts the file's participants here: agents are where the flags or the file say,
    /// or in the requests of those who name participants.
    fn read(&self) -> Result<Pipeline, Box<dyn Error>> {
        let path = self.pipeline.clone().unwrap_or_default();
        let Green::Builtin(Evaluator::Pipeline(mut pipeline)) = parse::read(&path)?.green else {
            let path = path.display();
            return Err(format!("{path}: expected config.evaluator = \"pipeline\"").into());
        };
        if !self.agents.is_empty() || self.registry.is_some() {
            pipeline.agents = Agents {
                listed: self.agents.iter().cloned().map(Place::Url).collect(),
                registry: self.registry.clone().map(Place::Url),
            };
        }
        Ok(pipeline)
    }
}
