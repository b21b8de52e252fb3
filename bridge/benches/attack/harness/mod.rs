//! The parts that all attacks share.
//!
//! - [`Harness`]: runs an attack, measures, and collects broken promises
//! - [`Program`]: the program as a process
//! - [`BackgroundClients`]: well-behaved clients that run during an attack
//! - [`Webhooks`]: webhooks that record when they are called
//! - [`client`]: calls of a well-behaved client, and of one that disconnects early
//! - [`raw`]: requests that no ordinary client would send

mod background;
pub(crate) mod client;
mod program;
pub(crate) mod raw;
mod webhooks;

pub(crate) use background::{BackgroundClients, Latencies, post_rpc};
pub(crate) use program::{Program, raise_descriptors};
pub(crate) use webhooks::Webhooks;

use std::{path::PathBuf, time::Duration};

use tokio::time::{interval, sleep};

/// The reason why an attack could not be carried out or judged.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// The time for which clients are measured before an attack, and the shorter one for `--short`.
const BASELINE: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(1)];

/// The interval at which the program's memory is read.
const SAMPLE: Duration = Duration::from_millis(20);

/// The options of an attack, and the promises that it broke.
#[derive(Debug)]
pub(crate) struct Harness {
    /// Whether attacks are made smaller.
    pub(crate) is_short: bool,
    flips: Option<usize>,
    /// The folder of a small file system for `full_disk`.
    pub(crate) disk: Option<PathBuf>,
    broken: Vec<String>,
}

/// The program's memory before, during and after an attack, in MiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) before: u64,
    pub(crate) peak: u64,
    pub(crate) after: u64,
}

impl Harness {
    pub(crate) fn new(is_short: bool, flips: Option<usize>, disk: Option<PathBuf>) -> Self {
        Self { is_short, flips, disk, broken: Vec::new() }
    }

    pub(crate) fn into_broken(self) -> Vec<String> {
        self.broken
    }

    /// Returns the number of bytes to flip.
    pub(crate) fn flips(&self) -> usize {
        self.flips.unwrap_or(self.pick(150, 8))
    }

    /// Returns the first value, or the second one for a short run.
    pub(crate) fn pick<T>(&self, full: T, short: T) -> T {
        if self.is_short { short } else { full }
    }

    /// Prints a figure or an observation.
    pub(crate) fn note(&self, text: impl std::fmt::Display) {
        println!("   {text}");
    }

    /// Records a broken promise if `holds` is false; then the program ends with exit code 1.
    pub(crate) fn check(&mut self, holds: bool, promise: impl std::fmt::Display) {
        if !holds {
            println!("   BROKEN: {promise}");
            self.broken.push(promise.to_string());
        }
    }

    /// Runs an attack while other clients use the program. Checks that memory stays below `limit` MiB, that the service
    /// answers afterwards, and that all acknowledged tasks are kept.
    pub(crate) async fn attack<T>(
        &mut self,
        program: &Program,
        limit: u64,
        attack: impl Future<Output = T>,
    ) -> Result<T, Error> {
        self.attack_with(BackgroundClients::new(program), program, limit, attack).await
    }

    /// Does the same with these clients.
    pub(crate) async fn attack_with<T>(
        &mut self,
        background: BackgroundClients,
        program: &Program,
        limit: u64,
        attack: impl Future<Output = T>,
    ) -> Result<T, Error> {
        let length = self.pick(BASELINE[0], BASELINE[1]);
        let baseline = background.run_during(sleep(length)).await.1;
        let before = program.memory_mib();
        // The attack takes at least as long as the measurement before it, so that both can be compared.
        let attack = async { tokio::join!(attack, sleep(length)).0 };
        let ((found, peak), under) = background.run_during(sampled(program, attack)).await;
        sleep(Duration::from_secs(1)).await;
        let memory = Memory { before, peak, after: program.memory_mib() };
        self.report(memory, &baseline, &under);
        self.check(
            memory.peak < limit,
            format_args!("memory stays below {limit} MiB, it reached {} MiB", memory.peak),
        );
        let lost = background.lost_tasks().await?;
        self.check(
            lost.is_empty(),
            format_args!("acknowledged tasks are kept, these are lost: {lost:?}"),
        );
        Ok(found)
    }

    fn report(&self, memory: Memory, baseline: &Latencies, under: &Latencies) {
        let Memory { before, peak, after } = memory;
        self.note(format_args!("memory {before} MiB before, {peak} at most, {after} after"));
        let ratio = under.p50().as_secs_f64() / baseline.p50().as_secs_f64().max(1e-6);
        self.note(format_args!(
            "other clients' p50 {:.1?} before, {:.1?} under attack ({ratio:.1} times)",
            baseline.p50(),
            under.p50(),
        ));
        let ratio = under.p99().as_secs_f64() / baseline.p99().as_secs_f64().max(1e-6);
        self.note(format_args!(
            "other clients' p99 {:.1?} before, {:.1?} under attack ({ratio:.1} times), longest {:.1?}; {} of {} refused or failed",
            baseline.p99(),
            under.p99(),
            under.longest(),
            under.failed,
            under.failed + under.times.len(),
        ));
    }
}

/// Returns the output of an attack, and the largest memory of the program during it.
async fn sampled<T>(program: &Program, attack: impl Future<Output = T>) -> (T, u64) {
    let (mut ticks, mut peak) = (interval(SAMPLE), program.memory_mib());
    let mut attack = std::pin::pin!(attack);
    loop {
        tokio::select! {
            found = &mut attack => return (found, peak.max(program.memory_mib())),
            _ = ticks.tick() => peak = peak.max(program.memory_mib()),
        }
    }
}
