//! The options of a registry.

use std::{fmt, time::Duration};

use crate::Tls;

/// Credentials for a registry.
#[derive(Clone, PartialEq, Eq)]
pub enum RegistryAuth {
    /// None.
    Anonymous,
    /// A user name and a password.
    Basic(String, String),
    /// A token that the registry has issued.
    Bearer(String),
}

impl fmt::Debug for RegistryAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anonymous => "Anonymous",
            Self::Basic(..) => "Basic(..)",
            Self::Bearer(_) => "Bearer(..)",
        })
    }
}

/// Limits and credentials for a registry.
#[derive(Clone, Debug)]
pub struct RegistryOptions {
    /// The credentials, sent to the registry and to the token server that it names.
    pub auth: RegistryAuth,
    /// The certificates of connections to the registry, and to agents that are asked whether they are healthy.
    pub tls: Tls,
    /// The time to connect.
    pub connect: Duration,
    /// The time for one request.
    pub reply: Duration,
    /// The largest card, in bytes.
    pub size: usize,
    /// The largest answer of any other kind, in bytes: a manifest, a page of a list, a token.
    pub answer: usize,
    /// The largest number of repositories of a registry.
    pub repositories: usize,
    /// The number of repositories or tags in one page.
    pub page: usize,
    /// The number of tags read of each repository, newest versions first.
    pub tags: usize,
    /// The time in which an agent must answer to be counted as healthy.
    pub health: Duration,
}

impl Default for RegistryOptions {
    fn default() -> Self {
        Self {
            auth: RegistryAuth::Anonymous,
            tls: Tls::default(),
            connect: Duration::from_secs(5),
            reply: Duration::from_secs(10),
            size: 1 << 20,
            answer: 4 << 20,
            repositories: 1000,
            page: 100,
            tags: 8,
            health: Duration::from_secs(2),
        }
    }
}
