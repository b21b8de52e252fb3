//! The options of the client.

use std::time::Duration;

use rmcp::{model::ProtocolVersion, service::ClientLifecycleMode};

/// The options of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The generation of MCP to speak.
    pub lifecycle: Lifecycle,
    /// The limits of time and size.
    pub limits: Limits,
}

/// The way in which a client begins the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lifecycle {
    /// Sends `server/discover` (2026-07-28, stateless), and falls back to `initialize` if the server does not know
    /// that method.
    #[default]
    Either,
    /// Sends `initialize` (up to 2025-11-25, with sessions).
    Initialize,
    /// Sends only `server/discover` (2026-07-28).
    Discover,
}

impl Lifecycle {
    pub(super) fn mode(self) -> ClientLifecycleMode {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        match self {
            Self::Initialize => ClientLifecycleMode::Initialize,
            Self::Discover => ClientLifecycleMode::Discover { preferred_versions },
            Self::Either => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
        }
    }
}

/// Limits of time and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The time until a connection over HTTP is open and a version is negotiated.
    pub connect: Duration,
    /// The same for a program, which has to start first. `npx` and `uvx` download it before.
    pub start: Duration,
    /// The time until a call has its result, and until all tools are listed.
    pub call: Duration,
    /// The time in which a connection closes gracefully.
    pub close: Duration,
    /// The largest result of a call and the largest list of tools, as bytes of JSON. Messages over 16 MiB are
    /// always rejected.
    pub result: usize,
    /// The largest number of tools of a server.
    pub tools: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            start: Duration::from_secs(60),
            call: Duration::from_secs(60),
            close: Duration::from_secs(5),
            result: 4 << 20,
            tools: 256,
        }
    }
}
