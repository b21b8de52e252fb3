//! The connection details of one MCP server.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use jiff::Timestamp;
use url::Url;

use crate::secret::Secret;

/// The name of a server whose details have no name.
pub const DEFAULT_NAME: &str = "environment";

/// The address, credentials and validity of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionDetails {
    /// The server's name: its key in `mcpServers`, or [`DEFAULT_NAME`].
    pub name: String,
    /// The transport and its parameters.
    pub transport: Transport,
    /// The episode that the server serves, if the sender names it.
    pub episode_id: Option<String>,
    /// The time after which the details are invalid; they do not expire if absent.
    pub expires_at: Option<Timestamp>,
}

/// The transports of MCP (specification 2025-11-25, basic/transports).
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP.
    Http {
        /// The endpoint, `http` or `https`, without user and password.
        url: Url,
        /// The headers to send with each request, credentials among them.
        headers: BTreeMap<String, Secret>,
    },
    /// A program that the client starts, and that speaks over its standard streams.
    Stdio {
        /// The program: a name that is searched in PATH, or a path.
        command: String,
        /// The program's arguments.
        args: Vec<String>,
        /// Environment variables to add.
        env: BTreeMap<String, Secret>,
        /// The working directory; that of this program if absent.
        cwd: Option<PathBuf>,
    },
}

impl ConnectionDetails {
    /// Creates details of a server over HTTP, without headers, episode and expiry.
    pub fn http(name: impl Into<String>, url: Url) -> Self {
        let headers = BTreeMap::new();
        Self::new(name, Transport::Http { url, headers })
    }

    /// Creates details of a program to start, without additional environment variables.
    pub fn stdio(
        name: impl Into<String>,
        command: impl Into<String>,
        args: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let transport = Transport::Stdio {
            command: command.into(),
            args: args.into_iter().map(Into::into).collect(),
            env: BTreeMap::new(),
            cwd: None,
        };
        Self::new(name, transport)
    }

    fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self { name: name.into(), transport, episode_id: None, expires_at: None }
    }

    /// Adds a bearer token to the headers; details of a program are returned unchanged.
    #[must_use]
    pub fn with_bearer(mut self, token: &Secret) -> Self {
        if let Transport::Http { headers, .. } = &mut self.transport {
            let value = Secret::new(format!("Bearer {}", token.expose()));
            headers.insert("Authorization".to_owned(), value);
        }
        self
    }

    /// Returns whether the details are no longer valid at this time.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|expiry| expiry <= now)
    }

    /// Returns the server's address for people: `http://127.0.0.1:3000/mcp`, `stdio: mcp-tools`. Queries and
    /// arguments are omitted, because they may contain secrets.
    pub fn address(&self) -> String {
        match &self.transport {
            Transport::Http { url, .. } => without_query(url),
            Transport::Stdio { command, .. } => format!("stdio: {command}"),
        }
    }

    /// Returns the values that must not be shown: those of headers and of environment variables.
    pub fn secrets(&self) -> Vec<&Secret> {
        match &self.transport {
            Transport::Http { headers, .. } => headers.values().collect(),
            Transport::Stdio { env, .. } => env.values().collect(),
        }
    }
}

/// Returns a URL without its query, which may contain a token.
fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http { url, headers } => f
                .debug_struct("Http")
                .field("url", &without_query(url))
                .field("headers", headers)
                .finish(),
            Self::Stdio { command, args, env, cwd } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &args.len())
                .field("env", env)
                .field("cwd", cwd)
                .finish(),
        }
    }
}
