//! Small requests that are mostly structure: a few bytes each that would take a hundred times as much.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use futures_util::future::join_all;

use crate::frame::{Failed, Program, Scene, raw};

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(60);

/// What may stay of each request in the program, beside ten times its body, in MiB.
const SLACK: u64 = 24;

/// The bytes of a small body.
const SMALL: usize = 15_000;

/// How many callers send small ones.
const CALLERS: usize = 200;

/// What the program may have with all of them, in MiB: of each alone a hundred times its bytes.
const MEMORY: u64 = 500;

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    large(scene).await?;
    small(scene).await
}

/// Many small ones at once, each of which is taken.
async fn small(scene: &mut Scene) -> Result<(), Failed> {
    let count = scene.pick(2_000, 200);
    let program = Program::start(&[])?;
    let next = AtomicUsize::new(0);
    let objects = vec!["{\"\":0}"; SMALL / 8].join(",");
    let one = async || {
        let (mut taken, mut later) = (0, 0);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return (taken, later);
            }
            let body = format!(
                "{{\"message\":{{\"messageId\":\"small-{number}\",\"role\":\"ROLE_USER\",\
                 \"parts\":[{{\"data\":[{objects}]}}]}}}}"
            );
            let answer = ask(&program, "/a2a/echo/message:send", body.into()).await;
            taken += usize::from(answer.starts_with(b"HTTP/1.1 200"));
            later += usize::from(answer.starts_with(b"HTTP/1.1 503"));
        }
    };
    let attack = join_all((0..CALLERS).map(|_| one()));
    let counted = scene.attack(&program, MEMORY, attack).await?;
    let (taken, later) = counted
        .into_iter()
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    scene.note(format_args!(
        "{count} small requests: {taken} taken, {later} told to come again"
    ));
    scene.must(taken + later == count, "each small request is answered");
    Ok(())
}

/// Large ones, each of which is refused.
async fn large(scene: &mut Scene) -> Result<(), Failed> {
    let program = Program::start(&[])?;
    let sizes: &[usize] = scene.pick(&[2 << 20, 4 << 20, 15 << 20], &[2 << 20]);
    for size in sizes {
        for (what, path, body) in requests(*size) {
            let before = program.memory();
            let begun = Instant::now();
            let length = body.len();
            let attack = ask(&program, path, body);
            let answer = scene.attack(
                &program,
                before + SLACK + 10 * (length >> 20) as u64,
                attack,
            );
            let answer = answer.await?;
            let said = String::from_utf8_lossy(&answer);
            let said = said.split("\r\n\r\n").nth(1).unwrap_or_default();
            let shown: String = said.chars().take(150).collect();
            scene.note(format_args!(
                "{what}, {:.1} MB, {:.1?}: {shown}",
                length as f64 / 1e6,
                begun.elapsed()
            ));
            scene.must(
                said.contains("expected values that take at most"),
                "a request that weighs too much is told so",
            );
        }
    }
    Ok(())
}

/// Requests of about so many bytes: what they are, their path, their body.
fn requests(size: usize) -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let objects = vec!["{\"\":0}"; size / 7].join(",");
    let lists = vec!["[]"; size / 3].join(",");
    let rpc = |method: &str, params: String| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{params}}}")
    };
    let message = |rest: String| {
        format!(
            "{{\"message\":{{\"messageId\":\"attack\",\"role\":\"ROLE_USER\",\"parts\":[{rest}}}}}"
        )
    };
    let data = message(format!("{{\"data\":[{objects}]}}]"));
    let metadata = message(format!(
        "{{\"text\":\"a\"}}],\"metadata\":{{\"a\":[{lists}]}}"
    ));
    let junk = format!("{{\"id\":\"t\",\"junk\":[{objects}]}}");
    vec![
        (
            "data in JSON-RPC",
            "/a2a",
            rpc("SendMessage", data.clone()).into(),
        ),
        (
            "junk beside GetTask's id",
            "/a2a",
            rpc("GetTask", junk).into(),
        ),
        ("data in HTTP+JSON", "/a2a/echo/message:send", data.into()),
        (
            "metadata in HTTP+JSON",
            "/a2a/echo/message:send",
            metadata.into(),
        ),
    ]
}

async fn ask(program: &Program, path: &str, body: Vec<u8>) -> Vec<u8> {
    let Some(mut connection) = raw::connect(program.address()).await else {
        return Vec::new();
    };
    let head = raw::head(path, body.len()).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    raw::send(&mut connection, head.as_bytes(), ANSWER).await;
    raw::send(&mut connection, &body, ANSWER).await;
    drop(body);
    raw::read(&mut connection, ANSWER).await.0
}
