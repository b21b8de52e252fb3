//! Opens many connections at the same moment, each with one request.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::harness::{Error, Harness, Program, raw};

const ANSWER: Duration = Duration::from_secs(20);

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let connections = 2_000;
    let program = Program::start(&[])?;
    let begun = Instant::now();
    let one = async || {
        let mut connection = raw::connect(program.address()).await?;
        let request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
        raw::send(&mut connection, request, ANSWER).await;
        let (answer, _) = raw::read(&mut connection, ANSWER).await;
        answer.starts_with(b"HTTP/1.1 200").then(|| begun.elapsed())
    };
    let attack = async { (begun.elapsed(), join_all((0..connections).map(|_| one())).await) };
    let (start, answered) = harness.attack(&program, 300, attack).await?;
    let last = answered.iter().flatten().max().copied().unwrap_or_default();
    let answered = answered.iter().flatten().count();
    harness.note(format_args!(
        "{answered} of {connections} were answered, the last one after {:.1?}",
        last.saturating_sub(start)
    ));
    harness.check(answered == connections, "every connection of a burst is answered");
    Ok(())
}
