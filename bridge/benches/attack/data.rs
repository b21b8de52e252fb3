//! Sends requests that are mostly structure: once parsed they would take a hundred times their size, so they are
//! refused.

use std::time::{Duration, Instant};

use crate::harness::{Error, Harness, Program, raw};

/// The time limit for an answer.
const ANSWER: Duration = Duration::from_secs(60);

/// The memory that each request may take in addition to ten times its body, in MiB.
const SLACK: u64 = 24;

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let program = Program::start(&[])?;
    let sizes: &[usize] = harness.pick(&[2 << 20, 4 << 20, 15 << 20], &[2 << 20]);
    for size in sizes {
        for (what, path, body) in requests(*size) {
            let before = program.memory_mib();
            let begun = Instant::now();
            let length = body.len();
            let attack = raw::post(program.address(), path, body, ANSWER);
            let answer =
                harness.attack(&program, before + SLACK + 10 * (length >> 20) as u64, attack);
            let answer = answer.await?;
            let response = String::from_utf8_lossy(&answer);
            let response = response.split("\r\n\r\n").nth(1).unwrap_or_default();
            let shown: String = response.chars().take(150).collect();
            harness.note(format_args!(
                "{what}, {:.1} MB, {:.1?}: {shown}",
                length as f64 / 1e6,
                begun.elapsed()
            ));
            harness.check(
                response.contains("expected values that take at most"),
                "the refusal says that the values take too much memory",
            );
        }
    }
    Ok(())
}

/// Returns requests of about this size: a description, the path and the body of each.
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
    let metadata = message(format!("{{\"text\":\"a\"}}],\"metadata\":{{\"a\":[{lists}]}}"));
    let junk = format!("{{\"id\":\"t\",\"junk\":[{objects}]}}");
    vec![
        ("data in JSON-RPC", "/a2a", rpc("SendMessage", data.clone()).into()),
        ("junk in a GetTask request", "/a2a", rpc("GetTask", junk).into()),
        ("data in HTTP+JSON", "/a2a/echo/message:send", data.into()),
        ("metadata in HTTP+JSON", "/a2a/echo/message:send", metadata.into()),
    ]
}
