//! Runs a pipeline, once for each request.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use bridge_client::{
    Limits, Options,
    registry::{Registry, RegistryAuth},
};
use bridge_program::lock;
use bridge_protocol::a2a::Part;
use serde_json::Value;
use url::Url;

use super::{
    agent::PendingCancellations,
    call_context::{AgentMeter, CallContext},
    directory::{self, Directory, ListedAddress},
    error::PipelineError,
    keyring::Key,
    model::{AgentAddress, Pipeline},
    progress::Progress,
    result::PipelineResult,
    run::PipelineRun,
};

/// The extra time for cancellations after a pipeline's own time limit.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Runs a pipeline, once for each request. Several runs may go on at the same time.
pub struct Engine {
    pipeline: Pipeline,
    call_context: CallContext,
    /// The registry client, kept between runs so that cached cards are still known when the registry cannot
    /// be reached.
    registry: Mutex<Option<(Url, Arc<Registry>)>>,
}

impl Engine {
    /// Returns an engine with these limits for a call to an agent; the pipeline's own limits apply too.
    pub fn new(pipeline: Pipeline, limits: Limits) -> Self {
        let options = Options { limits, ..Options::default() };
        let call_context = CallContext { options, ..CallContext::default() };
        Self { pipeline, call_context, registry: Mutex::default() }
    }

    /// Sets the credentials for agents and the registry. Each is sent to its own address only.
    #[must_use]
    pub fn with_keys(mut self, keys: Vec<Key>) -> Self {
        self.call_context.keys = keys;
        self
    }

    /// Sets the function that counts what agents send over gRPC.
    #[must_use]
    pub fn with_meter(mut self, meter: AgentMeter) -> Self {
        self.call_context.meter = Some(meter);
        self
    }

    /// Returns the pipeline.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Returns the time limit of a run.
    pub fn longest(&self) -> Duration {
        self.pipeline.timeout + LAST_WORDS
    }

    /// Runs the pipeline. `participants` are the agents by role; they are searched for skills if the pipeline
    /// names no addresses.
    ///
    /// # Errors
    /// [`PipelineError`]. A failed step is not an error but a [`PipelineResult`] with a failure.
    pub async fn run<P: Progress>(
        &self,
        requirements: Value,
        participants: &[(String, Url)],
        progress: &P,
    ) -> Result<PipelineResult, PipelineError<P::Error>> {
        let cancellations = PendingCancellations::default();
        let call_context =
            CallContext { cancellations: cancellations.clone(), ..self.call_context.clone() };
        let directory = self.directory(participants, call_context);
        let directory = directory.map_err(PipelineError::Rejected)?;
        if directory.is_empty() {
            let why = "no agents are known: name participants in the request, or start the server with --agent URL \
                       or --registry URL";
            return Err(PipelineError::Rejected(why.to_owned()));
        }
        let run = PipelineRun { pipeline: &self.pipeline, directory: &directory, progress };
        let ended = run.run(requirements).await;
        let ended = ended.map_err(PipelineError::Abandoned)?;
        let still_working = cancellations.finish().await;
        for agent in &still_working {
            let sent = progress.send(vec![Part::text(agent.as_str())]);
            sent.await.map_err(PipelineError::Abandoned)?;
        }
        ended.end(&still_working)
    }

    /// Returns the directory of agents: the addresses that the pipeline names, otherwise the participants.
    fn directory(
        &self,
        participants: &[(String, Url)],
        call_context: CallContext,
    ) -> Result<Directory, String> {
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
        Ok(Directory::new(listed, registry.transpose()?, call_context))
    }

    fn registry(&self, url: &Url) -> Result<Arc<Registry>, String> {
        let mut known = lock(&self.registry);
        if let Some((_, registry)) = known.as_ref().filter(|(known, _)| known == url) {
            return Ok(registry.clone());
        }
        let mut keys = self.call_context.keys.iter();
        let key = keys.find(|key| key.url.origin() == url.origin());
        let auth = key.map_or(RegistryAuth::Anonymous, Key::registry_auth);
        let registry = directory::registry(url, auth);
        let registry = Arc::new(registry.map_err(|fault| fault.to_string())?);
        *known = Some((url.clone(), registry.clone()));
        Ok(registry)
    }
}

/// Returns an address with its name for messages.
fn listed_at(
    place: &AgentAddress,
    participants: &[(String, Url)],
) -> Result<ListedAddress, String> {
    let (name, url) = match place {
        AgentAddress::Url(url) => (url.to_string(), url.clone()),
        AgentAddress::Role(role) => {
            let named = participants.iter().find(|(name, _)| name == role);
            let missing =
                || format!("participants: expected {role:?}, an address at which agents are found");
            named.cloned().ok_or_else(missing)?
        }
    };
    Ok(ListedAddress { name, url, many: true })
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("pipeline", &self.pipeline).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{
        Agents,
        fixture::{Ignored, pipeline},
    };

    fn engine(agents: Agents) -> Engine {
        let pipeline = pipeline("[[config.step]]\nid = 'a'\nskill = 'x'\n");
        Engine::new(Pipeline { agents, ..pipeline }, Limits::default())
    }

    #[tokio::test]
    async fn somebody_must_be_named_before_anything_begins() {
        let nobody = engine(Agents::default());
        let error = nobody.run("fib".into(), &[], &Ignored).await.unwrap_err();
        let told = error.to_string();
        assert!(told.starts_with("no agents are known: "), "{told}");
        let agents = Agents { listed: vec![AgentAddress::Role("plan".to_owned())], registry: None };
        let missing = engine(agents).run("fib".into(), &[], &Ignored).await;
        assert_eq!(
            missing.unwrap_err().to_string(),
            "participants: expected \"plan\", an address at which agents are found"
        );
    }

    #[test]
    fn a_registry_is_kept_between_two_runs() {
        let url = || Url::parse("http://127.0.0.1:5000/").unwrap();
        let engine = engine(Agents::default());
        let first = engine.registry(&url()).unwrap();
        assert!(Arc::ptr_eq(&first, &engine.registry(&url()).unwrap()));
    }
}
