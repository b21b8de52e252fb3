//! On which terms agents work here: within which limits, what each of them is shown, and who is told when
//! nobody waits any more.

use std::sync::Arc;

use bridge_client::{
    Credentials, Options,
    discovery::{Discovered, Skill},
};
use url::Url;

use super::{
    agent::{Agent, PendingCancellations},
    keyring::Key,
};

/// The terms of one run. Clones share who is still being told.
#[derive(Clone, Debug, Default)]
pub(super) struct CallContext {
    options: Options,
    keys: Vec<Key>,
    pub(super) cancellations: PendingCancellations,
}

impl CallContext {
    pub(super) fn new(options: Options, keys: Vec<Key>) -> Self {
        Self {
            options,
            keys,
            cancellations: PendingCancellations::default(),
        }
    }

    /// An agent who is to apply a skill.
    pub(super) fn agent(&self, found: Arc<Discovered>, skill: Skill) -> Agent {
        let options = Options {
            credentials: self.shown_to(found.reach.url()),
            ..self.options.clone()
        };
        Agent {
            found,
            skill,
            options,
            cancellations: self.cancellations.clone(),
        }
    }

    /// Within which limits agents are looked for and called.
    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    /// What the agent at an address is shown: all that is meant for its server. Where several agents share that,
    /// what is meant for the path that has most in common with its own.
    pub(super) fn shown_to(&self, url: &Url) -> Credentials {
        let meant = self.keys.iter().filter(|key| {
            let credentials = Credentials::default().meant_for(&key.url);
            credentials.are_meant_for(url)
        });
        let Some(best) = meant.clone().map(|key| common(&key.url, url)).max() else {
            return Credentials::default();
        };
        let mut own = meant.filter(|key| common(&key.url, url) == best);
        // That they can be shown at all was seen when they were looked up.
        let all = own.try_fold(Credentials::default(), |all, key| key.add_to(all));
        all.unwrap_or_default().meant_for(url)
    }
}

/// How many segments two paths have in common at their beginning.
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
    use crate::{
        evaluator::pipeline::keyring::Keyring,
        scenario::pipeline::{Credential, Place, SecretPlace, Shown},
    };

    fn call_context(credentials: &[(&str, &str)]) -> CallContext {
        let credential = |(url, scheme): &(&str, &str)| Credential {
            agent: Place::Url(url.parse().unwrap()),
            shown: Shown::Scheme((*scheme).to_owned()),
            secret: SecretPlace::Env("TOKEN".to_owned()),
        };
        let credentials: Vec<_> = credentials.iter().map(credential).collect();
        let keyring = Keyring::look_up(&credentials, |_| Some("hunter2"), "".as_ref()).unwrap();
        CallContext::new(Options::default(), keyring.keys(&[]).unwrap())
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
