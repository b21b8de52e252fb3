//! Programs that keep the machine busy and never talk to this one: how much longer others wait for that alone. No
//! attack that makes as much work, for whoever carries it out, can be better than this.

use std::{
    hint::black_box,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use tokio::time::sleep;

use crate::frame::{Failed, Program, Scene};

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let cores = thread::available_parallelism()?.get();
    let length = Duration::from_secs(scene.pick(3, 1));
    let program = Program::start(&[])?;
    for threads in 1..=cores {
        scene.note(format_args!("{threads} of {cores} cores are kept busy"));
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
            tokio::task::block_in_place(|| handle.block_on(scene.attack(&program, 300, attack)))
        })?;
    }
    Ok(())
}
