//! Measures the cost of a send part by part: each server does a little more than the one before.
//!
//! `floor` of the load program. The cost is the server's processor time at several numbers of connections. With
//! `--count`, callgrind also counts the instructions outside the kernel and, if the program has symbols, the
//! allocator's calls.
//!
//! | argument | |
//! |-|-|
//! | `--rounds N`, `--seconds N` | as for servers |
//! | `--count N` | valgrind counts the instructions of this many sends at 16 connections |

use std::{fs, path::Path, process::Command, time::Duration};

use axum::{
    Router, body::Bytes, http::header::CONTENT_TYPE, response::IntoResponse as _, routing::post,
    serve::ListenerExt as _,
};
use tokio::net::TcpListener;

use crate::{
    Outcome,
    figures::{self, Http2, Kind, Until},
    process::{self, Server},
    table::{self, Row},
};

/// The servers, and the additional work of each. `bare` and `memory` are the base of those that name them.
const PARTS: [(&str, &str); 8] = [
    ("http", "HTTP: a body is read, a constant is answered"),
    ("bare", "+ JSON read and written"),
    ("one-commit", "bare + one commit"),
    ("two-commits", "bare + two commits: the limit"),
    ("memory", "bare + service, turn, agent, memory store"),
    ("memory-one-commit", "memory + one commit"),
    ("memory-two-commits", "memory + two commits"),
    ("sled", "memory's tables replaced by log and index"),
];
/// Other requests, 16 at once: the cost of HTTP/2, of gRPC in addition, and of GetTask.
const EXTRA: [(&str, RequestKind, &str); 5] = [
    ("memory", RequestKind::OverHttp2(Http2::JsonRpc), "memory, JSON-RPC over HTTP/2"),
    ("memory", RequestKind::OverHttp2(Http2::Grpc), "memory, gRPC"),
    ("bare", RequestKind::GetTask, "GetTask: bare, with a task that is made up"),
    ("memory", RequestKind::GetTask, "GetTask: memory"),
    ("sled", RequestKind::GetTask, "GetTask: log and index"),
];
const CONNECTIONS: [usize; 2] = [16, 64];
/// The sends before the counted ones.
const WARM_UP_SENDS: usize = 300;
/// The number of connections while instructions are counted, small because valgrind is slow.
const COUNTED_CONNECTIONS: usize = 16;

/// Measures with these arguments, and prints a table.
pub(crate) fn run(arguments: &[&str]) -> Outcome<()> {
    let (mut rounds, mut time, mut count) = (3, Duration::from_secs(4), None);
    for pair in arguments.chunks(2) {
        match *pair {
            ["--rounds", value] => rounds = value.parse()?,
            ["--seconds", value] => time = Duration::from_secs_f64(value.parse()?),
            ["--count", value] => count = Some(value.parse()?),
            _ => {
                return Err(format!("{pair:?}: see the beginning of benches/load/floor.rs").into());
            }
        }
    }
    process::pin_load()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let program = std::env::current_exe()?;
    let serve = |kind| format!("{} serve {kind} {{port}} {{folder}}", program.display());
    let mut rows = Vec::new();
    for round in 1..=rounds {
        for (kind, part) in PARTS {
            eprintln!("round {round} of {rounds}: {kind}");
            let command = serve(kind);
            let cost = cost(part, &command, RequestKind::Message, &CONNECTIONS, time);
            rows.push(runtime.block_on(cost)?);
        }
        for (kind, sent, part) in EXTRA {
            eprintln!("round {round} of {rounds}: {part}");
            let command = serve(kind);
            let cost = cost(part, &command, sent, &[COUNTED_CONNECTIONS], time);
            rows.push(runtime.block_on(cost)?);
        }
    }
    if let Some(count) = count {
        for (kind, part) in PARTS {
            eprintln!("counting: {kind}");
            rows.push(runtime.block_on(count_instructions(
                part,
                &serve(kind),
                RequestKind::Message,
                count,
            ))?);
        }
        for (kind, sent, part) in EXTRA {
            eprintln!("counting: {part}");
            rows.push(runtime.block_on(count_instructions(part, &serve(kind), sent, count))?);
        }
    }
    print!("{}", table::transposed(&rows));
    Ok(())
}

/// The kind of a request.
#[derive(Clone, Copy)]
enum RequestKind {
    /// A SendMessage by JSON-RPC over HTTP/1.1.
    Message,
    /// A SendMessage over HTTP/2.
    OverHttp2(Http2),
    /// A GetTask by JSON-RPC over HTTP/1.1.
    GetTask,
}

/// Measures the processor time of a request with each of these numbers of connections.
async fn cost(
    part: &str,
    command: &str,
    kind: RequestKind,
    connections: &[usize],
    time: Duration,
) -> Outcome<Row> {
    let server = Server::start(command).await?;
    let mut row = Row::new(part);
    for &connections in connections {
        let cost = match kind {
            RequestKind::Message => figures::cpu_of_sends(&server, connections, time).await?,
            RequestKind::OverHttp2(kind) => {
                let until = Until::Time(time);
                figures::load_http2(&server, connections, until, kind).await?.cost()
            }
            RequestKind::GetTask => figures::read_tasks(&server, time).await?.cost(),
        };
        row.put(&format!("us of CPU at {connections}"), cost.as_secs_f64() * 1e6);
    }
    Ok(row)
}

/// Sends about `count` requests, and returns the exact number. `task` is the request for a task.
async fn send(server: &Server, kind: RequestKind, task: &[u8], count: usize) -> Outcome<usize> {
    match kind {
        RequestKind::Message => {
            figures::repeat_send(server, COUNTED_CONNECTIONS, Kind::Call, count).await
        }
        RequestKind::OverHttp2(kind) => {
            let each = Until::Count(count.div_ceil(COUNTED_CONNECTIONS));
            let load = figures::load_http2(server, COUNTED_CONNECTIONS, each, kind).await?;
            Ok(load.count)
        }
        RequestKind::GetTask => {
            figures::repeat_request(server, COUNTED_CONNECTIONS, Kind::Call, task, count).await
        }
    }
}

/// Counts the instructions and the allocator's calls of a send with callgrind.
async fn count_instructions(
    part: &str,
    command: &str,
    kind: RequestKind,
    count: usize,
) -> Outcome<Row> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("callgrind");
    let command = format!(
        "valgrind --quiet --tool=callgrind --callgrind-out-file={} {command}",
        out.display()
    );
    let server = Server::start(&command).await?;
    let task = match kind {
        RequestKind::Message | RequestKind::OverHttp2(_) => Vec::new(),
        RequestKind::GetTask => figures::requests_of_tasks(&server, 1).await?.concat(),
    };
    send(&server, kind, &task, WARM_UP_SENDS).await?;
    let control = |what: &str| {
        let server = server.id().to_string();
        let status = Command::new("callgrind_control").args([what, &server]).output()?;
        match status.status.success() {
            true => Ok(()),
            false => Err(std::io::Error::other("callgrind_control failed")),
        }
    };
    control("--zero")?;
    let sent = send(&server, kind, &task, count).await?;
    control("--dump")?;
    let (instructions, allocations) = read(folder.path())?;
    let mut row = Row::new(part);
    row.put("thousand instructions", instructions as f64 / sent as f64 / 1e3);
    if allocations > 0 {
        row.put("allocations", allocations as f64 / sent as f64);
    }
    Ok(row)
}

/// Returns the sums of all dumps in a folder; each thread or process may have its own files.
fn read(folder: &Path) -> Outcome<(u64, u64)> {
    let (mut instructions, mut allocations) = (0, 0);
    for entry in fs::read_dir(folder)? {
        let profile = fs::read_to_string(entry?.path())?;
        instructions += first(&profile, "totals: ").unwrap_or_default();
        allocations += calls_of_allocator(&profile);
    }
    match instructions {
        0 => Err("callgrind has counted nothing".into()),
        _ => Ok((instructions, allocations)),
    }
}

fn first(profile: &str, prefix: &str) -> Option<u64> {
    let line = profile.lines().find_map(|line| line.strip_prefix(prefix))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the number of calls of allocating functions. A profile names a function once, and then uses a number.
fn calls_of_allocator(profile: &str) -> u64 {
    const ALLOCATING: [&str; 4] =
        ["mi_malloc_aligned", "mi_zalloc_aligned", "mi_malloc", "mi_zalloc"];
    let (mut known, mut is_allocating, mut calls) = (Vec::new(), false, 0);
    for line in profile.lines() {
        if let Some(named) = line.strip_prefix("cfn=").or(line.strip_prefix("fn=")) {
            let (number, name) = named.split_once(' ').unwrap_or((named, ""));
            if ALLOCATING.contains(&name) {
                known.push(number);
            }
            is_allocating = line.starts_with('c') && known.contains(&number);
        } else if let Some(called) = line.strip_prefix("calls=").filter(|_| is_allocating) {
            let count = called.split_whitespace().next();
            calls += count.and_then(|count| count.parse().ok()).unwrap_or(0);
        }
    }
    calls
}

/// Serves the same bytes for each request without reading it.
pub(crate) async fn serve(port: u16) -> Outcome<()> {
    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"00000000-0000-4000-8000-000000000001","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-01T00:00:00.000Z"}}}}"#;
    let answer = async |body: Bytes| {
        drop(body);
        ([(CONTENT_TYPE, "application/json")], ANSWER).into_response()
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let listener = listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    axum::serve(listener, Router::new().route("/", post(answer))).await?;
    Ok(())
}
