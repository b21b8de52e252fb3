//! Whatever others send: each reader gets what was really said, changed at random. Nothing
//! may panic, hang, or answer that the bridge itself is broken, and what is read must be written as it was.
//!
//!     cargo test --workspace --test it fuzz::                                 the same inputs in every run
//!     BRIDGE_FUZZ_SECONDS=3600 cargo test --release --workspace --test it fuzz::   an hour for each target
//!
//! `BRIDGE_FUZZ_SEED=7` begins elsewhere. An input that fails is made smaller and printed with its target; it
//! then belongs into `cases.rs`, which every run begins with. Inputs are not guided by coverage: stable Rust has
//! none, and what changes JSON as JSON gets far without.

#[cfg(feature = "grpc")]
mod agreement;
#[cfg(feature = "grpc")]
mod bindings;
mod bytes;
mod cases;
mod corpus;
mod found;
#[cfg(feature = "grpc")]
mod grpc;
mod http;
mod json;
mod query;
mod readers;
mod rng;
mod served;
mod signed;
mod strays;
mod streams;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use rng::Rng;

/// The number of changed inputs of each target unless a time is given: the same in every run, and less than a minute
/// for all targets.
const INPUTS: u64 = 300;

/// The number of attempts to make a failing input smaller.
const SMALLER: usize = 2_000;

/// The verdict of a target about an input: nothing, or the error.
type Verdict = Result<(), String>;

/// Runs a target on the cases that were found before, on the seeds, and on changes of them until time is over.
fn fuzz(name: &str, seeds: &[Vec<u8>], change: Change, mut target: impl FnMut(&[u8]) -> Verdict) {
    let mut try_out = |input: &[u8]| tried(&mut target, input);
    let known = cases::of(name).chain(seeds.iter().cloned());
    known.for_each(|input| settle(name, &input, &mut try_out));
    let number = |variable: &str| Some(std::env::var(variable).ok()?.parse::<u64>().unwrap());
    let mut rng = Rng::new(number("BRIDGE_FUZZ_SEED").unwrap_or(1));
    let seconds = number("BRIDGE_FUZZ_SECONDS");
    let (begun, mut count) = (Instant::now(), 0_u64);
    while seconds.map_or(count < INPUTS, |seconds| begun.elapsed().as_secs() < seconds) {
        let input = change(&mut rng, seeds);
        settle(name, &input, &mut try_out);
        count += 1;
    }
    println!("{name}: {count} inputs");
}

/// A function that makes an input from seeds.
type Change = fn(&mut Rng, &[Vec<u8>]) -> Vec<u8>;

fn tried(target: &mut impl FnMut(&[u8]) -> Verdict, input: &[u8]) -> Verdict {
    catch_unwind(AssertUnwindSafe(|| target(input))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied());
        Err(format!("panicked: {}", text.unwrap_or("?")))
    })
}

fn settle(name: &str, input: &[u8], try_out: &mut impl FnMut(&[u8]) -> Verdict) {
    let Err(problem) = try_out(input) else {
        return;
    };
    let small = smaller(input, try_out);
    let problem = try_out(&small).err().unwrap_or(problem);
    panic!("{name}: {problem}\ninput: {:?}", String::from_utf8_lossy(&small));
}

/// Returns the input without the parts that are not needed for its failure.
fn smaller(input: &[u8], try_out: &mut impl FnMut(&[u8]) -> Verdict) -> Vec<u8> {
    let (mut small, mut size, mut left) = (input.to_vec(), input.len() / 2, SMALLER);
    while size > 0 && left > 0 {
        let mut at = 0;
        while at < small.len() && left > 0 {
            let mut shorter = small.clone();
            shorter.drain(at..(at + size).min(small.len()));
            left -= 1;
            match try_out(&shorter) {
                Err(_) => small = shorter,
                Ok(()) => at += size,
            }
        }
        size /= 2;
    }
    small
}
