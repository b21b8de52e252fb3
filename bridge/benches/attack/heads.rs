//! Heads of requests: small and large ones that are sent only in half, and large ones whose request waits for its
//! answer.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;

use crate::harness::{Error, Harness, Program, raw};

/// The time within which a connection with half a head must be closed.
const CLOSED: Duration = Duration::from_secs(45);

/// The size of a large head in bytes; the server reads at most 64 KiB.
const LARGE: usize = 56 << 10;

/// The time for which a client waits for an answer that never comes.
const WAITING: Duration = Duration::from_secs(8);

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let folder = tempfile::tempdir()?;
    for (size, limit) in [(0, 300), (LARGE, 150)] {
        let program = match harness.is_short {
            false => Program::start(&[])?,
            true => Program::with_config(folder.path(), "[limits]\nhead_time = \"3s\"\n")?,
        };
        send_half_heads(harness, &program, size, limit).await?;
    }
    send_large_heads(harness).await
}

async fn send_half_heads(
    harness: &mut Harness,
    program: &Program,
    size: usize,
    limit: u64,
) -> Result<(), Error> {
    let connections = harness.pick(2_000, 400);
    let half = format!("POST /a2a HTTP/1.1\r\nHost: a\r\nX-Half: {}", "x".repeat(size));
    let begun = Instant::now();
    let one = async || {
        let mut connection = raw::connect(program.address()).await?;
        raw::send(&mut connection, half.as_bytes(), CLOSED).await;
        let (answer, is_closed) = raw::read(&mut connection, CLOSED).await;
        is_closed.then(|| (begun.elapsed(), answer.starts_with(b"HTTP/1.1 503")))
    };
    let attack = join_all((0..connections).map(|_| one()));
    let ended = harness.attack(program, limit, attack).await?;
    let ended: Vec<_> = ended.into_iter().flatten().collect();
    let last = ended.iter().map(|(after, _)| *after).max();
    let refused = ended.iter().filter(|(_, is_refused)| *is_refused).count();
    let closed = ended.len();
    harness.note(format_args!(
        "half heads of {size} bytes: {closed} of {connections} were closed, the last one after {last:.1?}; {refused} with 503"
    ));
    harness.check(closed == connections, "a connection with half a head is closed");
    Ok(())
}

/// Sends requests with large heads to an agent that never answers: the server must not keep the heads.
async fn send_large_heads(harness: &mut Harness) -> Result<(), Error> {
    let requests = harness.pick(2_000, 400);
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
    let ended = harness.attack(&program, 200, attack).await?;
    let refused = ended.iter().flatten().filter(|refused| **refused).count();
    harness.note(format_args!(
        "{requests} requests with heads of {LARGE} bytes were sent, {refused} of them were refused"
    ));
    Ok(())
}
