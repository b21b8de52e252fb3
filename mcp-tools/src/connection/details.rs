//! What connection details say.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use jiff::Timestamp;
use url::Url;

use crate::secret::Secret;

/// The name of a server that its details do not name.
pub const DEFAULT_NAME: &str = "environment";

/// How an MCP server is reached, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionDetails {
    /// What the server is called: its key in `mcpServers`, or [`DEFAULT_NAME`].
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// The episode that is worked in there, where the sender names it.
    pub episode_id: Option<String>,
    /// When they stop being of use; they do not expire if absent.
    pub expires_at: Option<Timestamp>,
}

/// The transports of MCP (specification 2025-11-25, basic/transports).
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP.
    Http {
        /// The endpoint, `http` or `https`, without user and password.
        url: Url,
        /// Sent with each request; credentials are among them.
        headers: BTreeMap<String, Secret>,
    },
    /// A program that is started, and that speaks over its standard streams.
    Stdio {
        /// The program: a name that is looked for in PATH, or a path.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Added to its environment.
        env: BTreeMap<String, Secret>,
        /// The folder it runs in; that of this program if absent.
        cwd: Option<PathBuf>,
    },
}

impl ConnectionDetails {
    /// Details of a server over HTTP, without headers, episode and expiry.
    pub fn http(name: impl Into<String>, url: Url) -> Self {
        let headers = BTreeMap::new();
        Self::new(name, Transport::Http { url, headers })
    }

    /// Details of a server that is started, with nothing added to its environment.
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
        Self {
            name: name.into(),
            transport,
            episode_id: None,
            expires_at: None,
        }
    }

    /// The same details with a bearer token among the headers; a program has none, so it stays as it is.
    #[must_use]
    pub fn with_bearer(mut self, token: &Secret) -> Self {
        if let Transport::Http { headers, .. } = &mut self.transport {
            let value = Secret::new(format!("Bearer {}", token.expose()));
            headers.insert("Authorization".to_owned(), value);
        }
        self
    }

    /// Whether they are of no use any more at this time.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|expiry| expiry <= now)
    }

    /// Where they lead, for people: `http://127.0.0.1:3000/mcp`, `stdio: mcp-tools`. Queries and arguments
    /// are left out, since they may hold secrets.
    pub fn place(&self) -> String {
        match &self.transport {
            Transport::Http { url, .. } => shown(url),
            Transport::Stdio { command, .. } => format!("stdio: {command}"),
        }
    }

    /// The values in them that must not be shown: those of headers, and those of the environment.
    pub fn secrets(&self) -> Vec<&Secret> {
        match &self.transport {
            Transport::Http { headers, .. } => headers.values().collect(),
            Transport::Stdio { env, .. } => env.values().collect(),
        }
    }
}

/// A URL without its query, in which a token may stand.
fn shown(url: &Url) -> String {
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
                .field("url", &shown(url))
                .field("headers", headers)
                .finish(),
            Self::Stdio {
                command,
                args,
                env,
                cwd,
            } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &args.len())
                .field("env", env)
                .field("cwd", cwd)
                .finish(),
        }
    }
}
