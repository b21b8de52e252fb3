//! Clients that ask again on a connection that has been idle for about as long as it may be: right before it is closed,
//! while it is, and right after.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::frame::{Failed, Program, Scene, raw};

/// How long a connection may be idle, and how far from that the requests come.
const IDLE: Duration = Duration::from_millis(300);
const AROUND: Duration = Duration::from_millis(20);

const CLIENTS: usize = 50;
const ANSWER: Duration = Duration::from_secs(20);
const ASKED: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

/// What came of a second request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Answer,
    /// The client knew that the connection was closed before it asked.
    Closed,
    /// It was closed after the client had asked, without an answer.
    Nothing,
}

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let rounds = scene.pick(60, 6);
    let folder = tempfile::tempdir()?;
    let limits = format!("[limits]\nidle = \"{}ms\"\n", IDLE.as_millis());
    let program = Program::configured(folder.path(), &limits)?;
    let attack = async {
        let mut outcomes = Vec::new();
        for round in 0..rounds {
            let one = |number| twice(&program, delay(round * CLIENTS + number));
            outcomes.extend(join_all((0..CLIENTS).map(one)).await);
        }
        outcomes
    };
    let outcomes = scene.attack(&program, 300, attack).await?;
    let count = |wanted| {
        outcomes
            .iter()
            .filter(|came| **came == Some(wanted))
            .count()
    };
    // A request can be on its way when its connection is closed, and more are when the machine is busy. So this is a
    // figure; a test of the server says that it reads what has come.
    scene.note(format_args!(
        "{} requests within {AROUND:?} of the idle limit: {} answered, {} found the connection closed before, \
         {} got no answer",
        outcomes.len(),
        count(Came::Answer),
        count(Came::Closed),
        count(Came::Nothing),
    ));
    Ok(())
}

/// How long the client waits, spread evenly around the limit.
fn delay(number: usize) -> Duration {
    let width = 2 * AROUND.as_micros() as u64;
    IDLE - AROUND + Duration::from_micros(number as u64 * 7_919 % width)
}

/// Asks, and asks again on the same connection after so long.
async fn twice(program: &Program, after: Duration) -> Option<Came> {
    let mut connection = raw::connect(program.address()).await?;
    if !asked(&mut connection).await {
        return None;
    }
    sleep(after).await;
    if connection.try_read(&mut [0]).is_ok() {
        return Some(Came::Closed);
    }
    Some(match asked(&mut connection).await {
        true => Came::Answer,
        false => Came::Nothing,
    })
}

async fn asked(connection: &mut TcpStream) -> bool {
    let answered = async {
        connection.write_all(ASKED).await.ok()?;
        let mut answer = [0; 1 << 10];
        connection
            .read(&mut answer)
            .await
            .ok()
            .filter(|read| *read > 0)
    };
    matches!(timeout(ANSWER, answered).await, Ok(Some(_)))
}
