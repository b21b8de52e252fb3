//! Keeps the machine busy with threads that never talk to the program, and measures how much longer clients wait
//! because of that. An attack that causes as much work cannot do better than this.

use std::{
    hint::black_box,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use tokio::time::sleep;

use crate::harness::{Error, Harness, Program};

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let cores = thread::available_parallelism()?.get();
    let length = Duration::from_secs(harness.pick(3, 1));
    let program = Program::start(&[])?;
    for threads in 1..=cores {
        harness.note(format_args!("{threads} of {cores} cores are kept busy"));
        let is_over = AtomicBool::new(false);
        let spin = || {
            let mut number = 0_u64;
            while !is_over.load(Ordering::Relaxed) {
                number = black_box(number.wrapping_add(1));
            }
        };
        thread::scope(|scope| {
            let attack = async {
                for _ in 0..threads {
                    scope.spawn(spin);
                }
                sleep(length).await;
                is_over.store(true, Ordering::Relaxed);
            };
            let handle = tokio::runtime::Handle::current();
            tokio::task::block_in_place(|| handle.block_on(harness.attack(&program, 300, attack)))
        })?;
    }
    Ok(())
}
