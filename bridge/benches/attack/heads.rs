//! Connections on which half of a request's head arrives, and then nothing.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::frame::{Failed, Program, Scene, raw};

/// After how long each must have been closed.
const CLOSED: Duration = Duration::from_secs(45);

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let connections = scene.pick(1_000, 200);
    let folder = tempfile::tempdir()?;
    let program = match scene.is_short {
        false => Program::start(&[])?,
        true => Program::configured(folder.path(), "[limits]\nhead_time = \"3s\"\n")?,
    };
    let begun = Instant::now();
    let one = async || {
        let mut connection = raw::connect(program.address()).await?;
        let half = b"POST /a2a HTTP/1.1\r\nHost: a\r\nX-Half: ";
        raw::send(&mut connection, half, CLOSED).await;
        let (_, is_closed) = raw::read(&mut connection, CLOSED).await;
        is_closed.then(|| begun.elapsed())
    };
    let attack = join_all((0..connections).map(|_| one()));
    let closed = scene.attack(&program, 300, attack).await?;
    let last = closed.iter().flatten().max().copied();
    let closed = closed.iter().flatten().count();
    scene.note(format_args!(
        "{closed} of {connections} were closed, the last one after {last:.1?}"
    ));
    scene.must(
        closed == connections,
        "half a head is not waited for for ever",
    );
    Ok(())
}
