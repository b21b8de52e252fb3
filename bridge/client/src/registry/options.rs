//! What a user of a registry can set.

use std::time::Duration;

use super::RegistryAuth;

/// How a registry is asked.
#[derive(Clone, Debug)]
pub struct RegistryOptions {
    /// Who asks. It goes to the registry and to the token server that it names.
    pub auth: RegistryAuth,
    /// Until a connection stands.
    pub connect: Duration,
    /// Until one request is answered.
    pub reply: Duration,
    /// The largest card, in bytes.
    pub size: usize,
    /// The largest answer of another kind, in bytes: a manifest, a page of a list, a token.
    pub answer: usize,
    /// How many repositories a registry may have whose cards are looked for.
    pub repositories: usize,
    /// For how long what is known of the registry is used without asking again. Zero asks every time,
    /// which costs a request for each tag; cards whose digest is known are never pulled again.
    pub fresh: Duration,
    /// How many repositories and tags one page has.
    pub page: usize,
    /// How many tags of one repository are looked at, the newest versions first.
    pub tags: usize,
    /// Until an agent has shown that it is there.
    pub health: Duration,
}

impl Default for RegistryOptions {
    fn default() -> Self {
        Self {
            auth: RegistryAuth::Anonymous,
            connect: Duration::from_secs(5),
            reply: Duration::from_secs(10),
            size: 1 << 20,
            answer: 4 << 20,
            repositories: 1000,
            fresh: Duration::from_secs(30),
            page: 100,
            tags: 8,
            health: Duration::from_secs(2),
        }
    }
}
