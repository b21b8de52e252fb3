//! Serves the page while its run is running: the script loads each block when it is shown, and checks every second
//! whether there are new records and whether a program still writes them.

use std::{
    collections::BTreeMap,
    fs, io,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    extract::{Path as Segment, Request, State},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use bridge_program::{Json, lock};
use serde::Serialize;

use super::{page, run_block, trial_blocks};
use crate::{
    record::{Manifest, RECORDS, is_written},
    report::source::ReportSource,
};

/// The state that the routes share.
struct Live {
    folder: PathBuf,
    /// The blocks of the trial that was shown last, compressed.
    last: Mutex<(String, BTreeMap<String, Vec<u8>>)>,
}

/// Returns the routes that show the run in a folder. Requests with another host than this machine are refused, so that
/// no web site can read the run by resolving its own name to this machine.
pub fn router(folder: &Path) -> Router {
    let live = Live { folder: folder.to_owned(), last: Mutex::default() };
    Router::new()
        .route("/", get(page))
        .route("/state", get(state))
        .route("/blocks/{name}", get(block))
        .layer(middleware::from_fn(only_this_machine))
        .with_state(Arc::new(live))
}

async fn only_this_machine(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
    match is_this_machine(host) {
        true => next.run(request).await,
        false => StatusCode::MISDIRECTED_REQUEST.into_response(),
    }
}

/// Returns whether a `Host` header names this machine by address or as `localhost`.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

async fn page(State(live): State<Arc<Live>>) -> Response {
    let name = live.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut text = Vec::new();
    let written = page::begin(&mut text, &name, page::Source::Server)
        .and_then(|()| page::script(&mut text))
        .and_then(|()| page::end(&mut text));
    match written {
        Ok(()) => {
            let html = (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned());
            let policy = page::policy("'self'") + "; frame-ancestors 'none'";
            let policy = (header::CONTENT_SECURITY_POLICY, policy);
            ([html, policy], text).into_response()
        }
        Err(error) => failed(&error),
    }
}

/// Returns the length of the records, which changes with each new one, and whether the run is running.
async fn state(State(live): State<Arc<Live>>) -> Response {
    match live.state() {
        Ok(state) => Json(state).into_response(),
        Err(error) => failed(&error),
    }
}

async fn block(State(live): State<Arc<Live>>, Segment(name): Segment<String>) -> Response {
    // This runs on a blocking thread, because reading a transcript takes a while.
    let read = tokio::task::spawn_blocking(move || live.block(&name)).await;
    match read.map_err(io::Error::other).and_then(|read| read) {
        Ok(Some(Content::Plain(text))) => {
            ([(header::CONTENT_TYPE, "application/json")], text).into_response()
        }
        Ok(Some(Content::Packed(packed))) => {
            let plain = (header::CONTENT_TYPE, "text/plain; charset=utf-8");
            // HTTP calls zlib's format `deflate`.
            ([plain, (header::CONTENT_ENCODING, "deflate")], packed).into_response()
        }
        Ok(None) => StatusCode::NOT_FOUND.into_response(),
        Err(error) => failed(&error),
    }
}

fn failed(error: &io::Error) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response()
}

/// The state that the page polls.
#[derive(Serialize)]
struct RunState {
    /// The length of the records.
    bytes: u64,
    /// Whether a program writes them.
    running: bool,
    /// The number of trials of the run; `null` if it is not known.
    total: Option<usize>,
}

enum Content {
    Plain(Vec<u8>),
    Packed(Vec<u8>),
}

impl Live {
    fn block(&self, name: &str) -> io::Result<Option<Content>> {
        if name == "run" {
            // This is read before the records, so that records added meanwhile are noticed as new.
            let bytes = self.state()?.bytes;
            let run = self.read()?;
            let blocks: Vec<Option<String>> = run.folder.records.iter().map(block_name).collect();
            let mut table = run_block::of(&run, &blocks, None);
            table["bytes"] = bytes.into();
            return Ok(Some(Content::Plain(serde_json::to_vec(&table)?)));
        }
        let trial = name.split('.').next().unwrap_or_default();
        let mut last = lock(&self.last);
        if last.0 != trial {
            let run = self.read()?;
            let record = run
                .folder
                .records
                .iter()
                .find(|record| block_name(record).as_deref() == Some(trial));
            let Some((record, folder)) =
                record.and_then(|record| Some((record, run.folder_of(record)?)))
            else {
                return Ok(None);
            };
            let blocks = trial_blocks::of_trial(record, &folder, trial)?.unwrap_or_default();
            *last = (
                trial.to_owned(),
                blocks.into_iter().map(super::block::Block::into_parts).collect(),
            );
        }
        Ok(last.1.get(name).cloned().map(Content::Packed))
    }

    fn state(&self) -> io::Result<RunState> {
        let records = self.folder.join(RECORDS);
        let (bytes, running) = match fs::metadata(&records) {
            Ok(found) => (found.len(), is_written(&records)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (0, false),
            Err(error) => return Err(error),
        };
        let manifest = Manifest::read(&self.folder).ok();
        Ok(RunState { bytes, running, total: manifest.and_then(|manifest| manifest.trials()) })
    }

    fn read(&self) -> io::Result<ReportSource> {
        ReportSource::read(&self.folder, None).map_err(io::Error::other)
    }
}

/// Returns the name of a trial's blocks, which stays the same while records are added.
fn block_name(record: &crate::record::TrialRecord) -> Option<String> {
    record.folder.is_some().then(|| format!("t{}-{}", record.key, record.attempt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for host in ["127.0.0.1:4000", "localhost", "localhost:1", "[::1]:80", "127.3.2.1"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:4000",
            "localhost.evil.example",
            "10.0.0.1",
            "[::2]:80",
        ] {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    #[tokio::test]
    async fn a_run_is_served_block_by_block_to_this_machine_only() {
        use axum::{body::Body, body::to_bytes, http};
        use tower::ServiceExt as _;

        let folder = tempfile::tempdir().unwrap();
        let manifest = crate::record::Manifest::begun("2026-01-02T03:04:05Z".to_owned());
        manifest.write(folder.path()).unwrap();
        let get = async |path: &str, host: &str| {
            let request = http::Request::get(path).header("host", host);
            let request = request.body(Body::empty()).unwrap();
            let response = router(folder.path()).oneshot(request).await.unwrap();
            let status = response.status().as_u16();
            let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            (status, String::from_utf8(body.to_vec()).unwrap())
        };
        let (status, page) = get("/", "127.0.0.1:1").await;
        assert_eq!(status, 200);
        assert!(page.contains("connect-src 'self'") && page.contains("data-source=\"server\""));
        assert_eq!(get("/", "evil.example").await.0, 421);
        let state = async || get("/state", "localhost").await.1;
        let writer = crate::record::RecordWriter::open(&folder.path().join(RECORDS)).unwrap();
        assert_eq!(state().await, "{\"bytes\":0,\"running\":true,\"total\":0}");
        drop(writer);
        assert_eq!(state().await, "{\"bytes\":0,\"running\":false,\"total\":0}");
        let (status, run) = get("/blocks/run", "localhost").await;
        assert_eq!(status, 200);
        let run: serde_json::Value = serde_json::from_str(&run).unwrap();
        assert_eq!(run["trials"]["key"], serde_json::json!([]));
        assert_eq!(run["bytes"], 0);
        assert_eq!(get("/blocks/t00-1", "localhost").await.0, 404);
        assert_eq!(get("/blocks/..%2f..%2fetc", "localhost").await.0, 404);
    }
}
