//! The recorder: a proxy in the runner's process through which all parties of a run communicate.
//!
//! Each hop has its own listener, so that the recorder knows which party calls which without their help.
//! Messages are passed on unchanged, except that addresses in agent cards, redirects and OAuth metadata are rewritten so
//! that callers stay on the recorder. Everything is recorded in the order in which it happened. The recorder speaks HTTP/1.1 to
//! callers; gRPC and WebSocket are not supported.
//!
//! - `proxy`: passes requests on to the upstream; the state of a hop, which `reply` shares
//! - `reply`, `relay`: pass replies back, as a whole or in chunks
//! - `exchange`: records one request with its answers
//! - `body`, `headers`, `lines`, `digits`: read and convert bodies and headers
//! - `listeners`: sockets that outlive a recorder
//! - `origin`, `card`, `oauth`: rewrite addresses
//! - `stdio`, [`record_stdio`]: record standard streams, with a wrapper around the server
//! - [`Masker`]: masks secrets

mod body;
mod card;
mod digits;
mod exchange;
mod headers;
mod lines;
mod listeners;
mod mask;
mod oauth;
mod origin;
mod proxy;
mod relay;
mod reply;
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
use bridge_client::{Tls, is_loopback};
use bridge_http::Connections;
use bridge_program::{Limits, PlainTcp, serve_within};
use bridge_telemetry::TraceContext;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    task::JoinSet,
    time::timeout,
};
use url::Url;

use exchange::{HopRecord, Phase};
use green_agent_transcript::{Hop, Transcript};
pub use listeners::HopListeners;
pub use mask::{MASK, Masker};
use origin::Origins;
use proxy::Proxy;
pub use relay::NOT_REACHED;
pub use wrapper::{RECORD_STDIO, record as record_stdio};

/// The bytes of all requests of a hop that are being read or answered. Callers get half of it, because all have the same address.
const REQUEST_BYTES: usize = 512 << 20;

/// A connection to record: the hop, and the address of the called party.
#[derive(Clone, Debug)]
pub struct HopSpec {
    /// The hop.
    pub hop: Hop,
    /// The endpoint of the party that is called, `http` or `https`.
    pub upstream: Url,
    /// The port that the party was written to listen at, if it was given another one: its card may still say that port.
    pub written_port: Option<u16>,
}

/// The options of a recorder.
#[derive(Clone, Debug)]
pub struct RecorderOptions {
    /// The largest body, and the largest event of a stream, that is kept, in bytes. Larger ones are passed on
    /// without being kept. Each open exchange holds up to this many bytes in memory.
    pub body_limit: usize,
    /// The time for which a reply is held back until it is complete, so that it is recorded before any of it is passed
    /// back. The chunks of a slower reply are passed back as they come, the last one after the reply was recorded.
    pub hold: Duration,
    /// The most exchanges that may be open on one hop; further ones are refused with 503.
    pub exchanges: usize,
    /// The time limit for connecting to an upstream.
    pub connect: Duration,
    /// The time for which a caller may send or read nothing in the middle of an exchange. Callers may be blocked or stopped.
    pub patience: Duration,
    /// The time that [`Recorder::stop`] gives open exchanges before it interrupts them.
    pub drain: Duration,
    /// Whether all addresses in an agent's card are rewritten as that agent's, wherever they lead.
    pub rewrite_cards: bool,
    /// The certificates that are trusted beside those of public authorities, and the one that is shown to agents.
    pub tls: Tls,
}

impl Default for RecorderOptions {
    /// Returns limits of 16 MiB, a quarter of a second to hold, 1024 exchanges, 5 s to connect, half an hour of patience,
    /// 2 s to drain.
    fn default() -> Self {
        Self {
            body_limit: 16 * 1024 * 1024,
            hold: Duration::from_millis(250),
            exchanges: 1024,
            connect: Duration::from_secs(5),
            patience: Duration::from_secs(1800),
            drain: Duration::from_secs(2),
            rewrite_cards: false,
            tls: Tls::default(),
        }
    }
}

/// The reason why a recorder could not be started.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum RecorderError {
    /// The upstream's URL is not http or https.
    #[error("cannot record {hop}: expected an http or https URL of an agent, found {upstream}")]
    NotHttp { hop: Hop, upstream: Url },
    /// A hop has two upstreams.
    #[error("cannot record {0} twice: give each participant a role of its own")]
    Twice(Hop),
    /// The system gave no port to listen on.
    #[error("cannot listen on 127.0.0.1 for {hop}")]
    Listen { hop: Hop, source: io::Error },
    /// The HTTP client could not be created.
    #[error("cannot set up the recorder's HTTP client")]
    Client(#[source] reqwest::Error),
}

/// A running recorder. Dropping it interrupts everything that is open; see [`Recorder::stop`].
#[derive(Debug)]
pub struct Recorder {
    urls: BTreeMap<Hop, Url>,
    phase: watch::Sender<Phase>,
    servers: JoinSet<io::Result<()>>,
    limits: Limits,
    drain: Duration,
}

impl Recorder {
    /// Listens on a free port of 127.0.0.1 for each hop.
    ///
    /// # Errors
    /// If a hop is named twice, its upstream is no HTTP URL, or the system refuses a port.
    pub async fn start(
        hops: Vec<HopSpec>,
        transcript: Transcript,
        masker: Masker,
        options: RecorderOptions,
    ) -> Result<Self, RecorderError> {
        Self::start_on(&mut HopListeners::default(), hops, transcript, masker, options).await
    }

    /// Starts a recorder on sockets that may be those of an earlier recorder, which must have been stopped.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub async fn start_on(
        listeners: &mut HopListeners,
        hops: Vec<HopSpec>,
        transcript: Transcript,
        masker: Masker,
        options: RecorderOptions,
    ) -> Result<Self, RecorderError> {
        let mut upstreams = Upstreams::default();
        let mut recorder = Self {
            urls: BTreeMap::new(),
            phase: watch::Sender::new(Phase::Serving),
            servers: JoinSet::new(),
            limits: limits(&options),
            drain: options.drain,
        };
        let mut standing = Vec::new();
        for HopSpec { hop, upstream, written_port } in hops {
            let (listener, mut origins) = listen(listeners, &hop, &upstream)?;
            origins.written_port = written_port;
            match recorder.urls.entry(hop.clone()) {
                btree_map::Entry::Vacant(entry) => entry.insert(origins.endpoint()),
                btree_map::Entry::Occupied(_) => return Err(RecorderError::Twice(hop)),
            };
            let connections = upstreams.to(&upstream, &options).map_err(RecorderError::Client)?;
            standing.push((hop, listener, origins, connections));
        }
        let ours = recorder.urls.values();
        let ours: BTreeSet<_> = ours.map(|url| url.origin().ascii_serialization()).collect();
        let ours = Arc::new(ours);
        for (hop, listener, mut origins, upstream) in standing {
            origins.ours = ours.clone();
            origins.trusted = options.rewrite_cards;
            let proxy = Proxy {
                book: Arc::new(recorder.book(hop, &transcript, &masker)),
                origins,
                upstream,
                permits: Arc::new(Semaphore::new(options.exchanges)),
                body_limit: options.body_limit,
                hold: options.hold,
                trial: TraceContext::current(),
            };
            recorder.serve(listener, proxy::app(proxy));
        }
        Ok(recorder)
    }

    /// Listens for [`record_stdio`], which reports the lines on the standard streams of a server that the hop's caller
    /// starts. Returns the URL for its `--to`.
    ///
    /// # Errors
    /// If the system refuses a port.
    pub async fn tap_stdio(
        &mut self,
        hop: Hop,
        transcript: &Transcript,
        masker: &Masker,
    ) -> Result<Url, RecorderError> {
        let failed = |source| RecorderError::Listen { hop: hop.clone(), source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let url = Url::parse(&format!("http://{address}/"))
            .map_err(|error| failed(io::Error::other(error)))?;
        let book = self.book(hop, transcript, masker);
        self.serve(listener, stdio::app(book));
        Ok(url)
    }

    fn book(&self, hop: Hop, transcript: &Transcript, masker: &Masker) -> HopRecord {
        HopRecord {
            hop,
            transcript: transcript.clone(),
            masker: masker.clone(),
            phase: self.phase.subscribe(),
        }
    }

    /// Returns the URL at which the hop's caller reaches the other party: the upstream's path, on the
    /// recorder. `None` for a hop that is not recorded.
    pub fn url(&self, hop: &Hop) -> Option<Url> {
        self.urls.get(hop).cloned()
    }

    /// Stops accepting connections, waits for open exchanges for as long as the options say, then interrupts
    /// the rest and records that.
    pub async fn stop(self) {
        let drain = self.drain;
        self.stop_within(drain).await;
    }

    /// Like [`stop`](Self::stop), but gives open exchanges this time.
    pub async fn stop_within(mut self, drain: Duration) {
        self.phase.send_replace(Phase::Draining);
        if timeout(drain, all(&mut self.servers)).await.is_err() {
            self.phase.send_replace(Phase::Cut);
            // The remaining connections are those whose callers do not read; they end with the process.
            let _ = timeout(Duration::from_secs(1), all(&mut self.servers)).await;
        }
    }

    fn serve(&mut self, listener: TcpListener, app: Router) {
        let mut phase = self.phase.subscribe();
        let stop = async move {
            let _ = phase.wait_for(|phase| *phase != Phase::Serving).await;
        };
        self.servers.spawn(serve_within(self.limits, listener, PlainTcp, app, stop));
    }
}

#[expect(
    clippy::result_large_err,
    reason = "it is the error of the caller, which is made once a run"
)]
fn listen(
    listeners: &mut HopListeners,
    hop: &Hop,
    upstream: &Url,
) -> Result<(TcpListener, Origins), RecorderError> {
    let not_http = || RecorderError::NotHttp { hop: hop.clone(), upstream: upstream.clone() };
    if !matches!(upstream.scheme(), "http" | "https") {
        return Err(not_http());
    }
    let failed = |source| RecorderError::Listen { hop: hop.clone(), source };
    let listener = listeners.listener(hop).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let origins = Origins::new(upstream, port).map_err(|_| not_http())?;
    Ok((listener, origins))
}

/// Returns the limits of callers: an agent that is slow or blocked is ended by the trial's limits, as it would be without a recorder.
fn limits(options: &RecorderOptions) -> Limits {
    let patience = options.patience;
    Limits {
        bytes: REQUEST_BYTES,
        head: patience,
        body: patience,
        idle: patience,
        stalled: patience,
        ..Limits::default()
    }
}

/// The connections to the other parties. Each kind is made when it is first needed, because that costs more than most trials do.
#[derive(Default)]
struct Upstreams {
    /// To this machine, without a proxy.
    near: Option<Connections>,
    /// To other machines, with the proxy that the environment names.
    far: Option<Connections>,
}

impl Upstreams {
    fn to(&mut self, url: &Url, options: &RecorderOptions) -> reqwest::Result<Connections> {
        let is_near = is_loopback(url);
        let made = if is_near { &mut self.near } else { &mut self.far };
        if let Some(made) = made {
            return Ok(made.to_another_server());
        }
        Ok(made.insert(connections(options, is_near)?).clone())
    }
}

/// Prepares connections on which requests are forwarded unchanged: redirects and encodings are left to the two parties.
fn connections(options: &RecorderOptions, is_near: bool) -> reqwest::Result<Connections> {
    Connections::new(|| {
        let client = options.tls.add_to(reqwest::Client::builder());
        let client = if is_near { client.no_proxy() } else { client };
        client
            .redirect(reqwest::redirect::Policy::none())
            .no_gzip()
            .no_brotli()
            .no_deflate()
            .no_zstd()
            .tcp_nodelay(true)
            .connect_timeout(options.connect)
    })
}

async fn all(servers: &mut JoinSet<io::Result<()>>) {
    while servers.join_next().await.is_some() {}
}
