//! What an operator of the server decides.

use std::time::Duration;

/// Where the server is reached, from where, and how much it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// The path of the endpoint.
    pub path: String,
    /// Names by which it may be reached, each `host` or `host:port`: any other `Host` is refused with 403,
    /// since a web page can make a browser resolve its own name to this machine.
    pub allowed_hosts: Vec<String>,
    /// Web origins that may call it, such as `https://app.example.com:443`; without any, each request with
    /// an `Origin` is refused with 403.
    pub allowed_origins: Vec<String>,
    /// How many bytes the body of a request may have.
    pub body: usize,
    /// How many sessions may be open for one token.
    pub sessions: usize,
    /// How long a session is kept without a request.
    pub session_idle: Duration,
}

impl Default for ServerSettings {
    /// `/mcp`, by the names of the loopback, from no web page, a megabyte, 8 sessions, five minutes.
    fn default() -> Self {
        Self {
            path: "/mcp".into(),
            allowed_hosts: ["localhost", "127.0.0.1", "::1"].map(Into::into).into(),
            allowed_origins: Vec::new(),
            body: 1024 * 1024,
            sessions: 8,
            session_idle: Duration::from_secs(300),
        }
    }
}
