//! Injects one fault after the other, in the order that the seed determines.

use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::{sync::watch, time::sleep};

use crate::{
    bot::Health,
    link::{Link, Mode},
    rng::Rng,
    world::World,
};

/// The shortest and the longest pause before the next fault, in milliseconds.
const PAUSES: [u64; 2] = [20, 500];
/// The longest duration of a fault in milliseconds: longer than the time after which other bridges take over.
const LONGEST: u64 = 3_000;
/// The largest error of a clock, in seconds.
const CLOCK: i64 = 86_400;

/// A fault to inject.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Kill,
    Stop,
    Pause,
    Clock,
    Cut(Hop),
    HalfClose(Hop),
    Hold(Hop),
    Delay(Hop),
    Bot,
    Database,
}

/// The links of one kind.
#[derive(Clone, Copy, Debug)]
enum Hop {
    Client,
    Bot,
    Webhook,
    Database,
}

const FAULTS: [Fault; 22] = [
    Fault::Kill,
    Fault::Kill,
    Fault::Kill,
    Fault::Stop,
    Fault::Pause,
    Fault::Clock,
    Fault::Bot,
    Fault::Bot,
    Fault::Database,
    Fault::Cut(Hop::Client),
    Fault::Cut(Hop::Bot),
    Fault::Cut(Hop::Webhook),
    Fault::Cut(Hop::Database),
    Fault::Cut(Hop::Database),
    Fault::HalfClose(Hop::Client),
    Fault::HalfClose(Hop::Bot),
    Fault::HalfClose(Hop::Database),
    Fault::Hold(Hop::Client),
    Fault::Hold(Hop::Webhook),
    Fault::Hold(Hop::Database),
    Fault::Delay(Hop::Client),
    Fault::Delay(Hop::Database),
];

/// Injects faults until the round is over, and then repairs all of them. Returns the number of faults.
pub(crate) async fn inject_faults(
    world: &World,
    seed: u64,
    is_over: &watch::Receiver<bool>,
) -> u64 {
    let (mut rng, mut count) = (Rng::new(!seed), 0);
    while !*is_over.borrow() {
        let fault = *rng.pick(&FAULTS);
        if inject(world, fault, &mut rng).await {
            world.log(&format!("fault: {fault:?}"));
            count += 1;
        }
        let [shortest, longest] = PAUSES;
        sleep(Duration::from_millis(shortest + rng.next() % (longest - shortest))).await;
    }
    repair(world);
    count
}

/// Repairs everything except the clocks.
fn repair(world: &World) {
    world.bot.set(Health::Healthy);
    for link in world.links() {
        link.set(Mode::default());
    }
    for replica in &world.replicas {
        replica.signal(Signal::SIGCONT);
    }
}

/// Injects a fault. Returns false if this world does not have the part that should break.
async fn inject(world: &World, fault: Fault, rng: &mut Rng) -> bool {
    let time = Duration::from_millis(rng.next() % LONGEST);
    let replica = rng.pick(&world.replicas);
    match fault {
        Fault::Kill => replica.signal(Signal::SIGKILL),
        Fault::Stop => replica.signal(Signal::SIGTERM),
        Fault::Pause => {
            replica.signal(Signal::SIGSTOP);
            sleep(time).await;
            replica.signal(Signal::SIGCONT);
        }
        Fault::Clock => {
            let error = i64::try_from(rng.below(2 * CLOCK as usize)).unwrap_or(0) - CLOCK;
            return replica.set_clock(error);
        }
        Fault::Bot => world.bot.set(match rng.below(3) {
            0 => Health::Healthy,
            1 => Health::Slow(time),
            _ => Health::Failing,
        }),
        Fault::Database => return world.crash_database(time / 4).await,
        Fault::Cut(hop) => return apply(world, hop, rng, Link::cut),
        Fault::HalfClose(hop) => return apply(world, hop, rng, Link::half_close),
        Fault::Hold(hop) => {
            let held = Mode { is_held: true, ..Mode::default() };
            return apply_for(world, hop, rng, held, time).await;
        }
        Fault::Delay(hop) => {
            let delayed = Mode { delay: time / 20, ..Mode::default() };
            return apply_for(world, hop, rng, delayed, time).await;
        }
    }
    true
}

fn apply(world: &World, hop: Hop, rng: &mut Rng, how: impl Fn(&Link)) -> bool {
    let links = links(world, hop);
    if links.is_empty() {
        return false;
    }
    how(rng.pick(links));
    true
}

/// Puts a link into this mode for a while.
async fn apply_for(world: &World, hop: Hop, rng: &mut Rng, mode: Mode, time: Duration) -> bool {
    let links = links(world, hop);
    if links.is_empty() {
        return false;
    }
    let link = rng.pick(links);
    link.set(mode);
    sleep(time).await;
    link.set(Mode::default());
    true
}

fn links(world: &World, hop: Hop) -> &[Link] {
    match hop {
        Hop::Client => &world.to_replicas,
        Hop::Bot => &world.to_bot,
        Hop::Webhook => &world.to_webhooks,
        Hop::Database => &world.to_database,
    }
}
