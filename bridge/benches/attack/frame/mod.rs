//! What all attacks have in common.
//!
//! - [`Scene`]: the program, others who use it meanwhile, and what is found
//! - [`Program`]: the program as a process
//! - [`Others`]: callers who do nothing wrong
//! - [`Hook`]: webhooks that note when they are called
//! - [`asked`]: requests as clients make them, and as those do who leave
//! - [`raw`]: requests that no client would send

pub(crate) mod asked;
mod hook;
mod others;
mod program;
pub(crate) mod raw;

pub(crate) use hook::Hook;
pub(crate) use others::{Others, Waited, ask};
pub(crate) use program::{Program, raise_descriptors};

use std::{path::PathBuf, time::Duration};

use tokio::time::{interval, sleep};

/// Why an attack could not be carried out, or could not be judged.
pub(crate) type Failed = Box<dyn std::error::Error + Send + Sync>;

/// How long others are watched before an attack: at length, and in short.
const QUIET: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(1)];

/// How often the program's memory is read.
const SAMPLE: Duration = Duration::from_millis(20);

/// Where an attack takes place.
#[derive(Debug)]
pub(crate) struct Scene {
    /// Whether less is wanted.
    pub(crate) is_short: bool,
    flips: Option<usize>,
    /// A small file system of its own.
    pub(crate) disk: Option<PathBuf>,
    broken: Vec<String>,
}

/// What was seen while an attack went on, in MiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) before: u64,
    pub(crate) peak: u64,
    pub(crate) after: u64,
}

impl Scene {
    pub(crate) fn new(is_short: bool, flips: Option<usize>, disk: Option<PathBuf>) -> Self {
        Self {
            is_short,
            flips,
            disk,
            broken: Vec::new(),
        }
    }

    pub(crate) fn into_broken(self) -> Vec<String> {
        self.broken
    }

    /// How many bytes are flipped.
    pub(crate) fn flips(&self) -> usize {
        self.flips.unwrap_or(self.pick(150, 8))
    }

    /// One of two sizes.
    pub(crate) fn pick<T>(&self, full: T, short: T) -> T {
        if self.is_short { short } else { full }
    }

    /// A figure or an observation, printed as it is.
    pub(crate) fn note(&self, text: impl std::fmt::Display) {
        println!("   {text}");
    }

    /// A promise: when it does not hold, the program ends with exit code 1.
    pub(crate) fn must(&mut self, holds: bool, promise: impl std::fmt::Display) {
        if !holds {
            println!("   BROKEN: {promise}");
            self.broken.push(promise.to_string());
        }
    }

    /// Carries out an attack while others use the program, and judges what must hold in every one: memory
    /// stays below `limit` MiB, the service is there afterwards, and what others were told was kept, is.
    pub(crate) async fn attack<T>(
        &mut self,
        program: &Program,
        limit: u64,
        attack: impl Future<Output = T>,
    ) -> Result<T, Failed> {
        self.attack_beside(Others::of(program), program, limit, attack)
            .await
    }

    /// The same while these others use the program.
    pub(crate) async fn attack_beside<T>(
        &mut self,
        others: Others,
        program: &Program,
        limit: u64,
        attack: impl Future<Output = T>,
    ) -> Result<T, Failed> {
        let length = self.pick(QUIET[0], QUIET[1]);
        let quiet = others.watch(sleep(length)).await.1;
        let before = program.memory();
        // As long as others are watched before, so that there is something to compare.
        let attack = async { tokio::join!(attack, sleep(length)).0 };
        let ((found, peak), under) = others.watch(sampled(program, attack)).await;
        sleep(Duration::from_secs(1)).await;
        let memory = Memory {
            before,
            peak,
            after: program.memory(),
        };
        self.report(memory, &quiet, &under);
        self.must(
            memory.peak < limit,
            format_args!("memory stays below {limit} MiB, it was {} MiB", memory.peak),
        );
        let lost = others.lost().await?;
        self.must(
            lost.is_empty(),
            format_args!("acknowledged tasks are kept, these are gone: {lost:?}"),
        );
        Ok(found)
    }

    fn report(&self, memory: Memory, quiet: &Waited, under: &Waited) {
        let Memory {
            before,
            peak,
            after,
        } = memory;
        self.note(format_args!(
            "memory {before} MiB before, {peak} at most, {after} after"
        ));
        let ratio = under.p50().as_secs_f64() / quiet.p50().as_secs_f64().max(1e-6);
        self.note(format_args!(
            "others' p50 {:.1?} quiet, {:.1?} under attack ({ratio:.1} times)",
            quiet.p50(),
            under.p50(),
        ));
        let ratio = under.p99().as_secs_f64() / quiet.p99().as_secs_f64().max(1e-6);
        self.note(format_args!(
            "others' p99 {:.1?} quiet, {:.1?} under attack ({ratio:.1} times), longest {:.1?}; {} of {} refused or failed",
            quiet.p99(),
            under.p99(),
            under.longest(),
            under.failed,
            under.failed + under.times.len(),
        ));
    }
}

/// What comes of an attack, and the most memory that the program had meanwhile.
async fn sampled<T>(program: &Program, attack: impl Future<Output = T>) -> (T, u64) {
    let (mut ticks, mut peak) = (interval(SAMPLE), program.memory());
    let mut attack = std::pin::pin!(attack);
    loop {
        tokio::select! {
            found = &mut attack => return (found, peak.max(program.memory())),
            _ = ticks.tick() => peak = peak.max(program.memory()),
        }
    }
}
