//! Requests that are mostly structure: they would take a hundred times their size, and are refused.

use std::time::{Duration, Instant};

use crate::frame::{Failed, Program, Scene, raw};

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(60);

/// What may stay of each request in the program, beside ten times its body, in MiB.
const SLACK: u64 = 24;

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let program = Program::start(&[])?;
    let sizes: &[usize] = scene.pick(&[2 << 20, 4 << 20, 15 << 20], &[2 << 20]);
    for size in sizes {
        for (what, path, body) in requests(*size) {
            let before = program.memory();
            let begun = Instant::now();
            let length = body.len();
            let attack = raw::post(program.address(), path, body, ANSWER);
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
