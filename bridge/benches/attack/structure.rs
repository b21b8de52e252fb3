//! Sends many small requests at once that are mostly structure. Each is accepted, and takes a hundred times its size in
//! memory for a moment.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures_util::future::join_all;

use crate::harness::{Error, Harness, Program, raw};

/// The time limit for an answer.
const ANSWER: Duration = Duration::from_secs(60);

/// The size of a small body in bytes.
const SMALL: usize = 15_000;

/// The number of clients that send small requests.
const CALLERS: usize = 200;

/// The limit of the program's memory with all of the requests, in MiB.
const MEMORY: u64 = 300;

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let count = harness.pick(2_000, 200);
    let program = Program::start(&[])?;
    let next = AtomicUsize::new(0);
    let objects = vec!["{\"\":0}"; SMALL / 8].join(",");
    let one = async || {
        let (mut accepted, mut refused) = (0, 0);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return (accepted, refused);
            }
            let body = format!(
                "{{\"message\":{{\"messageId\":\"small-{number}\",\"role\":\"ROLE_USER\",\
                 \"parts\":[{{\"data\":[{objects}]}}]}}}}"
            );
            let answer =
                raw::post(program.address(), "/a2a/echo/message:send", body.into(), ANSWER).await;
            accepted += usize::from(answer.starts_with(b"HTTP/1.1 200"));
            refused += usize::from(answer.starts_with(b"HTTP/1.1 503"));
        }
    };
    let attack = join_all((0..CALLERS).map(|_| one()));
    let counted = harness.attack(&program, MEMORY, attack).await?;
    let (accepted, refused) =
        counted.into_iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    harness.note(format_args!(
        "{count} small requests: {accepted} accepted, {refused} refused for now"
    ));
    harness.check(accepted + refused == count, "each small request is answered");
    Ok(())
}
