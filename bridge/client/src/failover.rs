//! The usable interfaces of an agent. The first in the card's order that accepts a connection is used
//! (specification 8.3.2, 5.2).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bridge_protocol::dialect::Call;

use crate::{ClientError, Fault, Result, agent::Agent, tenant};

/// The usable interfaces of an agent, one of which is in use.
#[derive(Debug)]
pub(crate) struct InterfaceSet {
    first: Arc<Agent>,
    others: Vec<Arc<Agent>>,
    current: AtomicUsize,
}

impl InterfaceSet {
    pub(crate) fn new(first: Agent, others: impl IntoIterator<Item = Agent>) -> Self {
        Self {
            first: Arc::new(first),
            others: others.into_iter().map(Arc::new).collect(),
            current: AtomicUsize::new(0),
        }
    }

    /// Returns the interface in use.
    pub(crate) fn agent(&self) -> &Arc<Agent> {
        let current = self.current.load(Ordering::Relaxed);
        self.at(current).unwrap_or(&self.first)
    }

    fn at(&self, place: usize) -> Option<&Arc<Agent>> {
        match place.checked_sub(1) {
            None => Some(&self.first),
            Some(place) => self.others.get(place),
        }
    }

    /// Makes a call at the interface in use. If it refuses the connection, tries the next one, since the call
    /// was certainly not received.
    pub(crate) async fn make<T, F>(
        &self,
        call: &Call,
        make: impl Fn(Arc<Agent>, Call) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let mut place = self.current.load(Ordering::Relaxed);
        let mut refused: Option<(Vec<&Arc<Agent>>, ClientError)> = None;
        while let Some(agent) = self.at(place) {
            let before = refused.as_ref().map_or(&[][..], |(agents, _)| agents);
            if !before.iter().any(|one| is_same_place(one, agent)) {
                let named_call = tenant::name(call.clone(), agent.tenant.as_deref());
                match make(agent.clone(), named_call).await {
                    Err(error) if matches!(error.fault, Fault::Unconnected(_)) => {
                        tracing::warn!(agent = %agent.url, "the connection is refused, trying the card's next interface");
                        refused.get_or_insert_with(|| (Vec::new(), error)).0.push(agent);
                    }
                    answer => {
                        self.current.store(place, Ordering::Relaxed);
                        return answer;
                    }
                }
            }
            place += 1;
        }
        Err(match refused {
            Some((_, error)) => error,
            None => Fault::Unconnected("there is no such interface".into())
                .of(&self.first.url, call.operation().name()),
        })
    }
}

fn is_same_place(one: &Agent, other: &Agent) -> bool {
    one.url.origin() == other.url.origin()
}
