//! `green-agent serve`: a green agent, until it is stopped.

use std::{error::Error, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use bridge_program::{Exit, errln, listen, serve, serve_until};
use clap::{Args, builder::PossibleValue};
use mcp_tools::{
    environments::BUILTINS,
    episodes::{Episodes, Limits},
};
use url::Url;

use super::{complain, pipeline_args::PipelineArgs, stop};
use crate::{
    evaluator::episode::{EnvironmentAccess, EpisodeEvaluator, MCP_PATH, router},
    scenario::{
        self,
        episode::{
            Acknowledge, Delivery, DetailsShape, Episode, EpisodeLimits, McpTransport, TokenKind,
        },
    },
};

const EXAMPLES: &str = "\
Examples:
  green-agent serve --environment shop --seed 7
  green-agent serve --pipeline plan_build_test.toml --registry http://127.0.0.1:5000
  purple-agent run --green http://127.0.0.1:3980        ask it for an evaluation

An environment's evaluator answers AgentBeats' assessment request too, whose config may name environment, seed, details, transport, \
token, limits and acknowledge. A pipeline takes requirements, as a text or as data, and gives what \
[config.result] says as artifacts.";

/// The most evaluations at a time.
const EPISODES: usize = 256;

/// Be a green agent over A2A: evaluate whoever asks for it in an environment, or lead others through a pipeline
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Serve {
    /// The environment that is worked in
    #[arg(long, value_name = "NAME", value_parser = environments(), required_unless_present = "pipeline")]
    environment: Option<String>,
    #[command(flatten)]
    pipeline: PipelineArgs,
    /// What environments are made from: the same seed gives the same ones
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:3980")]
    listen: SocketAddr,
    /// Where it is reached, if not where it listens: its card says so
    #[arg(long, value_name = "URL")]
    public_url: Option<Url>,
    /// Where its environments are reached, if not at /mcp below that: connection details say so
    #[arg(long, value_name = "URL")]
    mcp_url: Option<Url>,
    /// The shape in which connection details are sent
    #[arg(long, value_enum, default_value_t = DetailsShape::Data)]
    details: DetailsShape,
    /// How environments are reached
    #[arg(long, value_enum, default_value_t = McpTransport::Http)]
    transport: McpTransport,
    /// How details are handed to a participant that calls: in messages, or in the reply itself
    #[arg(long, value_name = "HOW", default_value = "messages", value_parser = delivery())]
    delivery: String,
    /// Which token details hold
    #[arg(long, value_enum, default_value_t = TokenKind::Valid)]
    token: TokenKind,
    /// How many calls of an environment's tools may be made
    #[arg(long, value_name = "N", default_value_t = Limits::default().steps)]
    steps: u32,
    /// How long an evaluation may take, such as 90s or 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    time: Duration,
    /// Send messages again that are not acknowledged for so long
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    acknowledge_after: Option<Duration>,
    /// How often
    #[arg(long, value_name = "N", default_value_t = Acknowledge::default().resend, requires = "acknowledge_after")]
    resend: u32,
}

fn environments() -> Vec<PossibleValue> {
    let named =
        |(name, purpose): (&'static str, &'static str)| PossibleValue::new(name).help(purpose);
    BUILTINS.into_iter().map(named).collect()
}

/// Only the runner can set a participant up beforehand.
fn delivery() -> [&'static str; 2] {
    ["messages", "synchronous"]
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed = scenario::parse_duration(text).filter(|duration| !duration.is_zero());
    parsed.ok_or_else(|| "expected a duration such as 90s or 5m".to_owned())
}

impl Serve {
    pub(super) fn execute(&self) -> Exit {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build();
        let served = runtime.map_err(Box::from);
        match served.and_then(|runtime| runtime.block_on(self.serve())) {
            Ok(()) => Exit::Passed,
            Err(error) => {
                complain(&*error);
                Exit::Infrastructure
            }
        }
    }

    async fn serve(&self) -> Result<(), Box<dyn Error>> {
        let stop = stop::on_signal()?;
        let listener = listen(self.listen).await?;
        let address = listener.local_addr()?;
        let public_url = match &self.public_url {
            Some(url) => url.clone(),
            None => Url::parse(&format!("http://{address}/"))?,
        };
        let app = match &self.environment {
            Some(environment) => self.evaluator(environment, &public_url).await?,
            None => self.pipeline.app(&public_url).await?,
        };
        errln!("listening on http://{address}");
        serve_until(stop, |stop| serve(listener, app, stop)).await?;
        Ok(())
    }

    async fn evaluator(
        &self,
        environment: &str,
        public_url: &Url,
    ) -> Result<Router, Box<dyn Error>> {
        let mcp_url = match &self.mcp_url {
            Some(url) => url.clone(),
            None => public_url.join(MCP_PATH)?,
        };
        let reach = EnvironmentAccess {
            relay: ["mcp-tools", "relay", "--url", mcp_url.as_str()]
                .map(str::to_owned)
                .into(),
            url: mcp_url,
        };
        let episodes = Episodes::new(EPISODES);
        let episode = self.episode(environment);
        let evaluator = EpisodeEvaluator::new(episode, self.seed, episodes, reach);
        Ok(router(Arc::new(evaluator), public_url).await?)
    }

    fn episode(&self, environment: &str) -> Episode {
        let acknowledge = self.acknowledge_after.map(|after| Acknowledge {
            after,
            resend: self.resend,
        });
        Episode {
            details: self.details,
            transport: self.transport,
            delivery: match self.delivery.as_str() {
                "synchronous" => Delivery::Synchronous,
                _messages => Delivery::Messages,
            },
            token: self.token,
            limits: EpisodeLimits {
                steps: self.steps,
                time: self.time,
            },
            acknowledge,
            ..Episode::new(environment)
        }
    }
}
