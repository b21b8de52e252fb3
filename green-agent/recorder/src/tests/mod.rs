//! Tests the recorder between real sockets.

mod breaks;
mod oauth;
mod replies;
mod slow;
mod stdio;
mod streams;

use std::time::{Duration, Instant};

use axum::Router;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::*;
use green_agent_transcript::{Body, Content, Direction, Entry};

/// A time limit that no condition of these tests exceeds.
const PATIENCE: Duration = Duration::from_secs(120);

const SECRET: &str = "sesame-0123456789";

/// A recorder with the hop `green -> purple`, and a caller.
struct Setup {
    recorder: Recorder,
    transcript: Transcript,
    client: reqwest::Client,
    _folder: tempfile::TempDir,
}

/// Returns a client that connects directly.
fn caller() -> reqwest::Client {
    let client = reqwest::Client::builder().no_proxy();
    client.redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

impl Setup {
    async fn new(upstream: &str, options: RecorderOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transcript.jsonl");
        let transcript = Transcript::create(&path, Instant::now()).unwrap();
        let hops =
            vec![HopSpec { hop: hop(), upstream: upstream.parse().unwrap(), written_port: None }];
        let masker = Masker::new(vec![SECRET.to_owned()]);
        let recorder = Recorder::start(hops, transcript.clone(), masker, options).await.unwrap();
        Self { recorder, transcript, client: caller(), _folder: folder }
    }

    /// Returns a URL on the recorder.
    fn url(&self, path: &str) -> Url {
        self.recorder.url(&hop()).unwrap().join(path).unwrap()
    }

    fn contents(&self) -> Vec<Content> {
        let entries = self.transcript.entries().unwrap();
        entries.into_iter().map(|entry| entry.content).collect()
    }

    /// Waits until an entry fulfils the condition; returns the first that does.
    async fn entry(&self, wanted: impl Fn(&Entry) -> bool) -> Entry {
        let mut activity = self.transcript.activity();
        let found = async {
            loop {
                activity.mark_unchanged();
                let entries = self.transcript.entries().unwrap();
                if let Some(entry) = entries.into_iter().find(&wanted) {
                    return entry;
                }
                activity.changed().await.unwrap();
            }
        };
        timeout(PATIENCE, found).await.expect("no such entry came")
    }

    async fn failure(&self) -> (Direction, String) {
        let entry = self.entry(|entry| matches!(entry.content, Content::Failure { .. })).await;
        match entry.content {
            Content::Failure { error } => (entry.direction, error),
            other => panic!("{other:?}"),
        }
    }
}

fn hop() -> Hop {
    Hop::new("green", "purple")
}

fn small() -> RecorderOptions {
    RecorderOptions { body_limit: 1024, drain: Duration::ZERO, ..RecorderOptions::default() }
}

/// Serves an app; returns its origin, without a trailing slash.
async fn serve(app: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, app).into_future());
    origin
}

/// An upstream that answers its only request with exactly the bytes that a test sends.
struct Raw {
    origin: String,
    /// The bytes to send; the connection closes when this is dropped.
    send: mpsc::Sender<Vec<u8>>,
    /// Resolves when the other side has closed the connection.
    left: oneshot::Receiver<()>,
}

impl Raw {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let (send, bytes) = mpsc::channel(8);
        let (gone, left) = oneshot::channel();
        tokio::spawn(async move {
            let (connection, _) = listener.accept().await.unwrap();
            answer(connection, bytes, gone).await;
        });
        Self { origin, send, left }
    }

    async fn send(&self, bytes: &str) {
        self.send.send(bytes.as_bytes().to_vec()).await.unwrap();
    }
}

async fn answer(
    mut connection: TcpStream,
    mut bytes: mpsc::Receiver<Vec<u8>>,
    gone: oneshot::Sender<()>,
) {
    connection.set_nodelay(true).unwrap();
    let mut request = read_head(&mut connection).await;
    loop {
        tokio::select! {
            next = bytes.recv() => match next {
                Some(bytes) => connection.write_all(&bytes).await.unwrap(),
                None => return,
            },
            read = connection.read_buf(&mut request) => if matches!(read, Ok(0) | Err(_)) {
                let _ = gone.send(());
                return;
            },
        }
    }
}

/// Reads a request without a body.
async fn read_head(connection: &mut TcpStream) -> Vec<u8> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        assert_ne!(connection.read_buf(&mut request).await.unwrap(), 0);
    }
    request
}

/// Returns the name of a content's kind, to compare orders.
fn kind(content: &Content) -> &'static str {
    match content {
        Content::Request { .. } => "request",
        Content::Reply { .. } => "reply",
        Content::Event { .. } => "event",
        Content::End => "end",
        Content::Failure { .. } => "failure",
    }
}

fn kinds(contents: &[Content]) -> Vec<&'static str> {
    contents.iter().map(kind).collect()
}

fn omitted(content: &Content) -> u64 {
    match content.body() {
        Some(Body::Omitted { bytes, .. }) => *bytes,
        other => panic!("kept: {other:?}"),
    }
}
