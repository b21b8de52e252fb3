//! Sets up the built-in evaluator of episodes with its environment and MCP access.

use std::{io, sync::Arc};

use bridge_program::chain;
use mcp_tools::{connection::ConnectionDetails, episodes::Episodes, secret::Secret};
use url::Url;

use super::{
    Problem, ProblemKind, hops::to_environment, owner::is_believed, trial_agents::TrialAgents,
    watch::CALL_LIMIT,
};
use crate::{
    evaluator::episode::{EnvironmentAccess, EpisodeEvaluator, MCP_PATH, router},
    recorder::{RECORD_STDIO, Recorder},
    scenario::{
        episode::{Delivery, McpTransport},
        model::{Evaluator, Green, Scenario},
    },
    transcript::Transcript,
};

/// The most episodes of one trial: its own, and a second one whose token a participant may be given as a test.
const EPISODES: usize = 4;

/// The programs by which a participant reaches an environment over stdio; it finds both on its PATH.
const WRAPPER: &str = "green-agent";
const RELAY: [&str; 3] = ["mcp-tools", "relay", "--url"];

/// An evaluator and its environment, ready for a participant.
pub(super) struct EpisodeSetup {
    pub(super) evaluator: Arc<EpisodeEvaluator>,
    /// The connection details that a policy has from the start, if the scenario says so.
    pub(super) preset: Option<ConnectionDetails>,
    /// The URL to which the stdio wrapper reports what it records.
    pub(super) tap: Option<Url>,
}

impl EpisodeSetup {
    /// Sets up the scenario's evaluator if it is an episode; otherwise returns `None`.
    pub(super) async fn open(
        scenario: &Scenario,
        agents: &TrialAgents,
        seed: u64,
        recorder: &mut Recorder,
        transcript: &Transcript,
    ) -> Result<Option<Self>, Problem> {
        let (
            Green::Builtin(Evaluator::Episode(settings)),
            Some(environment_server),
            Some(participant),
        ) = (&scenario.green, &agents.environment_server, scenario.worker())
        else {
            return Ok(None);
        };
        let hop = to_environment(&participant.role);
        let tap = match settings.transport {
            McpTransport::Http => None,
            McpTransport::Stdio => {
                let tap = recorder.tap_stdio(hop.clone(), transcript, &agents.masker).await;
                Some(tap.map_err(|error| ProblemKind::Harness.because(chain(&error)))?)
            }
        };
        let own = environment_server
            .url()
            .join(MCP_PATH)
            .map_err(|error| ProblemKind::Harness.because(error))?;
        let reach = EnvironmentAccess {
            url: recorder.url(&hop).unwrap_or_else(|| own.clone()),
            relay: tap.iter().flat_map(|tap| relay(tap, &own)).collect(),
        };
        let episodes = Episodes::new(EPISODES);
        let masker = agents.masker.clone();
        let counted = transcript.clone();
        let mut evaluator = EpisodeEvaluator::new(settings.clone(), seed, episodes, reach);
        evaluator.limits.reply = CALL_LIMIT;
        evaluator.limits.idle = CALL_LIMIT;
        evaluator.keyring = agents.keyring.clone();
        evaluator.believes = is_believed(participant);
        evaluator.unrecorded_sink =
            Arc::new(move |role: &str, bytes| counted.count_unrecorded(role, bytes));
        evaluator.secret_sink = Arc::new(move |secret: &Secret| masker.learn(secret.expose()));
        let evaluator = Arc::new(evaluator);
        let preset = match settings.delivery {
            Delivery::Messages | Delivery::Synchronous => None,
            Delivery::Preset => {
                let details = evaluator.open_ahead().await;
                Some(details.map_err(|error| ProblemKind::Harness.because(error))?)
            }
        };
        let (served, url) = (evaluator.clone(), environment_server.url().clone());
        environment_server
            .serve(async move { router(served, &url).await.map_err(io::Error::other) });
        Ok(Some(Self { evaluator, preset, tap }))
    }
}

/// Returns the command for stdio access: a wrapper that records, around the relay that connects to the
/// environment.
fn relay(tap: &Url, environment: &Url) -> Vec<String> {
    let wrapper = [WRAPPER, RECORD_STDIO, "--to", tap.as_str(), "--"];
    let relay = RELAY.into_iter().chain([environment.as_str()]);
    wrapper.into_iter().chain(relay).map(str::to_owned).collect()
}
