//! The state that an agent's tools share: `incoming_messages`, `mcp_connection_details` and the connection.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use bridge_program::lock;
use jiff::Timestamp;

use crate::{
    allow_list::AllowList,
    client::{self, ConnectError, Connection},
    connection::{self, ConnectionDetails},
    inbox::{Inbox, Received},
};

/// The clock that tools read the time from.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Acknowledges messages to the peer that sent them (see [`crate::acknowledge`]).
#[async_trait]
pub trait Acknowledger: Send + Sync {
    /// Acknowledges these messages. The implementation sets its own time limit.
    async fn acknowledge(&self, message_ids: &[String]) -> Result<(), AcknowledgeError>;
}

/// The reason why messages could not be acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcknowledgeError {
    /// The peer could not be reached, or it refused the acknowledgement.
    #[error("the peer did not accept the acknowledgement: {0}")]
    NotTaken(String),
}

/// The settings of an agent's context.
#[derive(Clone)]
pub struct Settings {
    /// The hosts and commands that the agent may connect to.
    pub allowed: AllowList,
    /// The options of the MCP client.
    pub client: client::Options,
    /// Acknowledges received messages to the peer; absent if the peer does not ask for acknowledgements.
    pub acknowledger: Option<Arc<dyn Acknowledger>>,
    /// The clock that the tools read the time from.
    pub clock: Clock,
}

impl Default for Settings {
    /// Returns the default allow list and options, no acknowledger, and the system's clock.
    fn default() -> Self {
        Self {
            allowed: AllowList::default(),
            client: client::Options::default(),
            acknowledger: None,
            clock: Arc::new(bridge_program::clock::now),
        }
    }
}

/// The state that an agent's tools share. Clones share the same state.
#[derive(Clone)]
pub struct AgentContext(Arc<Inner>);

struct Inner {
    settings: Settings,
    incoming_messages: Inbox,
    /// The acknowledger that was set after the start, when the peer's card was read.
    acknowledger: Mutex<Option<Arc<dyn Acknowledger>>>,
    preset: Mutex<Option<ConnectionDetails>>,
    connection: Mutex<Option<Arc<Connection>>>,
}

impl AgentContext {
    /// Creates the context of an agent that has received nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(Inner {
            acknowledger: Mutex::new(settings.acknowledger.clone()),
            settings,
            incoming_messages: Inbox::default(),
            preset: Mutex::default(),
            connection: Mutex::default(),
        }))
    }

    /// Returns the received messages.
    pub fn incoming_messages(&self) -> &Inbox {
        &self.0.incoming_messages
    }

    /// Returns the connection details that were set beforehand. They take precedence over details in messages.
    pub fn mcp_connection_details(&self) -> Option<ConnectionDetails> {
        lock(&self.0.preset).clone()
    }

    /// Returns the newest readable connection details in messages.
    pub fn received_connection_details(&self) -> Option<ConnectionDetails> {
        let received = self.incoming_messages().history();
        let found = received.iter().flat_map(|one| connection::find(&one.message));
        found.rev().find_map(Result::ok)
    }

    /// Returns the goal of the newest task description in messages. Evaluators that describe a task in words alone send
    /// none; [`Received::text`](crate::inbox::Received::text) has the words.
    pub fn received_goal(&self) -> Option<String> {
        let received = self.incoming_messages().history();
        received.iter().rev().find_map(Received::goal).map(str::to_owned)
    }

    /// Sets the connection details, for example from a reply that contains them.
    pub fn set_mcp_connection_details(&self, details: ConnectionDetails) {
        *lock(&self.0.preset) = Some(details);
    }

    /// Returns the acknowledger, if the peer wants acknowledgements.
    pub fn acknowledger(&self) -> Option<Arc<dyn Acknowledger>> {
        lock(&self.0.acknowledger).clone()
    }

    /// Sets the acknowledger, for a peer whose card asks for acknowledgements.
    pub fn set_acknowledger(&self, acknowledger: Arc<dyn Acknowledger>) {
        *lock(&self.0.acknowledger) = Some(acknowledger);
    }

    /// Returns the hosts and commands that may be connected to.
    pub fn allowed(&self) -> &AllowList {
        &self.0.settings.allowed
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        (self.0.settings.clock)()
    }

    /// Returns the connection to an MCP server, if there is one.
    pub fn connection(&self) -> Option<Arc<Connection>> {
        lock(&self.0.connection).clone()
    }

    /// Connects to an MCP server, and closes the previous connection once the new one is open.
    ///
    /// # Errors
    /// [`ConnectError`]; then the previous connection stays.
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

    /// Closes the connection, if there is one, within the client's time limit.
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
