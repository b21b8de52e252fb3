//! Requests whose body arrives nearly whole, and whose end never comes.

use std::time::Duration;

use futures_util::future::join_all;

use crate::frame::{Failed, Program, Scene, raw};

/// How large each body is said to be, and how much of it is kept back.
const LENGTH: usize = 15 << 20;
const KEPT_BACK: usize = 1 << 20;

/// How long the bytes may take to be sent, and after how long the connection must have been closed.
const SENT: Duration = Duration::from_secs(20);
const CLOSED: Duration = Duration::from_secs(60);

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let connections = scene.pick(100, 40);
    let folder = tempfile::tempdir()?;
    let program = match scene.is_short {
        false => Program::start(&[])?,
        true => Program::configured(folder.path(), "[limits]\nbody_time = \"5s\"\n")?,
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
    let found = scene.attack(&program, 300, attack).await?;
    let answers = |status: &str| {
        let is_it = |(bytes, _): &&(Vec<u8>, bool)| bytes.starts_with(status.as_bytes());
        found.iter().flatten().filter(is_it).count()
    };
    let closed = found.iter().flatten().filter(|(_, closed)| *closed).count();
    scene.note(format_args!(
        "{closed} of {connections} were closed; {} answered 503, {} 408, {} 413",
        answers("HTTP/1.1 503"),
        answers("HTTP/1.1 408"),
        answers("HTTP/1.1 413"),
    ));
    scene.must(
        closed == connections,
        "half a body is not waited for for ever",
    );
    Ok(())
}
