//! Sends requests whose body arrives nearly whole, but never ends.

use std::time::Duration;

use futures_util::future::join_all;

use crate::harness::{Error, Harness, Program, raw};

/// The declared length of each body, and the part of it that is never sent.
const LENGTH: usize = 15 << 20;
const KEPT_BACK: usize = 1 << 20;

/// The time limits for sending a body and for the server to close the connection.
const SENT: Duration = Duration::from_secs(20);
const CLOSED: Duration = Duration::from_secs(60);

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let connections = harness.pick(100, 40);
    let folder = tempfile::tempdir()?;
    let program = match harness.is_short {
        false => Program::start(&[])?,
        true => Program::with_config(folder.path(), "[limits]\nbody_time = \"5s\"\n")?,
    };
    let one = async || {
        let mut connection = raw::connect(program.address()).await?;
        let head = raw::head("/a2a", LENGTH);
        raw::send(&mut connection, head.as_bytes(), SENT).await;
        let most = vec![b' '; 1 << 16];
        for _ in 0..(LENGTH - KEPT_BACK) >> 16 {
            if !raw::send(&mut connection, &most, SENT).await {
                break;
            }
        }
        Some(raw::read(&mut connection, CLOSED).await)
    };
    let attack = join_all((0..connections).map(|_| one()));
    let found = harness.attack(&program, 300, attack).await?;
    let answers = |status: &str| {
        let is_it = |(bytes, _): &&(Vec<u8>, bool)| bytes.starts_with(status.as_bytes());
        found.iter().flatten().filter(is_it).count()
    };
    let closed = found.iter().flatten().filter(|(_, closed)| *closed).count();
    harness.note(format_args!(
        "{closed} of {connections} were closed; {} answered 503, {} 408, {} 413",
        answers("HTTP/1.1 503"),
        answers("HTTP/1.1 408"),
        answers("HTTP/1.1 413"),
    ));
    harness.check(closed == connections, "a connection with half a body is closed");
    Ok(())
}
