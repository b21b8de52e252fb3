//! What the tools of an agent look at: `incoming_messages`, `mcp_connection_details`, and the connection.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use jiff::Timestamp;

use crate::{
    allowed::Allowed,
    client::{self, ConnectError, Connection},
    connection::ConnectionDetails,
    inbox::Inbox,
};

/// Where tools take the time from.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Tells a peer which of its messages have arrived (see [`crate::acknowledge`]).
#[async_trait]
pub trait Acknowledger: Send + Sync {
    /// Tells it, within a limit of its own.
    async fn acknowledge(&self, message_ids: &[String]) -> Result<(), AcknowledgeError>;
}

/// Why a peer could not be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcknowledgeError {
    /// It could not be reached, or refused the acknowledgement.
    #[error("the peer did not take the acknowledgement: {reason}")]
    NotTaken {
        /// What went wrong, without secrets.
        reason: String,
    },
}

/// What an agent is set up with.
#[derive(Clone)]
pub struct Settings {
    /// Which hosts and commands it may connect to.
    pub allowed: Allowed,
    /// How it speaks to MCP servers.
    pub client: client::Options,
    /// How its peer is told what has arrived; absent where the peer does not ask for it.
    pub acknowledger: Option<Arc<dyn Acknowledger>>,
    /// Where its tools take the time from.
    pub clock: Clock,
}

/// What the tools of an agent look at. Clones share it.
#[derive(Clone)]
pub struct AgentContext(Arc<Inner>);

struct Inner {
    settings: Settings,
    incoming_messages: Inbox,
    /// How the peer is told, if it was found out after the start that it wants to know.
    acknowledger: Mutex<Option<Arc<dyn Acknowledger>>>,
    preset: Mutex<Option<ConnectionDetails>>,
    connection: Mutex<Option<Arc<Connection>>>,
}

impl AgentContext {
    /// The context of an agent that has received nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(Inner {
            acknowledger: Mutex::new(settings.acknowledger.clone()),
            settings,
            incoming_messages: Inbox::default(),
            preset: Mutex::default(),
            connection: Mutex::default(),
        }))
    }

    /// The messages that were received.
    pub fn incoming_messages(&self) -> &Inbox {
        &self.0.incoming_messages
    }

    /// Connection details that were set beforehand, which go before those in messages.
    pub fn mcp_connection_details(&self) -> Option<ConnectionDetails> {
        lock(&self.0.preset).clone()
    }

    /// Sets them, such as from a reply that carries them at once.
    pub fn set_mcp_connection_details(&self, details: ConnectionDetails) {
        *lock(&self.0.preset) = Some(details);
    }

    /// How the peer is told what has arrived, if it wants to know.
    pub fn acknowledger(&self) -> Option<Arc<dyn Acknowledger>> {
        lock(&self.0.acknowledger).clone()
    }

    /// Sets it, once the peer's card says that it wants to know.
    pub fn set_acknowledger(&self, acknowledger: Arc<dyn Acknowledger>) {
        *lock(&self.0.acknowledger) = Some(acknowledger);
    }

    /// Which hosts and commands may be connected to.
    pub fn allowed(&self) -> &Allowed {
        &self.0.settings.allowed
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        (self.0.settings.clock)()
    }

    /// The connection to an MCP server, if there is one.
    pub fn connection(&self) -> Option<Arc<Connection>> {
        lock(&self.0.connection).clone()
    }

    /// Connects to an MCP server, and lets go of the one before once that has succeeded.
    pub async fn connect(
        &self,
        details: &ConnectionDetails,
    ) -> Result<Arc<Connection>, ConnectError> {
        let settings = &self.0.settings;
        let connection = Connection::open(details, &settings.allowed, &settings.client).await?;
        let connection = Arc::new(connection);
        *lock(&self.0.connection) = Some(connection.clone());
        Ok(connection)
    }

    /// Ends the connection, if there is one, within the client's limit.
    pub async fn disconnect(&self) {
        let connection = lock(&self.0.connection).take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }
}

impl fmt::Debug for AgentContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentContext")
            .field("incoming_messages", &self.0.incoming_messages.newest())
            .field("mcp_connection_details", &self.mcp_connection_details())
            .field("allowed", self.allowed())
            .field("connected", &self.connection().is_some())
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
