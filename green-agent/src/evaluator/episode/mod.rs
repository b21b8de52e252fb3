//! The evaluator `episode`: one participant works in an environment, over MCP.
//!
//! The score is read from the environment's state, never from what the participant says.
//!
//! ```no_run
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use green_agent::{
//!     evaluator::episode::{EnvironmentAccess, EpisodeEvaluator, MCP_PATH, router},
//!     scenario::episode::Episode,
//! };
//! use mcp_tools::{environments, episodes::Episodes};
//!
//! let url: url::Url = "http://127.0.0.1:9009".parse()?;
//! let reach = EnvironmentAccess {
//!     url: url.join(MCP_PATH)?,
//!     relay: Vec::new(), // over HTTP alone
//! };
//! // The name is that in the config of a request; without one, it is that of the `Episode`.
//! let environment = |name: &str, seed: u64| match name {
//!     "lamp" => environments::builtin("sum", seed), // or a `Box` of one's own
//!     _ => None,
//! };
//! let evaluator = EpisodeEvaluator::new(Episode::new("lamp"), 0, Episodes::new(16), reach)
//!     .with_environments(Arc::new(environment));
//! let app = router(Arc::new(evaluator), &url).await?;
//! # drop(app);
//! # Ok(())
//! # }
//! ```
//!
//! - [`EpisodeEvaluator`]: an [`Evaluator`], in the runner and as a green agent
//! - [`router`](fn@router): the green agent with its environments, at one address
//! - `running`: an open episode and its connection details
//! - `details`: tasks and connection details as message parts
//! - `evaluator_calls`, `participant_calls`: the two directions
//! - `result`: the result of an episode

mod details;
mod evaluator_calls;
mod participant_calls;
mod request;
mod result;
mod router;
mod running;

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use bridge_client::Limits;
use bridge_program::lock;
use bridge_protocol::a2a::{AgentCard, Message};
use mcp_tools::{
    acknowledge::ACKNOWLEDGE_EXTENSION,
    connection::ConnectionDetails,
    environments::{self, Environment},
    episodes::Episodes,
    secret::Secret,
};
use serde_json::{Map, Value};
use tokio::sync::watch;
use url::Url;

use super::{
    assess_error::AssessError,
    credentials,
    custom::{EvaluationResult, Evaluator},
    pipeline::Keyring,
    reporter::Reporter,
    request::AssessmentRequest,
};
use crate::scenario::episode::{Delivery, Episode};
pub use router::{MCP_PATH, router};
use running::RunningEpisode;

/// Creates an environment by name and seed; `None` if there is none of that name.
pub type NewEnvironment = Arc<dyn Fn(&str, u64) -> Option<Box<dyn Environment>> + Send + Sync>;

/// Receives every token before it is sent, so that it can be masked in recordings.
pub type SecretSink = Arc<dyn Fn(&Secret) + Send + Sync>;

/// Receives the role of a participant and the size of its answer in bytes, if the answer came over gRPC: such answers do not
/// pass the recorder.
pub type UnrecordedSink = Arc<dyn Fn(&str, usize) + Send + Sync>;

/// The addresses at which participants reach the environments of an evaluator.
#[derive(Clone, Debug)]
pub struct EnvironmentAccess {
    /// The URL of the MCP endpoint over HTTP.
    pub url: Url,
    /// The program, with its arguments, that a participant starts to connect over stdio. It reads the token
    /// from the variable `MCP_TOKEN`.
    pub relay: Vec<String>,
}

/// An evaluator that runs a separate episode for each participant.
pub struct EpisodeEvaluator {
    settings: Episode,
    seed: u64,
    episodes: Episodes,
    reach: EnvironmentAccess,
    environments: NewEnvironment,
    /// Receives every token before it is sent.
    pub secret_sink: SecretSink,
    /// Counts answers over gRPC.
    pub unrecorded_sink: UnrecordedSink,
    /// The limits of a call to a participant.
    pub limits: Limits,
    /// The credentials that the participant is sent.
    pub keyring: Keyring,
    /// Whether the participant is believed if it reports that its language model could not be used, or refuses its task for
    /// want of credentials; an episode has no score then.
    pub believes: bool,
    /// The episode that was opened before a request for it.
    waiting: Mutex<Option<RunningEpisode>>,
    /// Becomes true when the evaluations requested by participants must end.
    over: watch::Sender<bool>,
}

impl EpisodeEvaluator {
    /// Returns an evaluator whose episodes participants reach through `reach`. `settings` are the defaults for settings
    /// that a request does not have; environments are created from `seed`.
    pub fn new(settings: Episode, seed: u64, episodes: Episodes, reach: EnvironmentAccess) -> Self {
        Self {
            settings,
            seed,
            episodes,
            reach,
            environments: Arc::new(environments::builtin),
            secret_sink: Arc::new(|_| ()),
            unrecorded_sink: Arc::new(|_, _| ()),
            limits: Limits::default(),
            keyring: Keyring::default(),
            believes: false,
            waiting: Mutex::default(),
            over: watch::Sender::default(),
        }
    }

    /// Replaces the built-in environments.
    #[must_use]
    pub fn with_environments(mut self, environments: NewEnvironment) -> Self {
        self.environments = environments;
        self
    }

    /// Opens the next evaluation's episode now and returns its connection details, for a participant that has
    /// them from the start. No message will contain them then.
    ///
    /// # Errors
    /// If the episode cannot be opened.
    pub async fn open_ahead(&self) -> Result<ConnectionDetails, AssessError> {
        let running = self.open(&self.settings, self.seed).await?;
        let details = running.details.clone();
        *lock(&self.waiting) = Some(running);
        Ok(details)
    }

    /// Ends the present and all later evaluations that participants ask for, because the participants are gone.
    pub fn end_all(&self) {
        self.over.send_replace(true);
    }

    /// Returns the episode that was opened ahead, or a new one.
    async fn next(&self, settings: &Episode, seed: u64) -> Result<RunningEpisode, AssessError> {
        let waiting = lock(&self.waiting).take();
        match waiting {
            Some(running) => Ok(running),
            None => self.open(settings, seed).await,
        }
    }

    /// Returns the settings and the seed, with the values of a request's config applied.
    fn configured(&self, config: &Map<String, Value>) -> Result<(Episode, u64), AssessError> {
        let rejected = |why: String| AssessError::Rejected(format!("config: {why}"));
        let mut settings = match serde_json::to_value(&self.settings) {
            Ok(Value::Object(settings)) => settings,
            _ => Map::new(),
        };
        for (name, value) in config {
            match (settings.get_mut(name), value) {
                // A request may set one of the limits only.
                (Some(Value::Object(known)), Value::Object(given)) => known.extend(given.clone()),
                _ => _ = settings.insert(name.clone(), value.clone()),
            }
        }
        settings.remove("evaluator");
        let seed = match settings.remove("seed") {
            Some(seed) => seed
                .as_u64()
                .ok_or_else(|| rejected(format!("seed: expected a whole number, found {seed}")))?,
            None => self.seed,
        };
        let settings = serde_json::from_value(Value::Object(settings));
        let settings: Episode = settings.map_err(|error| rejected(error.to_string()))?;
        if settings.delivery != Delivery::Messages && self.settings.delivery == Delivery::Messages {
            let why = "delivery: expected messages, for the participant is called";
            return Err(rejected(why.to_owned()));
        }
        Ok((settings, seed))
    }
}

#[async_trait]
impl Evaluator for EpisodeEvaluator {
    fn card(&self, mut card: AgentCard) -> AgentCard {
        let environment = &self.settings.environment;
        card.description = format!("Evaluates agents in the environment {environment}, over MCP");
        card
    }

    async fn assess(
        &self,
        request: &AssessmentRequest,
        reporter: &Reporter,
    ) -> Result<EvaluationResult, AssessError> {
        let [(role, url)] = &request.participants[..] else {
            let found = request.participants.len();
            let why = format!("participants: expected one, found {found}");
            return Err(AssessError::Rejected(why));
        };
        let (settings, seed) = self.configured(&request.config)?;
        let keys = self.keyring.keys(&request.participants);
        let keys = keys.map_err(|error| AssessError::Failed(error.to_string()))?;
        let running = self.next(&settings, seed).await?;
        let task = &running.opened.task;
        let text = format!("{role} works on {}: {}", task.task_id, task.goal);
        reporter.say(text).await?;
        let played = self.call(role, url, credentials(&keys, url), &settings, &running).await;
        let outcome = running.close().await;
        let played = played.map_err(|error| AssessError::Participant {
            role: role.clone(),
            error: Box::new(error),
        })?;
        let verdict = result::verdict(&running, &settings, seed, &outcome, Some(&played))?;
        match played.model_fault {
            Some(fault) if self.believes => Err(AssessError::Model(fault)),
            Some(_) | None => Ok(verdict),
        }
    }

    async fn welcome(
        &self,
        message: &Message,
        reporter: &Reporter,
    ) -> Result<EvaluationResult, AssessError> {
        request::check(message, &self.settings.environment).map_err(AssessError::Rejected)?;
        let running = self.next(&self.settings, self.seed).await?;
        let asked = message.extensions.iter().any(|uri| uri == ACKNOWLEDGE_EXTENSION);
        let acknowledge = self.settings.acknowledge.filter(|_| asked);
        let mut over = self.over.subscribe();
        let sent = tokio::select! {
            sent = participant_calls::instruct(&running, &self.settings, acknowledge, reporter, &self.episodes) => sent,
            _ = over.wait_for(|over| *over) => Ok(()),
        };
        let outcome = running.close().await;
        sent?;
        result::verdict(&running, &self.settings, self.seed, &outcome, None)
    }
}

impl fmt::Debug for EpisodeEvaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EpisodeEvaluator")
            .field("settings", &self.settings)
            .field("seed", &self.seed)
            .field("reach", &self.reach)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bridge_protocol::a2a::{Part, Role};
    use serde_json::json;

    use super::*;
    use crate::scenario::episode::{DetailsShape, EpisodeLimits};

    fn evaluator() -> EpisodeEvaluator {
        evaluator_of("sum")
    }

    fn evaluator_of(environment: &str) -> EpisodeEvaluator {
        let reach =
            EnvironmentAccess { url: "http://127.0.0.1:9/mcp".parse().unwrap(), relay: Vec::new() };
        EpisodeEvaluator::new(Episode::new(environment), 7, Episodes::new(1), reach)
    }

    fn configured(config: Value) -> Result<(Episode, u64), String> {
        let Value::Object(config) = config else {
            panic!("a config is an object");
        };
        let configured = evaluator().configured(&config);
        configured.map_err(|error| error.to_string())
    }

    #[test]
    fn a_request_says_what_is_to_be_otherwise() {
        assert_eq!(configured(json!({})), Ok((Episode::new("sum"), 7)));
        let config =
            json!({"evaluator": "episode", "environment": "shop", "seed": 3, "details": "text"});
        let mut expected = Episode::new("shop");
        expected.details = DetailsShape::Text;
        assert_eq!(configured(config), Ok((expected, 3)));
        let mut evaluator = evaluator();
        evaluator.settings.limits.time = Duration::from_secs(9);
        let config = Map::from_iter([("limits".to_owned(), json!({"steps": 3}))]);
        let (settings, _) = evaluator.configured(&config).unwrap();
        let EpisodeLimits { steps, time } = settings.limits;
        assert_eq!((steps, time), (3, Duration::from_secs(9)));
    }

    #[test]
    fn a_bad_request_is_reported_with_its_place() {
        for (config, expected) in [
            (json!({"seed": -1}), "config: seed: expected a whole number, found -1"),
            (json!({"detail": "text"}), "config: unknown field `detail`"),
            (json!({"delivery": "preset"}), "config: delivery: expected messages"),
        ] {
            let error = configured(config).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[tokio::test]
    async fn environments_of_ones_own_replace_the_builtin_ones() {
        let own: NewEnvironment = Arc::new(|name, seed| match name {
            "moon" => environments::builtin("sum", seed),
            _ => None,
        });
        let moon = evaluator_of("moon").with_environments(own.clone());
        assert!(moon.open_ahead().await.is_ok());
        let error = evaluator_of("sum").with_environments(own);
        let error = error.open_ahead().await.unwrap_err();
        let expected = "config.environment: there is no environment \"sum\"";
        assert_eq!(error.to_string(), expected);
    }

    #[tokio::test]
    async fn an_evaluation_that_is_dropped_leaves_no_episode_open() {
        let evaluator = evaluator();
        let reporter = Reporter::new(None, None);
        let message = Message::new("m", Role::User, vec![Part::text("ready for evaluation")]);
        for _ in 0..2 {
            let mut evaluation = evaluator.welcome(&message, &reporter);
            assert!(futures_util::poll!(&mut evaluation).is_pending());
            assert!(evaluator.open_ahead().await.is_err(), "there is room for one only");
            drop(evaluation);
            // The episode is closed by a task of its own.
            tokio::task::yield_now().await;
        }
        assert!(evaluator.open_ahead().await.is_ok());
    }

    #[tokio::test]
    async fn an_environment_must_be_known_and_one_participant_named() {
        let reporter = Reporter::new(None, None);
        for (participants, config, expected) in [
            (vec![], json!({}), "participants: expected one, found 0"),
            (
                vec![("a".to_owned(), "http://127.0.0.1:9/".parse().unwrap())],
                json!({"environment": "moon"}),
                "config.environment: there is no environment \"moon\"",
            ),
        ] {
            let config = config.as_object().cloned().unwrap();
            let request = AssessmentRequest { participants, config };
            let error = evaluator().assess(&request, &reporter).await.unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
