//! Opens episodes and makes the connection details by which they are reached.

use std::{mem, ops::Deref, time::Duration};

use jiff::Timestamp;
use mcp_tools::{
    connection::{ConnectionDetails, Transport},
    environments::Score,
    episodes::{EndReason, Episodes, Limits, Opened, Outcome},
    secret::Secret,
};
use tokio::runtime::Handle;

use super::EpisodeEvaluator;
use crate::{
    evaluator::assess_error::AssessError,
    scenario::episode::{Episode, McpTransport, TokenKind},
};

/// The environment variable from which a relay reads the token.
const TOKEN_VARIABLE: &str = "MCP_TOKEN";

/// An open episode.
pub(super) struct RunningEpisode {
    pub(super) opened: OpenEpisode,
    /// The details that the participant gets. Their token is not always the episode's: see [`TokenKind`].
    pub(super) details: ConnectionDetails,
    /// The second episode, whose token the participant gets instead of its own, to test that it is refused.
    decoy: Option<OpenEpisode>,
}

/// An episode that is closed when this is dropped: an evaluation that is canceled ends wherever it waits, and its episode would
/// count among the open ones for ever.
pub(super) struct OpenEpisode {
    opened: Opened,
    episodes: Episodes,
}

impl Deref for OpenEpisode {
    type Target = Opened;

    fn deref(&self) -> &Opened {
        &self.opened
    }
}

impl Drop for OpenEpisode {
    fn drop(&mut self) {
        if self.episodes.get(&self.id).is_none() {
            return;
        }
        let (episodes, id) = (self.episodes.clone(), mem::take(&mut self.opened.id));
        // Without a runtime, the process is about to end.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { episodes.close(&id).await });
        }
    }
}

impl EpisodeEvaluator {
    /// Opens an episode, and gives its tokens to the sink.
    pub(super) async fn open(
        &self,
        settings: &Episode,
        seed: u64,
    ) -> Result<RunningEpisode, AssessError> {
        let limits = Limits {
            steps: settings.limits.steps,
            time: settings.limits.time,
            ..Limits::default()
        };
        let now = Timestamp::now();
        let open = |limits| -> Result<OpenEpisode, AssessError> {
            let name = &settings.environment;
            let environment = (self.environments)(name, seed).ok_or_else(|| {
                let why = format!("config.environment: there is no environment {name:?}");
                AssessError::Rejected(why)
            })?;
            let opened = self.episodes.open(environment, limits, now).map_err(|error| {
                AssessError::Failed(format!("no episode can be opened: {error}"))
            })?;
            Ok(OpenEpisode { opened, episodes: self.episodes.clone() })
        };
        let opened = open(limits)?;
        let decoy = match settings.token {
            TokenKind::Valid | TokenKind::Wrong => None,
            TokenKind::Foreign => Some(open(limits)?),
            TokenKind::Expired => {
                let expired = open(Limits { time: Duration::from_millis(1), ..limits })?;
                self.episodes.finished(&expired.id).await;
                Some(expired)
            }
        };
        let token = match (settings.token, &decoy) {
            (TokenKind::Wrong, _) => changed(&opened.token),
            (_, Some(decoy)) => decoy.token.clone(),
            (_, None) => opened.token.clone(),
        };
        let mut details = self.reached_with(settings.transport, &token);
        details.episode_id = Some(opened.id.clone());
        // The details do not show that the token has expired: otherwise a participant would not try it.
        details.expires_at = (settings.token != TokenKind::Expired).then_some(opened.expires_at);
        let running = RunningEpisode { opened, details, decoy };
        running.secrets().for_each(|secret| (self.secret_sink)(secret));
        Ok(running)
    }

    fn reached_with(&self, transport: McpTransport, token: &Secret) -> ConnectionDetails {
        match (transport, self.reach.relay.split_first()) {
            (McpTransport::Stdio, Some((command, args))) => {
                let mut details = ConnectionDetails::stdio("environment", command, args);
                if let Transport::Stdio { env, .. } = &mut details.transport {
                    env.insert(TOKEN_VARIABLE.to_owned(), token.clone());
                }
                details
            }
            (McpTransport::Http, _) | (McpTransport::Stdio, None) => {
                ConnectionDetails::http("environment", self.reach.url.clone()).with_bearer(token)
            }
        }
    }
}

/// Returns a token that differs from the given one and belongs to no episode.
fn changed(token: &Secret) -> Secret {
    Secret::new(token.expose().chars().rev().chain(['x']).collect::<String>())
}

impl RunningEpisode {
    /// Returns the tokens, which must be masked.
    fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let decoy = self.decoy.iter().map(|decoy| &decoy.token);
        let secrets = self.details.secrets().into_iter();
        [&self.opened.token].into_iter().chain(decoy).chain(secrets)
    }

    pub(super) async fn close(&self) -> Outcome {
        let outcome = self.opened.episodes.close(&self.opened.id).await;
        // Nothing else closes the episode; if it is closed nevertheless, the agent has reached nothing.
        outcome.unwrap_or_else(nothing)
    }
}

fn nothing() -> Outcome {
    Outcome {
        score: Score::nothing(),
        steps: 0,
        reached: false,
        ended: EndReason::Closed,
        fault: None,
        trace: Vec::new(),
    }
}
