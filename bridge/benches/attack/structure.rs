//! Many small requests at once that are mostly structure, each of which is taken: of each the program has a hundred
//! times its bytes for a moment.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures_util::future::join_all;

use crate::frame::{Failed, Program, Scene, raw};

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(60);

/// The bytes of a small body.
const SMALL: usize = 15_000;

/// How many callers send small ones.
const CALLERS: usize = 200;

/// What the program may have with all of them, in MiB.
const MEMORY: u64 = 300;

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let count = scene.pick(2_000, 200);
    let program = Program::start(&[])?;
    let next = AtomicUsize::new(0);
    let objects = vec!["{\"\":0}"; SMALL / 8].join(",");
    let one = async || {
        let (mut taken, mut later) = (0, 0);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return (taken, later);
            }
            let body = format!(
                "{{\"message\":{{\"messageId\":\"small-{number}\",\"role\":\"ROLE_USER\",\
                 \"parts\":[{{\"data\":[{objects}]}}]}}}}"
            );
            let answer = raw::post(
                program.address(),
                "/a2a/echo/message:send",
                body.into(),
                ANSWER,
            )
            .await;
            taken += usize::from(answer.starts_with(b"HTTP/1.1 200"));
            later += usize::from(answer.starts_with(b"HTTP/1.1 503"));
        }
    };
    let attack = join_all((0..CALLERS).map(|_| one()));
    let counted = scene.attack(&program, MEMORY, attack).await?;
    let (taken, later) = counted
        .into_iter()
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    scene.note(format_args!(
        "{count} small requests: {taken} taken, {later} told to come again"
    ));
    scene.must(taken + later == count, "each small request is answered");
    Ok(())
}
