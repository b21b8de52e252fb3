//! Clients that send a request on a connection that has been idle for about as long as allowed: right before it is
//! closed, at that moment, and right after.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::harness::{Error, Harness, Program, raw};

/// The time for which a connection may be idle, and the largest distance of a request from it.
const IDLE: Duration = Duration::from_millis(300);
const SPREAD: Duration = Duration::from_millis(20);

const CLIENTS: usize = 50;
const ANSWER: Duration = Duration::from_secs(20);
const REQUEST: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

/// The outcome of a second request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Answer,
    /// The client saw that the connection was closed before it sent the request.
    Closed,
    /// The connection was closed after the request was sent, without an answer.
    Nothing,
}

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let rounds = harness.pick(60, 6);
    let folder = tempfile::tempdir()?;
    let limits = format!("[limits]\nidle = \"{}ms\"\n", IDLE.as_millis());
    let program = Program::with_config(folder.path(), &limits)?;
    let attack = async {
        let mut outcomes = Vec::new();
        for round in 0..rounds {
            let one = |number| request_twice(&program, delay(round * CLIENTS + number));
            outcomes.extend(join_all((0..CLIENTS).map(one)).await);
        }
        outcomes
    };
    let outcomes = harness.attack(&program, 300, attack).await?;
    let count = |wanted| outcomes.iter().filter(|outcome| **outcome == Some(wanted)).count();
    // A request can be on its way when its connection is closed, more often on a busy machine. So this is only printed;
    // a test of the server checks that it reads what has arrived.
    harness.note(format_args!(
        "{} requests within {SPREAD:?} of the idle limit: {} answered, {} found the connection closed before, \
         {} got no answer",
        outcomes.len(),
        count(Outcome::Answer),
        count(Outcome::Closed),
        count(Outcome::Nothing),
    ));
    Ok(())
}

/// Returns the time for which a client waits; the times are spread evenly around the limit.
fn delay(number: usize) -> Duration {
    let width = 2 * SPREAD.as_micros() as u64;
    IDLE - SPREAD + Duration::from_micros(number as u64 * 7_919 % width)
}

/// Sends a request, waits for this time, and sends another one on the same connection.
async fn request_twice(program: &Program, after: Duration) -> Option<Outcome> {
    let mut connection = raw::connect(program.address()).await?;
    if !request(&mut connection).await {
        return None;
    }
    sleep(after).await;
    if connection.try_read(&mut [0]).is_ok() {
        return Some(Outcome::Closed);
    }
    Some(if request(&mut connection).await { Outcome::Answer } else { Outcome::Nothing })
}

async fn request(connection: &mut TcpStream) -> bool {
    let answered = async {
        connection.write_all(REQUEST).await.ok()?;
        let mut answer = [0; 1 << 10];
        connection.read(&mut answer).await.ok().filter(|read| *read > 0)
    };
    matches!(timeout(ANSWER, answered).await, Ok(Some(_)))
}
