//! Measures the cost of the recorder: requests and events through it, compared with the same without it.
//!
//! `cargo bench --bench recorder -- --seconds 2` measures each case for two seconds in every round. Direct
//! and recorded rounds alternate, so that other load on the machine affects both alike. A relay that passes
//! bytes on without reading them is measured too: no recorder can cost less than that.

use std::{
    error::Error,
    net::Ipv4Addr,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Body,
    http::header,
    response::IntoResponse,
    routing::{get, post},
};
use bytes::Bytes;
use futures_util::stream;
use green_agent::{
    recorder::{HopSpec, Masker, Recorder, RecorderOptions},
    transcript::{Hop, Transcript},
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use url::Url;

/// The same allocator as the program's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 3;
const CONNECTIONS: [usize; 3] = [1, 16, 64];
const EVENTS: usize = 1000;

const MESSAGE: &str = r#"{"jsonrpc":"2.0","id":"1","method":"message/send","params":{"message":{"kind":"message","messageId":"7f1c","role":"user","parts":[{"kind":"text","text":"Present your opening argument."}]},"configuration":{"blocking":true}}}"#;
const EVENT: &str = "data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{\"kind\":\"status-update\",\"taskId\":\"t\",\"contextId\":\"c\",\"status\":{\"state\":\"working\"},\"final\":false}}\n\n";

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The measurements of one case.
#[derive(Default)]
struct Measured {
    latencies: Vec<Duration>,
    spent: Duration,
}

impl Measured {
    fn add(&mut self, round: Self) {
        self.latencies.extend(round.latencies);
        self.spent += round.spent;
    }

    fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.spent.as_secs_f64()
    }

    /// Returns the latency in microseconds that `percent` of the requests did not exceed.
    fn percentile(&mut self, percent: usize) -> u128 {
        self.latencies.sort_unstable();
        let index = self.latencies.len() * percent / 100;
        self.latencies.get(index).map_or(0, Duration::as_micros)
    }
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let time = seconds()?;
    let direct = upstream().await?;
    let folder = tempfile::tempdir()?;
    let transcript = Transcript::create(&folder.path().join("transcript.jsonl"), Instant::now())?;
    let hop = Hop::new("green", "purple");
    let hops = vec![HopSpec {
        hop: hop.clone(),
        upstream: direct.clone(),
    }];
    let masker = Masker::new(vec!["a-secret-that-never-comes".to_owned()]);
    let recorder = Recorder::start(hops, transcript, masker, RecorderOptions::default()).await?;
    let recorded = recorder.url(&hop).ok_or("the hop is recorded")?;

    let relayed = relay(&direct).await?;
    let ways = [&direct, &relayed, &recorded];

    println!(
        "{:<24}{:>12}{:>20}{:>20}",
        "", "direct", "relayed", "recorded"
    );
    for connections in CONNECTIONS {
        requests(ways, connections, time).await?;
    }
    events(ways, time).await?;
    recorder.stop().await;
    Ok(())
}

/// Returns the value of `--seconds`, by default one second. Cargo adds arguments of its own, which are
/// ignored.
fn seconds() -> Outcome<Duration> {
    let mut arguments = std::env::args()
        .skip_while(|argument| argument != "--seconds")
        .skip(1);
    let seconds = arguments
        .next()
        .map_or(Ok(1.0), |seconds| seconds.parse())?;
    Ok(Duration::try_from_secs_f64(seconds)?)
}

/// Echoes messages, and streams events on `/stream`.
async fn upstream() -> Outcome<Url> {
    let events = || async {
        let events = stream::iter((0..EVENTS).map(|_| Ok::<_, std::io::Error>(EVENT)));
        let headers = [(header::CONTENT_TYPE, "text/event-stream")];
        (headers, Body::from_stream(events)).into_response()
    };
    let echo = |body: Bytes| async { ([(header::CONTENT_TYPE, "application/json")], body) };
    let app = Router::new()
        .route("/", post(echo))
        .route("/stream", get(events));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}/", listener.local_addr()?).parse()?;
    tokio::spawn(bridge::serve(listener, app, std::future::pending()));
    Ok(url)
}

/// Passes bytes on to `upstream` and back.
async fn relay(upstream: &Url) -> Outcome<Url> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}/", listener.local_addr()?).parse()?;
    let port = upstream.port().ok_or("the upstream has a port")?;
    tokio::spawn(async move {
        while let Ok((mut caller, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut callee = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
                caller.set_nodelay(true)?;
                callee.set_nodelay(true)?;
                copy_bidirectional(&mut caller, &mut callee).await
            });
        }
    });
    Ok(url)
}

async fn requests(ways: [&Url; 3], connections: usize, time: Duration) -> Outcome<()> {
    let mut sides: [Measured; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (side, url) in sides.iter_mut().zip(ways) {
            side.add(send_for(url, connections, time).await?);
        }
    }
    let label = |what: &str| format!("{connections:>2} x {what}");
    row(
        &label("requests/s"),
        sides.each_ref().map(Measured::per_second),
    );
    for percent in [50, 99] {
        let figures = sides.each_mut().map(|side| side.percentile(percent) as f64);
        row(&label(&format!("p{percent} in us")), figures);
    }
    Ok(())
}

async fn send_for(url: &Url, connections: usize, time: Duration) -> Outcome<Measured> {
    let begun = Instant::now();
    let mut senders = JoinSet::new();
    for _ in 0..connections {
        senders.spawn(sender(url.clone(), begun + time));
    }
    let mut measured = Measured::default();
    while let Some(sent) = senders.join_next().await {
        measured.latencies.extend(sent??);
    }
    measured.spent = begun.elapsed();
    Ok(measured)
}

/// Sends messages one after the other over one connection; returns the duration of each.
async fn sender(url: Url, until: Instant) -> Outcome<Vec<Duration>> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let mut latencies = Vec::new();
    while Instant::now() < until {
        let begun = Instant::now();
        let request = client
            .post(url.clone())
            .header(header::CONTENT_TYPE, "application/json");
        let reply = request.body(MESSAGE).send().await?.error_for_status()?;
        if reply.bytes().await? != MESSAGE {
            return Err("the reply is not the echo of the request".into());
        }
        latencies.push(begun.elapsed());
    }
    Ok(latencies)
}

async fn events(ways: [&Url; 3], time: Duration) -> Outcome<()> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let mut sides = [(0_usize, Duration::ZERO); 3];
    for _ in 0..ROUNDS {
        for (side, url) in sides.iter_mut().zip(ways) {
            let begun = Instant::now();
            while begun.elapsed() < time {
                let reply = client
                    .get(url.join("stream")?)
                    .send()
                    .await?
                    .error_for_status()?;
                side.0 += reply.bytes().await?.len() / EVENT.len();
            }
            side.1 += begun.elapsed();
        }
    }
    let figures = sides.map(|(events, spent)| events as f64 / spent.as_secs_f64());
    row("events/s, one stream", figures);
    Ok(())
}

/// Prints figures, each with its ratio to the first.
fn row(label: &str, [direct, relayed, recorded]: [f64; 3]) {
    let compared = |figure: f64| format!("{figure:.0} ({:.2})", figure / direct);
    println!(
        "{label:<24}{direct:>12.0}{:>20}{:>20}",
        compared(relayed),
        compared(recorded)
    );
}
