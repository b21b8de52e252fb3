//! The HTTP client for bots, which keeps connections only if no bot closes one while a message waits there.
//!
//! A server on Node.js closes a connection on which it has received nothing for 5 s, and looks at its clock before it reads. If
//! the bot is busy for that long, a message on such a connection is lost, and it cannot be repeated, since nobody knows whether
//! the bot has seen it. These servers announce the time in the header `Keep-Alive`; others read first, and announce nothing.

use std::{sync::OnceLock, time::Duration};

use reqwest::{
    Client, ClientBuilder, RequestBuilder, Response,
    header::{CONNECTION, HeaderName},
    redirect,
};
use url::Url;

/// The time limit for connecting to a bot.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time that an unused connection is kept for reuse. Servers close idle connections after some seconds.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// The client for one bot.
#[derive(Debug)]
pub(super) struct HttpClient {
    /// Keeps connections.
    keeping: Client,
    /// Makes a connection for each request.
    single: Client,
    /// Whether connections to the bot are kept; empty until it has answered.
    is_kept: OnceLock<bool>,
}

impl HttpClient {
    /// Creates a client for a bot that has not answered yet.
    ///
    /// # Errors
    /// If the system's TLS setup cannot be used.
    pub(super) fn new() -> reqwest::Result<Self> {
        let keeping = builder().pool_idle_timeout(IDLE_TIMEOUT).build()?;
        let single = builder().pool_max_idle_per_host(0).build()?;
        Ok(Self { keeping, single, is_kept: OnceLock::new() })
    }

    /// Returns the client for another bot.
    pub(super) fn for_another_bot(&self) -> Self {
        let Self { keeping, single, .. } = self;
        Self { keeping: keeping.clone(), single: single.clone(), is_kept: OnceLock::new() }
    }

    pub(super) fn post(&self, url: Url) -> RequestBuilder {
        match self.is_kept.get() {
            Some(true) => self.keeping.post(url),
            // So the bot closes the connection. If this side closed it, the port could not be used for a minute.
            Some(false) => self.single.post(url).header(CONNECTION, "close"),
            None => self.single.post(url),
        }
    }

    /// Learns from the bot's first successful answer. An error may come from a proxy.
    pub(super) fn learn(&self, answer: &Response) {
        if answer.status().is_success() {
            self.is_kept.get_or_init(|| !answer.headers().contains_key(KEEP_ALIVE));
        }
    }
}

/// A redirect could send a credential, and the secret of a service URL, to another host.
fn builder() -> ClientBuilder {
    Client::builder()
        .redirect(redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
}
