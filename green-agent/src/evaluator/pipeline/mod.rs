//! The evaluator `pipeline`: agents that are found by skill work one after the other, and in parallel where
//! no step needs the other's output.
//!
//! A pipeline contains no addresses of agents. Before every step, an agent with the skill is looked up: among
//! the scenario's participants, at other addresses, or in a registry.
//!
//! - [`PipelineEvaluator`]: an [`Evaluator`], in the runner and as an agent
//! - [`router`](fn@router): that agent, at one address
//! - `schedule`, `document`: which step may begin, and its input
//! - `run`, `step`: runs the steps in that order, each with its retries
//! - `agent_directory`: the traits for finding agents, implemented by `address_directory` and
//!   `registry_directory`; `agent`: a call to one of them, with the settings of `call_context`
//! - [`Keyring`]: the credentials that agents are sent
//! - `request`: the requirements in a message
//! - `result`, `error`: the result, and the reasons for a failure

mod address_directory;
mod agent;
mod agent_directory;
mod call_context;
mod document;
mod error;
#[cfg(test)]
mod fixture;
mod keyring;
mod registry_directory;
mod request;
mod result;
mod router;
mod run;
mod schedule;
mod step;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bridge_client::{
    Limits, Options,
    registry::{Registry, RegistryAuth},
};
use bridge_protocol::a2a::{AgentCard, Message};
use serde_json::Value;
use url::Url;

use self::{
    address_directory::{AddressDirectory, ListedAddress},
    call_context::CallContext,
    registry_directory::CombinedDirectory,
    run::PipelineRun,
};
use super::{
    custom::{AssessError, Evaluator, Verdict},
    reporter::Reporter,
    request::AssessmentRequest,
};
use crate::scenario::pipeline::{Pipeline, Place, REQUIREMENTS};
pub use keyring::{Key, Keyring, KeyringError};
pub use router::router;

/// The extra time for cancellations after a pipeline's own time limit.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Runs agents through a pipeline, once for each request.
pub struct PipelineEvaluator {
    pipeline: Pipeline,
    options: Options,
    keys: Vec<Key>,
    /// The registry client, kept between runs so that cached cards are still known when the registry cannot
    /// be reached.
    registry: Mutex<Option<(Url, Arc<Registry>)>>,
}

impl PipelineEvaluator {
    /// Returns an evaluator with these limits for a call to an agent; the pipeline's own limits apply too.
    pub fn new(pipeline: Pipeline, limits: Limits) -> Self {
        let options = Options {
            limits,
            ..Options::default()
        };
        Self {
            pipeline,
            options,
            keys: Vec::new(),
            registry: Mutex::default(),
        }
    }

    /// Sets the credentials for agents and the registry. Each is sent to its own address only.
    #[must_use]
    pub fn with_keys(self, keys: Vec<Key>) -> Self {
        Self { keys, ..self }
    }

    /// Returns the longest that an evaluation takes.
    pub fn longest(&self) -> Duration {
        self.pipeline.timeout + LAST_WORDS
    }

    async fn lead(
        &self,
        requirements: Value,
        participants: &[(String, Url)],
        reporter: &Reporter,
    ) -> Result<Verdict, AssessError> {
        let agent_directory = self.agent_directory(participants)?;
        if agent_directory.is_empty() {
            let why = "no agents are known here: expected participants in the request, or to be served with \
                       --agent URL or --registry URL";
            return Err(AssessError::Rejected(why.to_owned()));
        }
        let course = PipelineRun {
            pipeline: &self.pipeline,
            agent_directory: &agent_directory,
            reporter,
        };
        let mut played = course.run(requirements).await?;
        played.still_working = agent_directory.call_context.cancellations.finish().await;
        for still_working in &played.still_working {
            reporter.say(still_working.clone()).await?;
        }
        played.verdict()
    }

    /// Returns the directory in which agents are found: the places that the file names, otherwise the
    /// participants.
    fn agent_directory(
        &self,
        participants: &[(String, Url)],
    ) -> Result<CombinedDirectory, AssessError> {
        let agents = &self.pipeline.agents;
        let named = |(role, url): &(String, Url)| ListedAddress {
            name: role.clone(),
            url: url.clone(),
            many: false,
        };
        let listed = match agents.is_empty() {
            true => participants.iter().map(named).collect(),
            false => {
                let listed = agents.listed.iter();
                let listed = listed.map(|place| listed_at(place, participants));
                listed.collect::<Result<_, _>>()?
            }
        };
        let registry = agents.registry.as_ref();
        let registry = registry.map(|place| self.registry(&listed_at(place, participants)?.url));
        let call_context = CallContext::new(self.options.clone(), self.keys.clone());
        Ok(CombinedDirectory {
            address_directory: AddressDirectory::new(listed, call_context.clone()),
            registry: registry.transpose()?,
            call_context,
        })
    }

    fn registry(&self, url: &Url) -> Result<Arc<Registry>, AssessError> {
        let mut known = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, registry)) = known.as_ref().filter(|(known, _)| known == url) {
            return Ok(registry.clone());
        }
        let mut keys = self.keys.iter();
        let key = keys.find(|key| key.url.origin() == url.origin());
        let auth = key.map_or(RegistryAuth::Anonymous, Key::registry_auth);
        let registry = registry_directory::registry(url, auth);
        let registry = registry.map_err(|fault| AssessError::Rejected(fault.to_string()))?;
        let registry = Arc::new(registry);
        *known = Some((url.clone(), registry.clone()));
        Ok(registry)
    }
}

/// Returns an address with its name for messages.
fn listed_at(place: &Place, participants: &[(String, Url)]) -> Result<ListedAddress, AssessError> {
    let (name, url) = match place {
        Place::Url(url) => (url.to_string(), url.clone()),
        Place::Role(role) => {
            let named = participants.iter().find(|(name, _)| name == role);
            let missing = || format!("participants: expected {role:?}, where agents are found");
            named
                .cloned()
                .ok_or_else(|| AssessError::Rejected(missing()))?
        }
    };
    Ok(ListedAddress {
        name,
        url,
        many: true,
    })
}

#[async_trait]
impl Evaluator for PipelineEvaluator {
    fn card(&self, card: AgentCard) -> AgentCard {
        request::card(&self.pipeline, card)
    }

    /// Runs the pipeline. The request's `config.requirements` replaces the file's.
    async fn assess(
        &self,
        request: &AssessmentRequest,
        reporter: &Reporter,
    ) -> Result<Verdict, AssessError> {
        let given = request.config.get(REQUIREMENTS);
        let requirements = given.or(self.pipeline.requirements.as_ref());
        let requirements = requirements.cloned().unwrap_or_default();
        self.lead(requirements, &request.participants, reporter)
            .await
    }

    async fn welcome(
        &self,
        message: &Message,
        reporter: &Reporter,
    ) -> Result<Verdict, AssessError> {
        let requirements = request::requirements(message)?;
        self.lead(requirements, &[], reporter).await
    }
}

impl fmt::Debug for PipelineEvaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipelineEvaluator")
            .field("pipeline", &self.pipeline)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Part, Role};
    use serde_json::Map;

    use super::*;
    use crate::scenario::pipeline::Agents;

    fn evaluator(agents: Agents) -> PipelineEvaluator {
        let pipeline = fixture::pipeline("[[config.step]]\nid = 'a'\nskill = 'x'\n");
        PipelineEvaluator::new(Pipeline { agents, ..pipeline }, Limits::default())
    }

    #[tokio::test]
    async fn somebody_must_be_named_before_anything_begins() {
        let reporter = Reporter::to(Arc::new(|_: &str| ()));
        let fib = Message::new("m", Role::User, vec![Part::text("fib")]);
        let nobody = evaluator(Agents::default()).welcome(&fib, &reporter).await;
        let said = nobody.unwrap_err().to_string();
        assert!(said.starts_with("no agents are known here: "), "{said}");
        let agents = Agents {
            listed: vec![Place::Role("plan".to_owned())],
            registry: None,
        };
        let request = AssessmentRequest {
            participants: Vec::new(),
            config: Map::new(),
        };
        let missing = evaluator(agents).assess(&request, &reporter).await;
        assert_eq!(
            missing.unwrap_err().to_string(),
            "participants: expected \"plan\", where agents are found"
        );
    }

    #[test]
    fn a_registry_is_kept_between_two_evaluations() {
        let url = || Url::parse("http://127.0.0.1:5000/").unwrap();
        let evaluator = evaluator(Agents::default());
        let first = evaluator.registry(&url()).unwrap();
        assert!(Arc::ptr_eq(&first, &evaluator.registry(&url()).unwrap()));
    }
}
