//! Measures bridges on one PostgreSQL, and one on a folder to compare: `replicas` of the load program.
//!
//! The program starts Debian's PostgreSQL server with default settings, which include fsync, and removes it at the end.
//! Sends and streams are distributed evenly, over the same total number of connections for any number of bridges. The
//! failover time begins when a bridge with running turns is killed, and ends when the other bridges, which are under
//! load, have answered a next message in each of its conversations. Most of it is the lease, which is two seconds here.
//! A bridge that cannot renew its lease in time, such as a debug build on a busy machine, ends the program with an
//! error.
//!
//! | argument | |
//! |-|-|
//! | `--rounds N` | the number of measurements for each number of bridges; 3 by default |
//! | `--sends N` | the number of messages in each measurement; 4,000 by default |

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    Outcome,
    connection::{Connection, body},
    figures::{self, Kind, message, request},
    postgres,
    process::{self, Server},
    table::{self, Row},
};

/// The total number of connections to all bridges.
const CONNECTIONS: usize = 48;
/// The sends and streams before the measured ones.
const WARM_UP_SENDS: usize = 200;
/// The number of conversations of the bridge that is killed.
const CONVERSATIONS: usize = 16;
/// The time limit of a failover.
const FAILOVER_LIMIT: Duration = Duration::from_secs(60);

/// Measures with these arguments, and prints a table.
pub(crate) fn run(arguments: &[&str]) -> Outcome<()> {
    let (mut rounds, mut sends) = (3, 4_000);
    for pair in arguments.chunks(2) {
        match *pair {
            ["--rounds", value] => rounds = value.parse()?,
            ["--sends", value] => sends = value.parse()?,
            _ => {
                return Err(
                    format!("{pair:?}: see the beginning of benches/load/replicas.rs").into()
                );
            }
        }
    }
    process::pin_load()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut rows = Vec::new();
    for round in 1..=rounds {
        for bridges in 0..=3 {
            eprintln!("round {round} of {rounds}: {bridges} bridges on PostgreSQL");
            rows.push(runtime.block_on(row(bridges, sends))?);
        }
    }
    print!("{}", table::transposed(&rows));
    Ok(())
}

/// Measures this many bridges on PostgreSQL, or one on a folder if the number is 0.
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
        None => ("sled".to_owned(), format!("{program} serve sled {{port}} {{folder}}")),
        Some((_, url)) => {
            (format!("PostgreSQL, {bridges}"), format!("{program} serve postgres {{port}} {url}"))
        }
    };
    let mut row = Row::new(&name);
    let mut servers = Vec::new();
    for _ in 0..bridges.max(1) {
        servers.push(Server::start(&command).await?);
    }
    for server in &servers {
        figures::check(server).await?;
    }
    let connections = CONNECTIONS / servers.len();
    let each = sends / servers.len();
    for (name, kind) in [("send/s", Kind::Call), ("streams/s", Kind::Stream)] {
        let send = |count| {
            let send = move |server| figures::repeat_send(server, connections, kind, count);
            try_join_all(servers.iter().map(send))
        };
        send(WARM_UP_SENDS).await?;
        let begun = Instant::now();
        let sent: usize = send(each).await?.into_iter().sum();
        row.put(name, sent as f64 / begun.elapsed().as_secs_f64());
    }
    if servers.len() > 1 {
        row.put("failover s", failover(servers).await?.as_secs_f64());
    }
    Ok(row)
}

/// Kills the first bridge while it runs turns and the others are under load. Returns the time until another bridge has
/// answered a next message in each of its conversations.
async fn failover(mut servers: Vec<Server>) -> Outcome<Duration> {
    let first = servers.remove(0);
    for number in 0..CONVERSATIONS {
        let mut params = message_in(number, "hold");
        params["configuration"] = json!({"returnImmediately": true});
        call_method(first.port, "SendMessage", &params).await?;
    }
    let servers = &servers;
    let load = async move {
        loop {
            let connections = CONNECTIONS / servers.len();
            let send =
                |server| figures::repeat_send(server, connections, Kind::Call, WARM_UP_SENDS);
            if let Err(error) = try_join_all(servers.iter().map(send)).await {
                break error;
            }
        }
    };
    let next = async |number: usize| {
        let port = servers[number % servers.len()].port;
        let answer = call_method(port, "SendMessage", &message_in(number, "hello, agent")).await?;
        match answer["result"]["task"]["status"]["state"].as_str() {
            Some("TASK_STATE_COMPLETED") => Ok(()),
            _ => Err(format!("expected an answer by another bridge, found {answer}").into()),
        }
    };
    let killed = Instant::now();
    drop(first);
    tokio::select! {
        error = load => Err(error),
        answered = timeout(FAILOVER_LIMIT, try_join_all((0..CONVERSATIONS).map(next))) => {
            answered?.map(|_: Vec<()>| killed.elapsed())
        }
    }
}

/// Returns a message in the conversation with this number.
fn message_in(number: usize, text: &str) -> Value {
    let mut params = message(text);
    params["message"]["contextId"] = format!("conversation-{number}").into();
    params
}

async fn call_method(port: u16, method: &str, params: &Value) -> Outcome<Value> {
    let mut connection = Connection::open(port).await?;
    let answer = connection.call(&request(port, method, params)).await?;
    Ok(serde_json::from_slice(&body(answer))?)
}
