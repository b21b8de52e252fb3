//! The limits and credentials for calls to the agents of a pipeline.

use std::sync::Arc;

use bridge_client::{
    Credentials, GrpcMeter, Options,
    discovery::{Discovered, Skill},
};
use url::Url;

use super::{
    agent::{Agent, PendingCancellations},
    keyring::Key,
};

/// Is told the address of an agent's card, and the size of a message that the agent sent over gRPC, in bytes.
pub type AgentMeter = Arc<dyn Fn(&Url, usize) + Send + Sync>;

/// The limits and credentials of one run. Clones share the pending cancellations.
#[derive(Clone, Default)]
pub(super) struct CallContext {
    pub(super) options: Options,
    pub(super) keys: Vec<Key>,
    pub(super) meter: Option<AgentMeter>,
    pub(super) cancellations: PendingCancellations,
}

impl CallContext {
    /// Returns an agent, ready to call its skill.
    pub(super) fn agent(&self, found: Arc<Discovered>, skill: Skill) -> Agent {
        let options = Options {
            credentials: self.shown_to(found.endpoint.url()),
            grpc_meter: self.meter.clone().map(|meter| {
                let card = found.found_at.clone();
                GrpcMeter::new(move |bytes| meter(&card, bytes))
            }),
            ..self.options.clone()
        };
        Agent { found, skill, options, cancellations: self.cancellations.clone() }
    }

    /// Returns the credentials for the agent at an address: all that are meant for its server. If the server
    /// has several agents, those whose path has the most in common with the agent's.
    pub(super) fn shown_to(&self, url: &Url) -> Credentials {
        let meant = self.keys.iter().filter(|key| {
            let credentials = Credentials::default().meant_for(&key.url);
            credentials.are_meant_for(url)
        });
        let Some(best) = meant.clone().map(|key| common(&key.url, url)).max() else {
            return Credentials::default();
        };
        let mut own = meant.filter(|key| common(&key.url, url) == best);
        // The lookup has checked that each credential can be sent.
        let all = own.try_fold(Credentials::default(), |all, key| key.add_to(all));
        all.unwrap_or_default().meant_for(url)
    }
}

/// Returns how many leading path segments two URLs have in common.
fn common(one: &Url, other: &Url) -> usize {
    let segments = |url: &Url| -> Vec<String> {
        let segments = url.path().split('/').filter(|segment| !segment.is_empty());
        segments.map(str::to_owned).collect()
    };
    let (one, other) = (segments(one), segments(other));
    let pairs = one.iter().zip(&other);
    pairs.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{AgentAddress, Credential, CredentialForm, Keyring, SecretSource};

    fn call_context(credentials: &[(&str, &str)]) -> CallContext {
        let credential = |(url, scheme): &(&str, &str)| Credential {
            agent: AgentAddress::Url(url.parse().unwrap()),
            shown: CredentialForm::Scheme((*scheme).to_owned()),
            secret: SecretSource::Env("TOKEN".to_owned()),
        };
        let credentials: Vec<_> = credentials.iter().map(credential).collect();
        let keyring = Keyring::look_up(&credentials, |_| Some("hunter2"), "".as_ref()).unwrap();
        CallContext { keys: keyring.keys(&[]).unwrap(), ..CallContext::default() }
    }

    #[test]
    fn each_agent_is_shown_its_own() {
        let call_context = call_context(&[
            ("https://h/a2a/one", "first"),
            ("https://h/a2a/one", "second"),
            ("https://h/a2a/two", "third"),
            ("http://127.0.0.1:1/", "here"),
        ]);
        for (url, shown) in [
            ("https://h/a2a/one/v1", r#"["first", "second"]"#),
            ("https://h/a2a/two", r#"["third"]"#),
            ("https://h:443/rpc", r#"["first", "second", "third"]"#),
            ("http://localhost:1/x", r#"["here"]"#),
            ("http://127.0.0.1:2/", "[]"),
            ("http://h/a2a/one", "[]"),
            ("https://h.evil/a2a/one", "[]"),
        ] {
            let credentials = call_context.shown_to(&url.parse().unwrap());
            assert_eq!(format!("{credentials:?}"), shown, "{url}");
        }
    }
}
