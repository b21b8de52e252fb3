//! Measures the cost of the recorder: requests and events through it, compared with direct ones.
//!
//! `cargo bench --bench recorder -- --seconds 2` measures each case for two seconds in every round. Direct and recorded
//! rounds alternate, so that other load on the machine affects both alike. Everything runs in this process: the proxy's
//! processor time for a request is the difference to that of `direct`.
//!
//! | route | |
//! |-|-|
//! | `direct` | the client calls the server |
//! | `relayed` | a relay forwards bytes without reading them |
//! | `hyper`, `reqwest` | a minimal proxy of axum and this client, which records nothing: the least cost of a recorder with these libraries |
//! | `recorded` | the client calls the recorder |

use std::{
    error::Error,
    fs,
    net::Ipv4Addr,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
// This is the allocator of the program.
use bridge_allocator as _;
use bytes::Bytes;
use futures_util::stream;
use green_agent::{
    recorder::{HopSpec, Masker, Recorder, RecorderOptions},
    transcript::{Hop, Transcript},
};
use hyper_util::{client::legacy::Client as HyperClient, rt::TokioExecutor};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use url::Url;

const ROUNDS: usize = 3;
const CONNECTIONS: [usize; 3] = [1, 16, 64];
const EVENTS: usize = 1000;

const MESSAGE: &str = r#"{"jsonrpc":"2.0","id":"1","method":"message/send","params":{"message":{"kind":"message","messageId":"7f1c","role":"user","parts":[{"kind":"text","text":"Present your opening argument."}]},"configuration":{"blocking":true}}}"#;
const EVENT: &str = "data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{\"kind\":\"status-update\",\"taskId\":\"t\",\"contextId\":\"c\",\"status\":{\"state\":\"working\"},\"final\":false}}\n\n";

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The routes from the client to the server.
const ROUTES: [&str; 5] = ["direct", "relayed", "hyper", "reqwest", "recorded"];

/// The unit in which the kernel counts the processor time of processes.
const TICKS_A_SECOND: f64 = 100.0;

/// The measurements of one case.
#[derive(Default)]
struct Measurement {
    latencies: Vec<Duration>,
    spent: Duration,
    /// The processor time of this process, in seconds.
    cpu: f64,
}

impl Measurement {
    fn add(&mut self, round: Self) {
        self.latencies.extend(round.latencies);
        self.spent += round.spent;
        self.cpu += round.cpu;
    }

    fn cpu_micros(&self) -> f64 {
        self.cpu * 1e6 / self.latencies.len() as f64
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
    let hops = vec![HopSpec { hop: hop.clone(), upstream: direct.clone(), written_port: None }];
    let masker = Masker::new(vec!["a-secret-that-does-not-occur".to_owned()]);
    let recorder = Recorder::start(hops, transcript, masker, RecorderOptions::default()).await?;
    let recorded = recorder.url(&hop).ok_or("the hop is recorded")?;

    let relayed = relay(&direct).await?;
    let (with_hyper, with_reqwest) = (hyper_proxy(&direct).await?, reqwest_proxy(&direct).await?);
    let routes = [&direct, &relayed, &with_hyper, &with_reqwest, &recorded];

    let head = ROUTES.map(|route| format!("{route:>18}")).concat();
    println!("{:<24}{head}", "");
    for connections in CONNECTIONS {
        requests(routes, connections, time).await?;
    }
    events(routes, time).await?;
    recorder.stop().await;
    Ok(())
}

/// Returns the value of `--seconds`, by default one second. Cargo adds arguments of its own, which are
/// ignored.
fn seconds() -> Outcome<Duration> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--seconds").skip(1);
    let seconds = arguments.next().map_or(Ok(1.0), |seconds| seconds.parse())?;
    Ok(Duration::try_from_secs_f64(seconds)?)
}

/// Starts a server that echoes messages, and streams events on `/stream`.
async fn upstream() -> Outcome<Url> {
    let events = || async {
        let events = stream::iter((0..EVENTS).map(|_| Ok::<_, std::io::Error>(EVENT)));
        let headers = [(header::CONTENT_TYPE, "text/event-stream")];
        (headers, Body::from_stream(events)).into_response()
    };
    let echo = |body: Bytes| async { ([(header::CONTENT_TYPE, "application/json")], body) };
    let app = Router::new().route("/", post(echo)).route("/stream", get(events));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}/", listener.local_addr()?).parse()?;
    tokio::spawn(bridge::serve(listener, app, std::future::pending()));
    Ok(url)
}

/// Starts a relay that forwards bytes to `upstream` and back.
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

/// Serves a proxy on a free port.
async fn proxy(app: Router) -> Outcome<Url> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}/", listener.local_addr()?).parse()?;
    tokio::spawn(bridge::serve(listener, app, std::future::pending()));
    Ok(url)
}

async fn hyper_proxy(upstream: &Url) -> Outcome<Url> {
    let client = HyperClient::builder(TokioExecutor::new()).build_http::<Body>();
    let upstream = upstream.as_str().trim_end_matches('/').to_owned();
    proxy(Router::new().fallback(async move |mut request: Request| {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let Ok(uri) = format!("{upstream}{path}").parse::<Uri>() else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        *request.uri_mut() = uri;
        match client.request(request).await {
            Ok(reply) => reply.map(Body::new),
            Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
        }
    }))
    .await
}

async fn reqwest_proxy(upstream: &Url) -> Outcome<Url> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let upstream = upstream.clone();
    proxy(Router::new().fallback(async move |request: Request| {
        let (parts, body) = request.into_parts();
        let mut url = upstream.clone();
        url.set_path(parts.uri.path());
        url.set_query(parts.uri.query());
        let request = client.request(parts.method, url).headers(parts.headers);
        let body = reqwest::Body::wrap_stream(body.into_data_stream());
        match request.body(body).send().await {
            Ok(mut reply) => {
                let headers = std::mem::take(reply.headers_mut());
                let status = reply.status();
                let mut response = Response::new(Body::from_stream(reply.bytes_stream()));
                (*response.status_mut(), *response.headers_mut()) = (status, headers);
                response
            }
            Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
        }
    }))
    .await
}

/// Returns the processor time of this process, in seconds.
fn cpu_seconds() -> Outcome<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, rest) = stat.rsplit_once(')').ok_or("unexpected format of /proc")?;
    let fields = rest.split_whitespace().skip(11).take(2);
    let ticks: Result<Vec<f64>, _> = fields.map(str::parse).collect();
    Ok(ticks?.iter().sum::<f64>() / TICKS_A_SECOND)
}

async fn requests(routes: [&Url; 5], connections: usize, time: Duration) -> Outcome<()> {
    let mut measurements: [Measurement; 5] = Default::default();
    for _ in 0..ROUNDS {
        for (measurement, url) in measurements.iter_mut().zip(routes) {
            measurement.add(send_for(url, connections, time).await?);
        }
    }
    let label = |figure: &str| format!("{connections:>2} x {figure}");
    row(&label("requests/s"), measurements.each_ref().map(Measurement::per_second));
    row(&label("CPU us"), measurements.each_ref().map(Measurement::cpu_micros));
    for percent in [50, 99] {
        let figures =
            measurements.each_mut().map(|measurement| measurement.percentile(percent) as f64);
        row(&label(&format!("p{percent} in us")), figures);
    }
    Ok(())
}

async fn send_for(url: &Url, connections: usize, time: Duration) -> Outcome<Measurement> {
    let (begun, cpu) = (Instant::now(), cpu_seconds()?);
    let mut senders = JoinSet::new();
    for _ in 0..connections {
        senders.spawn(sender(url.clone(), begun + time));
    }
    let mut measurement = Measurement::default();
    while let Some(sent) = senders.join_next().await {
        measurement.latencies.extend(sent??);
    }
    measurement.spent = begun.elapsed();
    measurement.cpu = cpu_seconds()? - cpu;
    Ok(measurement)
}

/// Sends messages one after the other over one connection; returns the duration of each.
async fn sender(url: Url, until: Instant) -> Outcome<Vec<Duration>> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let mut latencies = Vec::new();
    while Instant::now() < until {
        let begun = Instant::now();
        let request = client.post(url.clone()).header(header::CONTENT_TYPE, "application/json");
        let reply = request.body(MESSAGE).send().await?.error_for_status()?;
        if reply.bytes().await? != MESSAGE {
            return Err("the reply is not the echo of the request".into());
        }
        latencies.push(begun.elapsed());
    }
    Ok(latencies)
}

async fn events(routes: [&Url; 5], time: Duration) -> Outcome<()> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let mut measurements = [(0_usize, Duration::ZERO, 0.0); 5];
    for _ in 0..ROUNDS {
        for (measurement, url) in measurements.iter_mut().zip(routes) {
            let (begun, cpu) = (Instant::now(), cpu_seconds()?);
            while begun.elapsed() < time {
                let reply = client.get(url.join("stream")?).send().await?.error_for_status()?;
                measurement.0 += reply.bytes().await?.len() / EVENT.len();
            }
            measurement.1 += begun.elapsed();
            measurement.2 += cpu_seconds()? - cpu;
        }
    }
    let figures = measurements.map(|(events, spent, _)| events as f64 / spent.as_secs_f64());
    row("events/s, one stream", figures);
    let figures = measurements.map(|(events, _, cpu)| cpu * 1e6 / events as f64);
    row("CPU us an event", figures);
    Ok(())
}

/// Prints figures, each with its ratio to the first.
fn row(label: &str, figures: [f64; 5]) {
    let digits = usize::from(figures[0] < 10.0);
    let compared = |figure: f64| {
        let shown = format!("{figure:.digits$} ({:.2})", figure / figures[0]);
        format!("{shown:>18}")
    };
    println!("{label:<24}{}", figures.map(compared).concat());
}
