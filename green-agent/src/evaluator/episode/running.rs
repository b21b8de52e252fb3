//! An episode that was opened, and the details by which it is reached.

use std::time::Duration;

use jiff::Timestamp;
use mcp_tools::{
    connection::{ConnectionDetails, Transport},
    environments::{Environment, Score},
    episodes::{EndReason, Episodes, Limits, Opened, Outcome},
    secret::Secret,
};

use super::{EnvironmentAccess, NewEnvironment};
use crate::{
    evaluator::custom::AssessError,
    scenario::episode::{Episode, McpTransport, TokenKind},
};

/// The variable in which a relay finds the token.
const TOKEN_VARIABLE: &str = "MCP_TOKEN";

/// What an episode is opened with.
pub(super) struct EpisodeOptions<'a> {
    pub(super) settings: &'a Episode,
    pub(super) seed: u64,
    pub(super) episodes: &'a Episodes,
    pub(super) reach: &'a EnvironmentAccess,
    pub(super) environments: &'a NewEnvironment,
    pub(super) now: Timestamp,
}

/// An episode that goes on.
pub(super) struct RunningEpisode {
    pub(super) opened: Opened,
    /// What the participant is told. Its token is not always the episode's.
    pub(super) details: ConnectionDetails,
    /// The episode whose token the participant was given in the place of its own.
    decoy: Option<Opened>,
}

impl EpisodeOptions<'_> {
    pub(super) async fn open(&self) -> Result<RunningEpisode, AssessError> {
        let limits = Limits {
            steps: self.settings.limits.steps,
            time: self.settings.limits.time,
            ..Limits::default()
        };
        let opened = self.open_with(limits)?;
        let decoy = match self.settings.token {
            TokenKind::Valid | TokenKind::Wrong => None,
            TokenKind::Foreign => Some(self.open_with(limits)?),
            TokenKind::Expired => Some(self.open_expired(limits).await?),
        };
        let token = match (self.settings.token, &decoy) {
            (TokenKind::Wrong, _) => changed(&opened.token),
            (_, Some(decoy)) => decoy.token.clone(),
            (_, None) => opened.token.clone(),
        };
        let mut details = self.reached_with(&token);
        details.episode_id = Some(opened.id.clone());
        // Who is told that a token has expired does not try it; here it shall be tried.
        details.expires_at =
            (self.settings.token != TokenKind::Expired).then_some(opened.expires_at);
        Ok(RunningEpisode {
            opened,
            details,
            decoy,
        })
    }

    fn open_with(&self, limits: Limits) -> Result<Opened, AssessError> {
        let opened = self.episodes.open(self.environment()?, limits, self.now);
        opened.map_err(|error| AssessError::Failed(format!("no episode can be opened: {error}")))
    }

    /// An episode whose time was over as soon as it had begun.
    async fn open_expired(&self, limits: Limits) -> Result<Opened, AssessError> {
        let opened = self.open_with(Limits {
            time: Duration::from_millis(1),
            ..limits
        })?;
        self.episodes.finished(&opened.id).await;
        Ok(opened)
    }

    fn environment(&self) -> Result<Box<dyn Environment>, AssessError> {
        let name = &self.settings.environment;
        (self.environments)(name, self.seed).ok_or_else(|| {
            AssessError::Rejected(format!("config.environment: there is none called {name:?}"))
        })
    }

    fn reached_with(&self, token: &Secret) -> ConnectionDetails {
        match (self.settings.transport, self.reach.relay.split_first()) {
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

/// A token that nobody gave out.
fn changed(token: &Secret) -> Secret {
    Secret::new(
        token
            .expose()
            .chars()
            .rev()
            .chain(['x'])
            .collect::<String>(),
    )
}

impl RunningEpisode {
    /// What must not be shown.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let decoy = self.decoy.iter().map(|decoy| &decoy.token);
        let told = self.details.secrets().into_iter();
        [&self.opened.token].into_iter().chain(decoy).chain(told)
    }

    /// Ends it, and says what came of it.
    pub(super) async fn close(&self, episodes: &Episodes) -> Outcome {
        if let Some(decoy) = &self.decoy {
            episodes.close(&decoy.id).await;
        }
        let outcome = episodes.close(&self.opened.id).await;
        // Nobody else closes it, and if somebody did, nothing was reached.
        outcome.unwrap_or_else(nothing)
    }
}

fn nothing() -> Outcome {
    Outcome {
        score: Score::nothing(),
        steps: 0,
        ended: EndReason::Closed,
        fault: None,
        trace: Vec::new(),
    }
}
