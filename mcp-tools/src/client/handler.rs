//! Handles requests and notifications from the server.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use rmcp::{
    ClientHandler, RoleClient,
    model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion},
    service::NotificationContext,
};

/// Offers nothing to servers, neither a model nor a user nor files, and counts how many times the tools changed.
#[derive(Clone, Default)]
pub(super) struct Handler {
    tool_changes: Arc<AtomicU64>,
}

impl Handler {
    pub(super) fn tool_changes(&self) -> u64 {
        self.tool_changes.load(Ordering::Relaxed)
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), client)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.tool_changes.fetch_add(1, Ordering::Relaxed);
    }
}
