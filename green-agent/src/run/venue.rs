//! Where episodes are played: the built-in evaluator with its environment, and what is set up for it.

use std::{io, sync::Arc};

use mcp_tools::{connection::ConnectionDetails, episodes::Episodes, secret::Secret};
use url::Url;

use super::{Problem, ProblemKind, cast::Cast, hops::to_environment, problem::chain};
use crate::{
    evaluator::episode::{EpisodeEvaluator, MCP_PATH, Reach, router},
    participant::Booth,
    recorder::{RECORD_STDIO, Recorder},
    scenario::{
        episode::{Delivery, Episode, McpTransport},
        model::{Evaluator, Green, Scenario},
    },
    transcript::Transcript,
};

/// The most episodes of one trial: its own, and the one whose token it may be given.
const EPISODES: usize = 4;

/// The programs by which an environment is reached over stdio, as a participant finds them on its PATH.
const WRAPPER: &str = "green-agent";
const RELAY: [&str; 3] = ["mcp-tools", "relay", "--url"];

/// An evaluator and its environment, ready to be worked in.
pub(super) struct Venue {
    evaluator: Arc<EpisodeEvaluator>,
    preset: Option<ConnectionDetails>,
    tap: Option<Url>,
}

impl Venue {
    /// Sets up what the scenario's evaluator needs, if that is an episode.
    pub(super) async fn open(
        scenario: &Scenario,
        cast: &Cast,
        seed: u64,
        recorder: &mut Recorder,
        transcript: &Transcript,
    ) -> Result<Option<Self>, Problem> {
        let (Green::Builtin(Evaluator::Episode(settings)), Some(ground), Some(participant)) =
            (&scenario.green, &cast.ground, scenario.worker())
        else {
            return Ok(None);
        };
        let hop = to_environment(&participant.role);
        let tap = match settings.transport {
            McpTransport::Http => None,
            McpTransport::Stdio => {
                let tap = recorder
                    .tap_stdio(hop.clone(), transcript, &cast.masker)
                    .await;
                Some(tap.map_err(|error| ProblemKind::Harness.because(chain(&error)))?)
            }
        };
        let own = ground
            .url()
            .join(MCP_PATH)
            .map_err(|error| ProblemKind::Harness.because(error))?;
        let reach = Reach {
            url: recorder.url(&hop).unwrap_or_else(|| own.clone()),
            relay: tap.iter().flat_map(|tap| relay(tap, &own)).collect(),
        };
        let episodes = Episodes::new(EPISODES);
        let masker = cast.masker.clone();
        let evaluator = EpisodeEvaluator::new(settings.clone(), seed, episodes, reach)
            .with_limits(bridge_client::Limits {
                reply: scenario.harness.timeout.total,
                idle: scenario.harness.timeout.total,
                ..Default::default()
            })
            .with_confidant(Arc::new(move |secret: &Secret| {
                masker.learn(secret.expose());
            }));
        let evaluator = Arc::new(evaluator);
        let preset = preset(settings, &evaluator).await?;
        serve(ground, evaluator.clone());
        Ok(Some(Self {
            evaluator,
            preset,
            tap,
        }))
    }

    /// Who evaluates.
    pub(super) fn evaluator(&self) -> Arc<EpisodeEvaluator> {
        self.evaluator.clone()
    }

    /// What a policy is told beforehand.
    pub(super) fn preset(&self) -> Option<ConnectionDetails> {
        self.preset.clone()
    }

    /// Where the recorder is told what passes over standard streams.
    pub(super) fn tap(&self) -> Option<&Url> {
        self.tap.as_ref()
    }
}

/// The wrapper that records, around the relay that leads to the environment itself.
fn relay(tap: &Url, environment: &Url) -> Vec<String> {
    let wrapper = [WRAPPER, RECORD_STDIO, "--to", tap.as_str(), "--"];
    let relay = RELAY.into_iter().chain([environment.as_str()]);
    wrapper
        .into_iter()
        .chain(relay)
        .map(str::to_owned)
        .collect()
}

async fn preset(
    settings: &Episode,
    evaluator: &EpisodeEvaluator,
) -> Result<Option<ConnectionDetails>, Problem> {
    match settings.delivery {
        Delivery::Messages | Delivery::Synchronous => Ok(None),
        Delivery::Preset => {
            let details = evaluator.open_ahead().await;
            details
                .map(Some)
                .map_err(|error| ProblemKind::Harness.because(error))
        }
    }
}

fn serve(ground: &Booth, evaluator: Arc<EpisodeEvaluator>) {
    let url = ground.url().clone();
    ground.serve(async move { router(evaluator, &url).await.map_err(io::Error::other) });
}
