//! The usable interfaces of an agent. The first in the card's order that accepts a connection is used
//! (specification 8.3.2, 5.2).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bridge_protocol::dialect::Call;

use crate::{Fault, Result, agent::Agent, without_user};

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
        self.at(self.current.load(Ordering::Relaxed))
    }

    fn at(&self, place: usize) -> &Arc<Agent> {
        let other = place.checked_sub(1).and_then(|place| self.others.get(place));
        other.unwrap_or(&self.first)
    }

    /// Makes a call at the interface in use. If it refuses the connection, tries the next one, since the call
    /// was certainly not received. After the last one come those before the interface in use, which may be back.
    pub(crate) async fn make<T, F>(
        &self,
        call: &Call,
        make: impl Fn(Arc<Agent>, Call) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let begin = self.current.load(Ordering::Relaxed);
        let mut rest = (begin + 1..=self.others.len()).chain(0..begin);
        let (mut place, mut refused, mut first) = (begin, Vec::new(), None);
        loop {
            let agent = self.at(place);
            let error = match make(agent.clone(), agent.with_tenant(call.clone())).await {
                Err(error) if matches!(error.fault, Fault::Unconnected(_)) => error,
                answer => {
                    self.current.store(place, Ordering::Relaxed);
                    return answer;
                }
            };
            refused.push(agent);
            let error = first.take().unwrap_or(error);
            let is_new = |one: &Agent| !refused.iter().any(|other| is_same_place(one, other));
            let Some(next) = rest.find(|place| is_new(self.at(*place))) else {
                return Err(error);
            };
            tracing::warn!(agent = %without_user(&agent.endpoint.url), "the connection is refused, trying the card's next interface");
            (place, first) = (next, Some(error));
        }
    }
}

fn is_same_place(one: &Agent, other: &Agent) -> bool {
    one.endpoint.url.origin() == other.endpoint.url.origin()
}

#[cfg(test)]
mod tests {
    use bridge_protocol::{
        a2a::{AgentCard, AgentInterface, GetTaskRequest},
        dialect::Call,
    };

    use super::*;
    use crate::Options;

    /// Returns the hosts that were asked, of which all but `up` refuse the connection.
    async fn asked(known: &InterfaceSet, up: &str) -> Vec<String> {
        let asked = std::sync::Mutex::new(Vec::new());
        let make = async |agent: Arc<Agent>, _| {
            let host = agent.endpoint.url.host_str().unwrap().to_owned();
            let answer = match host == up {
                true => Ok(()),
                false => {
                    Err(Fault::Unconnected("refused".into()).of(&agent.endpoint.url, "GetTask"))
                }
            };
            asked.lock().unwrap().push(host);
            answer
        };
        let call = Call::GetTask(GetTaskRequest::new("t"));
        assert_eq!(known.make(&call, make).await.is_ok(), !up.is_empty());
        asked.into_inner().unwrap()
    }

    #[tokio::test]
    async fn the_interfaces_are_tried_from_the_one_in_use_on() {
        let interface = |url: &str| AgentInterface::new(url, "JSONRPC", "1.0");
        let card = AgentCard {
            supported_interfaces: ["http://a/", "http://b/", "http://a/b", "http://c/"]
                .map(interface)
                .into(),
            ..AgentCard::default()
        };
        let base = "http://a/".parse().unwrap();
        let known = crate::connect::by_card(&card, &base, &Options::default()).unwrap();
        for (up, expected) in [
            ("b", vec!["a", "b"]),
            ("b", vec!["b"]),
            ("a", vec!["b", "a"]),
            ("c", vec!["a", "c"]),
            ("", vec!["c", "a", "b"]),
            ("b", vec!["c", "a", "b"]),
        ] {
            assert_eq!(asked(&known, up).await, expected, "{up}");
        }
    }
}
