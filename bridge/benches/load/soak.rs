//! Runs the program for a long time at half of its highest rate, while old tasks are deleted.
//!
//! `soak [--minutes N] [--keep TASKS]`: 5 minutes and 20,000 tasks by default. Memory, descriptors, disk and latencies
//! are printed after each tenth of the time. None of them should grow with the number of messages.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use tokio::{task::JoinSet, time::interval};

use crate::{
    Outcome,
    connection::Connection,
    figures::{message, post},
    process::{self, Server},
};

/// The number of connections that send.
const CONNECTIONS: usize = 16;
/// One of this many messages is streamed.
const STREAM_RATE: usize = 10;
/// The time for which the highest rate is measured.
const PEAK_TIME: Duration = Duration::from_secs(5);
/// The number of samples.
const PARTS: u32 = 10;

/// The figures at one moment.
struct Sample {
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
        let value = arguments.next().ok_or(format!("{argument} needs a value"))?;
        match *argument {
            "--minutes" => minutes = value.parse()?,
            "--keep" => keep = value.parse()?,
            unknown => return Err(format!("{unknown} is unknown: see benches/load/soak.rs").into()),
        }
    }
    process::pin_load()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
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
    let command =
        format!("{program} serve --listen 127.0.0.1:{{port}} --config {}", config.display());
    let server = Server::start(&command).await?;
    let peak = load(server.port, PEAK_TIME, None).await?;
    let rate = peak.len() as f64 / PEAK_TIME.as_secs_f64();
    println!(
        "highest rate: {rate:.0} messages a second; sending at half of it for {time:.0?} and keeping the newest {keep} tasks"
    );
    println!(
        "{:>8} {:>10} {:>8} {:>12} {:>9} {:>9} {:>9}",
        "after", "messages", "MiB", "descriptors", "MiB disk", "p50 ms", "p99 ms"
    );
    let (begun, mut messages) = (Instant::now(), peak.len());
    for _ in 0..PARTS {
        let mut times = load(server.port, time / PARTS, Some(rate / 2.0)).await?;
        messages += times.len();
        times.sort_unstable();
        print(&Sample {
            after: begun.elapsed(),
            messages,
            memory: server.memory()? / 1024.0,
            descriptors: std::fs::read_dir(format!("/proc/{}/fd", server.id()))?.count(),
            disk: bytes(&data)? as f64 / f64::from(1 << 20),
            p50: times.get(times.len() / 2).copied().unwrap_or_default(),
            p99: times.get(times.len() * 99 / 100).copied().unwrap_or_default(),
        });
    }
    Ok(())
}

fn print(sample: &Sample) {
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{:>6.0} s {:>10} {:>8.0} {:>12} {:>9.0} {:>9.2} {:>9.2}",
        sample.after.as_secs_f64(),
        sample.messages,
        sample.memory,
        sample.descriptors,
        sample.disk,
        millis(sample.p50),
        millis(sample.p99),
    );
}

/// Sends for this time, at this rate or as fast as possible. Returns the latency of each message.
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
        // A late message is sent at once, and its latency counts from its due time.
        let due = match &mut ticks {
            Some(ticks) => ticks.tick().await.into_std(),
            None => Instant::now(),
        };
        let method = match times.len() % STREAM_RATE {
            0 => "SendStreamingMessage",
            _ => "SendMessage",
        };
        let call = crate::figures::call(method, &message("ping"));
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

/// Returns the size of all files in a folder.
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
