//! The recorder: a proxy in the runner's process through which all parties of a run talk.
//!
//! Each hop has a listener of its own, so that the recorder knows who calls whom without help from
//! either. It passes everything on unchanged, except that agent cards and redirects are rewritten
//! so that callers stay on it, and writes down what passes in the order in which it happened.
//! It speaks HTTP/1.1 to callers; gRPC and WebSocket are beyond it.
//!
//! - `hop`: what both of these know of their hop
//! - `proxy`: requests on their way to the upstream
//! - `reply`, `relay`: replies on their way back, as a whole or piece by piece
//! - `exchange`: what is written down about one request
//! - `body`, `headers`, `sse`, `lines`, `digits`: the forms in which things pass
//! - `origin`, `card`: addresses that callers are told
//! - `stdio`, [`record_stdio`]: what passes over standard streams, told by a wrapper around the server
//! - [`Masker`]: what nobody may find in a transcript

mod body;
mod card;
mod digits;
mod exchange;
mod headers;
mod hop;
mod lines;
mod mask;
mod origin;
mod proxy;
mod relay;
mod reply;
mod sse;
mod stdio;
#[cfg(test)]
mod tests;
mod wrapper;

use std::{
    collections::{BTreeMap, BTreeSet, btree_map},
    io,
    net::Ipv4Addr,
    sync::Arc,
    time::Duration,
};

use axum::Router;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    task::JoinSet,
    time::timeout,
};
use url::Url;

use crate::transcript::{Hop, Transcript};
use exchange::{Book, Phase};
use hop::Proxy;
pub use mask::Masker;
use origin::Origins;
pub use wrapper::{RECORD_STDIO, record as record_stdio};

/// A connection to record: who calls whom, and where the one that is called listens.
#[derive(Clone, Debug)]
pub struct HopSpec {
    /// The hop.
    pub hop: Hop,
    /// The endpoint of the party that is called, `http` or `https`.
    pub upstream: Url,
}

/// The recorder's limits.
#[derive(Clone, Debug)]
pub struct RecorderOptions {
    /// The largest body, and the largest event of a stream, that is kept, in bytes. Larger ones are
    /// passed on all the same. As many bytes are held in memory for each open exchange.
    pub body_limit: usize,
    /// How long a reply is held until it is whole, so that it is recorded before any of it is passed back. Of
    /// one that is slower each piece is passed back as it comes, the last one when the reply is recorded.
    pub hold: Duration,
    /// How many exchanges may be open on one hop; more are refused with 503.
    pub exchanges: usize,
    /// How long connecting to an upstream may take.
    pub connect: Duration,
    /// How long [`Recorder::stop`] lets open exchanges go on before it breaks them off.
    pub drain: Duration,
    /// Whether all addresses in an agent's card are taken for that agent's, wherever they lead.
    pub rewrite_cards: bool,
}

impl Default for RecorderOptions {
    /// 16 MiB, a quarter of a second to hold, 1024 exchanges, 5 s to connect, 2 s to drain.
    fn default() -> Self {
        Self {
            body_limit: 16 * 1024 * 1024,
            hold: Duration::from_millis(250),
            exchanges: 1024,
            connect: Duration::from_secs(5),
            drain: Duration::from_secs(2),
            rewrite_cards: false,
        }
    }
}

/// Why a recorder could not be started.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// The upstream cannot be reached over HTTP.
    #[error("cannot record {hop}: expected an http or https URL of an agent, found {upstream}")]
    NotHttp {
        /// The hop.
        hop: Hop,
        /// Its upstream.
        upstream: Url,
    },
    /// Two upstreams for one hop.
    #[error("cannot record {hop} twice: give each participant a role of its own")]
    Twice {
        /// The hop.
        hop: Hop,
    },
    /// No port to listen on.
    #[error("cannot listen on 127.0.0.1 for {hop}")]
    Listen {
        /// The hop.
        hop: Hop,
        /// What the system said.
        source: io::Error,
    },
    /// The HTTP client could not be set up.
    #[error("cannot set up the recorder's HTTP client")]
    Client(#[source] reqwest::Error),
}

/// A running recorder. Dropping it breaks off whatever is open; see [`Recorder::stop`].
#[derive(Debug)]
pub struct Recorder {
    urls: BTreeMap<Hop, Url>,
    phase: watch::Sender<Phase>,
    servers: JoinSet<io::Result<()>>,
    drain: Duration,
}

impl Recorder {
    /// Listens on a free port of 127.0.0.1 for each hop.
    ///
    /// # Errors
    /// A hop is named twice or its upstream is no HTTP URL, or the system refuses a port.
    pub async fn start(
        hops: Vec<HopSpec>,
        transcript: Transcript,
        masker: Masker,
        options: RecorderOptions,
    ) -> Result<Self, RecorderError> {
        let client = client(&options).map_err(RecorderError::Client)?;
        let mut recorder = Self {
            urls: BTreeMap::new(),
            phase: watch::Sender::new(Phase::Serving),
            servers: JoinSet::new(),
            drain: options.drain,
        };
        let mut standing = Vec::new();
        for HopSpec { hop, upstream } in hops {
            let (listener, origins) = listen(&hop, &upstream).await?;
            match recorder.urls.entry(hop.clone()) {
                btree_map::Entry::Vacant(entry) => entry.insert(origins.endpoint()),
                btree_map::Entry::Occupied(_) => return Err(RecorderError::Twice { hop }),
            };
            standing.push((hop, listener, origins));
        }
        let ours = recorder.urls.values();
        let ours: BTreeSet<_> = ours.map(|url| url.origin().ascii_serialization()).collect();
        let ours = Arc::new(ours);
        for (hop, listener, origins) in standing {
            let proxy = Proxy {
                book: Arc::new(recorder.book(hop, &transcript, &masker)),
                origins: origins.among(ours.clone()).trusting(options.rewrite_cards),
                client: client.clone(),
                permits: Arc::new(Semaphore::new(options.exchanges)),
                body_limit: options.body_limit,
                hold: options.hold,
            };
            recorder.serve(listener, proxy::app(proxy));
        }
        Ok(recorder)
    }

    /// Listens for [`record_stdio`], which tells what passes over the standard streams of a server that
    /// the hop's caller starts. Gives the URL that it is to be told.
    ///
    /// # Errors
    /// The system refuses a port.
    pub async fn tap_stdio(
        &mut self,
        hop: Hop,
        transcript: &Transcript,
        masker: &Masker,
    ) -> Result<Url, RecorderError> {
        let failed = |source| RecorderError::Listen {
            hop: hop.clone(),
            source,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let url = Url::parse(&format!("http://{address}/"))
            .map_err(|error| failed(io::Error::other(error)))?;
        let book = self.book(hop, transcript, masker);
        self.serve(listener, stdio::app(book));
        Ok(url)
    }

    fn book(&self, hop: Hop, transcript: &Transcript, masker: &Masker) -> Book {
        Book {
            hop,
            transcript: transcript.clone(),
            masker: masker.clone(),
            phase: self.phase.subscribe(),
        }
    }

    /// The URL under which the hop's caller reaches the other party: the upstream's path, on the
    /// recorder. `None` for a hop that is not recorded.
    pub fn url(&self, hop: &Hop) -> Option<Url> {
        self.urls.get(hop).cloned()
    }

    /// Takes no new connections, lets open exchanges end for as long as the options say, and then
    /// breaks them off, recording that.
    pub async fn stop(mut self) {
        self.phase.send_replace(Phase::Draining);
        if timeout(self.drain, all(&mut self.servers)).await.is_err() {
            self.phase.send_replace(Phase::Cut);
            // What is left are connections whose callers do not read; they end with the process.
            let _ = timeout(Duration::from_secs(1), all(&mut self.servers)).await;
        }
    }

    fn serve(&mut self, listener: TcpListener, app: Router) {
        let mut phase = self.phase.subscribe();
        let stop = async move {
            let _ = phase.wait_for(|phase| *phase != Phase::Serving).await;
        };
        self.servers.spawn(bridge::serve(listener, app, stop));
    }
}

async fn listen(hop: &Hop, upstream: &Url) -> Result<(TcpListener, Origins), RecorderError> {
    let not_http = || RecorderError::NotHttp {
        hop: hop.clone(),
        upstream: upstream.clone(),
    };
    if !matches!(upstream.scheme(), "http" | "https") {
        return Err(not_http());
    }
    let failed = |source| RecorderError::Listen {
        hop: hop.clone(),
        source,
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let origins = Origins::new(upstream, port).map_err(|_| not_http())?;
    Ok((listener, origins))
}

/// A client that passes on and nothing else: redirects and encodings are between the two parties.
fn client(options: &RecorderOptions) -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
        .tcp_nodelay(true)
        .connect_timeout(options.connect)
        // Shorter than the time after which common servers close idle connections (gunicorn 2 s,
        // uvicorn and Node 5 s): a request that met such a close would fail by our fault.
        .pool_idle_timeout(Duration::from_secs(1))
        .build()
}

async fn all(servers: &mut JoinSet<io::Result<()>>) {
    while servers.join_next().await.is_some() {}
}
