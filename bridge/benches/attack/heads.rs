//! Heads of requests: halves of small and of large ones, and then nothing; and large ones that wait for their answer.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;

use crate::frame::{Failed, Program, Scene, raw};

/// After how long each half must have been closed.
const CLOSED: Duration = Duration::from_secs(45);

/// The bytes of a large head; beyond 64 KiB none is read.
const LARGE: usize = 56 << 10;

/// How long those wait who have asked for what never comes.
const WAITING: Duration = Duration::from_secs(8);

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for (size, limit) in [(0, 300), (LARGE, 150)] {
        let program = match scene.is_short {
            false => Program::start(&[])?,
            true => Program::configured(folder.path(), "[limits]\nhead_time = \"3s\"\n")?,
        };
        halves(scene, &program, size, limit).await?;
    }
    waiting(scene).await
}

async fn halves(
    scene: &mut Scene,
    program: &Program,
    size: usize,
    limit: u64,
) -> Result<(), Failed> {
    let connections = scene.pick(2_000, 400);
    let half = format!(
        "POST /a2a HTTP/1.1\r\nHost: a\r\nX-Half: {}",
        "x".repeat(size)
    );
    let begun = Instant::now();
    let one = async || {
        let mut connection = raw::connect(program.address()).await?;
        raw::send(&mut connection, half.as_bytes(), CLOSED).await;
        let (answer, is_closed) = raw::read(&mut connection, CLOSED).await;
        is_closed.then(|| (begun.elapsed(), answer.starts_with(b"HTTP/1.1 503")))
    };
    let attack = join_all((0..connections).map(|_| one()));
    let ended = scene.attack(program, limit, attack).await?;
    let ended: Vec<_> = ended.into_iter().flatten().collect();
    let last = ended.iter().map(|(after, _)| *after).max();
    let refused = ended.iter().filter(|(_, is_refused)| *is_refused).count();
    let closed = ended.len();
    scene.note(format_args!(
        "halves of {size} bytes: {closed} of {connections} were closed, the last one after {last:.1?}; {refused} with 503"
    ));
    scene.must(
        closed == connections,
        "half a head is not waited for for ever",
    );
    Ok(())
}

/// Requests with large heads to an agent that never answers: once they are read, their heads are not needed.
async fn waiting(scene: &mut Scene) -> Result<(), Failed> {
    let requests = scene.pick(2_000, 400);
    let program = Program::start(&["--builtin", "hanging"])?;
    let one = async |number: usize| {
        let mut connection = raw::connect(program.address()).await?;
        let message = json!({"messageId": format!("m-{number}"), "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        let params = json!({"message": message});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let body = body.to_string();
        let head = raw::head("/a2a/hanging", body.len());
        let large = format!("\r\nX-Large: {}\r\n\r\n", "x".repeat(LARGE));
        let request = head.replace("\r\n\r\n", &large) + &body;
        raw::send(&mut connection, request.as_bytes(), WAITING).await;
        let (answer, _) = raw::read(&mut connection, WAITING).await;
        Some(answer.starts_with(b"HTTP/1.1 503"))
    };
    let attack = join_all((0..requests).map(one));
    let ended = scene.attack(&program, 200, attack).await?;
    let refused = ended.iter().flatten().filter(|refused| **refused).count();
    scene.note(format_args!(
        "{requests} requests with heads of {LARGE} bytes wait for their answers, {refused} of them were refused"
    ));
    Ok(())
}
