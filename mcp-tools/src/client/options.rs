//! What a user of the client can set.

use std::time::Duration;

use rmcp::{model::ProtocolVersion, service::ClientLifecycleMode};

/// How a client speaks to servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Which generation of MCP it speaks.
    pub lifecycle: Lifecycle,
    /// How long it waits, how much it takes.
    pub limits: Limits,
}

/// How a client begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lifecycle {
    /// Asks with `server/discover` (2026-07-28, stateless), and begins with `initialize` where the server
    /// does not know that.
    #[default]
    Either,
    /// `initialize` (up to 2025-11-25, with sessions).
    Initialize,
    /// `server/discover` only (2026-07-28).
    Discover,
}

impl Lifecycle {
    pub(super) fn mode(self) -> ClientLifecycleMode {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        match self {
            Self::Initialize => ClientLifecycleMode::Initialize,
            Self::Discover => ClientLifecycleMode::Discover { preferred_versions },
            Self::Either => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: None,
            },
        }
    }
}

/// Limits of time and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until a connection stands and a version is agreed on.
    pub connect: Duration,
    /// Until a call has its result, and until the tools are listed.
    pub call: Duration,
    /// Until a closed connection has ended in good order.
    pub close: Duration,
    /// The largest result of a call and the largest list of tools, as bytes of JSON. A message of 16 MiB
    /// is never taken, whatever this says.
    pub result: usize,
    /// The most tools of a server.
    pub tools: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            call: Duration::from_secs(60),
            close: Duration::from_secs(5),
            result: 4 << 20,
            tools: 256,
        }
    }
}
