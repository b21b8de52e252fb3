//! `green-agent serve`: serves a green agent until it is stopped.

use std::{error::Error, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use bridge_program::{Exit, OrExit as _, errln, listen, serve, serve_until};
use clap::{ArgGroup, Args};
use mcp_tools::{
    environments,
    episodes::{Episodes, Limits},
};
use url::Url;

use super::{block_on, pipeline_args::PipelineArgs, stop};
use crate::{
    evaluator::episode::{EnvironmentAccess, EpisodeEvaluator, MCP_PATH, router},
    scenario::{
        self,
        episode::{
            Acknowledge, Delivery, DetailsShape, Episode, EpisodeLimits, McpTransport, TokenKind,
        },
        pipeline::Pipeline,
    },
};

const EXAMPLES: &str = "\
Examples:
  green-agent serve --environment shop --seed 7
  green-agent serve --pipeline plan_build_test.toml --registry http://127.0.0.1:5000
  purple-agent run --green http://127.0.0.1:3980        request an evaluation

With --environment, the agent also accepts AgentBeats' assessment requests, whose config may set environment, seed, details, transport, \
token, limits and acknowledge. With --pipeline, it takes the requirements as text or data, and returns the values of \
[config.result] as artifacts.";

/// The most evaluations that run at the same time.
const EPISODES: usize = 256;

/// Serve a green agent over A2A that evaluates agents in an environment on request, or runs a pipeline of agents
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    group = ArgGroup::new("served").args(["environment", "pipeline"]).required(true)
)]
pub(super) struct Serve {
    /// The environment in which participants are evaluated
    #[arg(long, value_name = "NAME", value_parser = environments::flag_values())]
    environment: Option<String>,
    #[command(flatten)]
    pipeline: PipelineArgs,
    /// The seed of environments; the same seed creates the same environment
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "pipeline")]
    seed: u64,
    /// The address to listen on; port 0 picks a free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:3980")]
    listen: SocketAddr,
    /// The URL at which clients reach the agent, written into its card [default: the address it listens on]
    #[arg(long, value_name = "URL")]
    public_url: Option<Url>,
    /// The URL at which participants reach the environments, sent in connection details [default: /mcp below
    /// the public URL]
    #[arg(long, value_name = "URL", conflicts_with = "pipeline")]
    mcp_url: Option<Url>,
    /// The form in which connection details are sent
    #[arg(long, value_enum, default_value_t = DetailsShape::Data, conflicts_with = "pipeline")]
    details: DetailsShape,
    /// The MCP transport over which participants reach environments
    #[arg(long, value_enum, default_value_t = McpTransport::Http, conflicts_with = "pipeline")]
    transport: McpTransport,
    /// The way in which a calling participant receives the details: in status messages while its task runs, or
    /// in the reply to its message
    #[arg(long, value_name = "HOW", default_value = "messages", value_parser = delivery(), conflicts_with = "pipeline")]
    delivery: String,
    /// The token in the details; all but "valid" test how a participant handles a token that is refused
    #[arg(long, value_enum, default_value_t = TokenKind::Valid, conflicts_with = "pipeline")]
    token: TokenKind,
    /// The most tool calls in one evaluation
    #[arg(long, value_name = "N", default_value_t = Limits::default().steps, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "pipeline")]
    steps: u32,
    /// The time limit of one evaluation, such as 90s or 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration, conflicts_with = "pipeline")]
    time: Duration,
    /// Send a message again if it is not acknowledged within this time, such as 5s
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "pipeline")]
    acknowledge_after: Option<Duration>,
    /// The most repetitions of a message
    #[arg(long, value_name = "N", default_value_t = Acknowledge::default().resend, requires = "acknowledge_after")]
    resend: u32,
}

/// Returns the values of `--delivery`. Only the runner can give a participant its details in advance, so that
/// delivery is missing here.
fn delivery() -> [&'static str; 2] {
    ["messages", "synchronous"]
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed = scenario::parse_duration(text).filter(|duration| !duration.is_zero());
    parsed.ok_or_else(|| "expected a duration such as 90s or 5m".to_owned())
}

/// Returns the default of `--mcp-url`. Other than by `join`, the last segment of a path without a slash at its end stays.
fn mcp_url(public_url: &Url) -> Url {
    let mut url = public_url.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().push(MCP_PATH);
    }
    url
}

impl Serve {
    pub(super) fn execute(&self) -> Result<Exit, Exit> {
        let pipeline = match &self.environment {
            Some(_) => None,
            None => Some(self.pipeline.read().or_exit(Exit::Unreadable)?),
        };
        block_on(self.serve(pipeline)).or_exit(Exit::Infrastructure).map(|()| Exit::Passed)
    }

    async fn serve(&self, pipeline: Option<Pipeline>) -> Result<(), Box<dyn Error>> {
        let stop = stop::on_signal(None)?;
        let listener = listen(self.listen).await?;
        let address = listener.local_addr()?;
        let public_url = match &self.public_url {
            Some(url) => url.clone(),
            None => Url::parse(&format!("http://{address}/"))?,
        };
        let app = match (pipeline, &self.environment) {
            (Some(pipeline), _) => PipelineArgs::app(pipeline, &public_url).await?,
            (None, environment) => {
                self.evaluator(environment.as_deref().unwrap_or_default(), &public_url).await?
            }
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
            None => mcp_url(public_url),
        };
        let reach = EnvironmentAccess {
            relay: ["mcp-tools", "relay", "--url", mcp_url.as_str()].map(str::to_owned).into(),
            url: mcp_url,
        };
        let episodes = Episodes::new(EPISODES);
        let episode = self.episode(environment);
        let evaluator = EpisodeEvaluator::new(episode, self.seed, episodes, reach);
        Ok(router(Arc::new(evaluator), public_url).await?)
    }

    fn episode(&self, environment: &str) -> Episode {
        let acknowledge =
            self.acknowledge_after.map(|after| Acknowledge { after, resend: self.resend });
        Episode {
            details: self.details,
            transport: self.transport,
            delivery: match self.delivery.as_str() {
                "synchronous" => Delivery::Synchronous,
                _messages => Delivery::Messages,
            },
            token: self.token,
            limits: EpisodeLimits { steps: self.steps, time: self.time },
            acknowledge,
            ..Episode::new(environment)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_are_below_the_public_url() {
        for (public, expected) in [
            ("http://127.0.0.1:3980/", "http://127.0.0.1:3980/mcp"),
            ("https://h.example/green", "https://h.example/green/mcp"),
            ("https://h.example/green/", "https://h.example/green/mcp"),
        ] {
            assert_eq!(mcp_url(&public.parse().unwrap()).as_str(), expected);
        }
    }
}
