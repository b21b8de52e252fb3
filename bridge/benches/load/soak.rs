//! The program left alone: half of what it can do at most, for a long time, with old tasks deleted meanwhile.
//!
//! `soak [--minutes N] [--keep TASKS]`: 5 minutes and 20,000 tasks by default. Memory, descriptors, disk and waiting are
//! printed as they are after each tenth of the time. None of them may grow with the number of messages.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use tokio::{task::JoinSet, time::interval};

use crate::{
    Outcome,
    cells::{message, post},
    connection::Connection,
    process::{self, Server},
};

/// How many connections send.
const CONNECTIONS: usize = 16;
/// One in so many messages is streamed.
const STREAMED: usize = 10;
/// How long it is measured what the program can do at most.
const TOP: Duration = Duration::from_secs(5);
/// Into how many parts the time is divided.
const PARTS: u32 = 10;

/// What is seen at one moment.
struct Seen {
    after: Duration,
    messages: usize,
    memory: f64,
    descriptors: usize,
    disk: f64,
    p50: Duration,
    p99: Duration,
}

pub(crate) fn run(arguments: &[&str]) -> Outcome<()> {
    let (mut minutes, mut keep) = (5.0, 20_000);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let value = arguments
            .next()
            .ok_or(format!("{argument} needs a value"))?;
        match *argument {
            "--minutes" => minutes = value.parse()?,
            "--keep" => keep = value.parse()?,
            unknown => return Err(format!("{unknown} is unknown: see benches/load/soak.rs").into()),
        }
    }
    process::pin_load()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(soak(Duration::from_secs_f64(60.0 * minutes), keep))
}

async fn soak(time: Duration, keep: usize) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("bridge.toml");
    let data = folder.path().join("data");
    let text = format!(
        "[store]\nplace = 'sled:{}'\n[store.retention]\ntasks = {keep}\n\
         [[agents]]\nname = 'echo'\nbuiltin = 'echo'\nturns = 'answers'\n",
        data.display()
    );
    std::fs::write(&config, text)?;
    let program = env!("CARGO_BIN_EXE_bridge");
    let command = format!(
        "{program} serve --listen 127.0.0.1:{{port}} --config {}",
        config.display()
    );
    let server = Server::start(&command).await?;
    let top = load(server.port, TOP, None).await?;
    let rate = top.len() as f64 / TOP.as_secs_f64();
    println!(
        "at most {rate:.0} messages a second; from now on half of it for {time:.0?}, the newest {keep} tasks are kept"
    );
    println!(
        "{:>8} {:>10} {:>8} {:>12} {:>9} {:>9} {:>9}",
        "after", "messages", "MiB", "descriptors", "MiB disk", "p50 ms", "p99 ms"
    );
    let (begun, mut messages) = (Instant::now(), top.len());
    for _ in 0..PARTS {
        let mut times = load(server.port, time / PARTS, Some(rate / 2.0)).await?;
        messages += times.len();
        times.sort_unstable();
        print(&Seen {
            after: begun.elapsed(),
            messages,
            memory: server.memory()? / 1024.0,
            descriptors: std::fs::read_dir(format!("/proc/{}/fd", server.id()))?.count(),
            disk: bytes(&data)? as f64 / f64::from(1 << 20),
            p50: times.get(times.len() / 2).copied().unwrap_or_default(),
            p99: times
                .get(times.len() * 99 / 100)
                .copied()
                .unwrap_or_default(),
        });
    }
    Ok(())
}

fn print(seen: &Seen) {
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{:>6.0} s {:>10} {:>8.0} {:>12} {:>9.0} {:>9.2} {:>9.2}",
        seen.after.as_secs_f64(),
        seen.messages,
        seen.memory,
        seen.descriptors,
        seen.disk,
        millis(seen.p50),
        millis(seen.p99),
    );
}

/// Sends for so long, at so many messages a second or as fast as answers come. Returns how long each answer took.
async fn load(port: u16, time: Duration, rate: Option<f64>) -> Outcome<Vec<Duration>> {
    let mut senders = JoinSet::new();
    for _ in 0..CONNECTIONS {
        senders.spawn(send(port, time, rate.map(|rate| rate / CONNECTIONS as f64)));
    }
    let mut times = Vec::new();
    while let Some(sent) = senders.join_next().await {
        times.extend(sent??);
    }
    Ok(times)
}

async fn send(port: u16, time: Duration, rate: Option<f64>) -> Outcome<Vec<Duration>> {
    let mut connection = Connection::open(port).await?;
    let mut ticks = rate.map(|rate| interval(Duration::from_secs_f64(1.0 / rate.max(0.1))));
    let (begun, mut times) = (Instant::now(), Vec::new());
    while begun.elapsed() < time {
        // What was late is sent at once, and counts from when it was due.
        let due = match &mut ticks {
            Some(ticks) => ticks.tick().await.into_std(),
            None => Instant::now(),
        };
        let method = match times.len() % STREAMED {
            0 => "SendStreamingMessage",
            _ => "SendMessage",
        };
        let call = crate::cells::call(method, &message("ping"));
        let request = post(port, "/a2a/echo", &call);
        match method {
            "SendMessage" => {
                connection.call(&request).await?;
            }
            _ => {
                connection.stream(&request).await?;
            }
        }
        times.push(due.elapsed());
    }
    Ok(times)
}

/// The bytes of the files in a folder.
fn bytes(folder: &Path) -> Outcome<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // A file may be removed meanwhile.
        match entry.metadata() {
            Ok(data) if data.is_dir() => sum += bytes(&entry.path())?,
            Ok(data) => sum += data.len(),
            Err(_) => {}
        }
    }
    Ok(sum)
}
