//! Bridges on one PostgreSQL, beside one on a folder: `replicas` of the load program.
//!
//! The program starts a server of Debian's PostgreSQL with default settings, so that it syncs, and removes it at the end.
//! Sends and streams go to all bridges alike, from as many connections in all for any number of bridges. Failover is the
//! time from the kill of a bridge in which turns of several conversations run until the other bridges, which are under load,
//! have answered a next message in each of these conversations. Most of it is the lease, here of two seconds. A bridge that
//! does not keep its lease up, as a debug build on a busy machine may not, is taken for dead, and the program ends with an
//! error.
//!
//! | argument | |
//! |-|-|
//! | `--rounds N` | how often each number of bridges is measured; 3 by default |
//! | `--sends N` | how many messages are sent in each; 4,000 by default |

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    Outcome,
    cells::{self, Kind, message, request},
    connection::{Connection, body},
    postgres,
    process::{self, Server},
    table::{self, Row},
};

/// The connections of all bridges together.
const CONNECTIONS: usize = 48;
/// Sends and streams before those that are counted.
const WARM: usize = 200;
/// The conversations of the bridge that is killed.
const HELD: usize = 16;
/// How long a failover may take.
const LONG: Duration = Duration::from_secs(60);

/// Measures as the arguments say and prints a table.
pub(crate) fn run(arguments: &[&str]) -> Outcome<()> {
    let (mut rounds, mut sends) = (3, 4_000);
    for pair in arguments.chunks(2) {
        match *pair {
            ["--rounds", value] => rounds = value.parse()?,
            ["--sends", value] => sends = value.parse()?,
            _ => {
                return Err(
                    format!("{pair:?}: see the beginning of benches/load/replicas.rs").into(),
                );
            }
        }
    }
    process::pin_load()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut rows = Vec::new();
    for round in 1..=rounds {
        for bridges in 0..=3 {
            eprintln!("round {round} of {rounds}: {bridges} bridges on PostgreSQL");
            rows.push(runtime.block_on(row(bridges, sends))?);
        }
    }
    print!("{}", table::turned(&rows));
    Ok(())
}

/// The figures of so many bridges on PostgreSQL; of one on a folder if there is none.
async fn row(bridges: usize, sends: usize) -> Outcome<Row> {
    let program = std::env::current_exe()?.display().to_string();
    let database = match bridges {
        0 => None,
        _ => {
            let started = postgres::Server::start(&[]);
            let url = started.database().await.url;
            Some((started, url))
        }
    };
    let (name, command) = match &database {
        None => (
            "sled".to_owned(),
            format!("{program} serve sled {{port}} {{folder}}"),
        ),
        Some((_, url)) => (
            format!("PostgreSQL, {bridges}"),
            format!("{program} serve postgres {{port}} {url}"),
        ),
    };
    let mut row = Row::new(&name);
    let mut servers = Vec::new();
    for _ in 0..bridges.max(1) {
        servers.push(Server::start(&command).await?);
    }
    for server in &servers {
        cells::check(server).await?;
    }
    let connections = CONNECTIONS / servers.len();
    let each = sends / servers.len();
    for (name, kind) in [("send/s", Kind::Call), ("streams/s", Kind::Stream)] {
        let send = |count| {
            let send = move |server| cells::some_sends(server, connections, kind, count);
            try_join_all(servers.iter().map(send))
        };
        send(WARM).await?;
        let begun = Instant::now();
        let sent: usize = send(each).await?.into_iter().sum();
        row.put(name, sent as f64 / begun.elapsed().as_secs_f64());
    }
    if servers.len() > 1 {
        row.put("failover s", failover(servers).await?.as_secs_f64());
    }
    Ok(row)
}

/// Kills the first bridge as `kill -9` does while turns run in it and the others are under load, and waits until a next
/// message in each of its conversations is answered by another one.
async fn failover(mut servers: Vec<Server>) -> Outcome<Duration> {
    let first = servers.remove(0);
    for number in 0..HELD {
        let mut params = said(number, "hold");
        params["configuration"] = json!({"returnImmediately": true});
        ask(first.port, "SendMessage", &params).await?;
    }
    let servers = &servers;
    let load = async move {
        loop {
            let connections = CONNECTIONS / servers.len();
            let send = |server| cells::some_sends(server, connections, Kind::Call, WARM);
            if let Err(error) = try_join_all(servers.iter().map(send)).await {
                break error;
            }
        }
    };
    let next = async |number: usize| {
        let port = servers[number % servers.len()].port;
        let answer = ask(port, "SendMessage", &said(number, "hello, agent")).await?;
        match answer["result"]["task"]["status"]["state"].as_str() {
            Some("TASK_STATE_COMPLETED") => Ok(()),
            _ => Err(format!("expected an answer by another bridge, found {answer}").into()),
        }
    };
    let killed = Instant::now();
    drop(first);
    tokio::select! {
        error = load => Err(error),
        answered = timeout(LONG, try_join_all((0..HELD).map(next))) => {
            answered?.map(|_: Vec<()>| killed.elapsed())
        }
    }
}

/// A message in a conversation with this number.
fn said(number: usize, text: &str) -> Value {
    let mut params = message(text);
    params["message"]["contextId"] = format!("conversation-{number}").into();
    params
}

async fn ask(port: u16, method: &str, params: &Value) -> Outcome<Value> {
    let mut connection = Connection::open(port).await?;
    let answer = connection.call(&request(port, method, params)).await?;
    Ok(serde_json::from_slice(&body(answer))?)
}
