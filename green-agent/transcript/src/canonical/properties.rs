//! Property tests: the same behaviour gives the same text, whatever the ids, times, ports and the
//! interleaving of hops.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use regex::Regex;

use super::{tests::debate_names, *};
use crate::fixture::debate;

/// Replaces every UUID of a transcript, keeping its spelling.
fn with_ids(entries: &[Entry], seed: u128) -> Vec<Entry> {
    let mut fresh: BTreeMap<String, u128> = BTreeMap::new();
    let uuid = Regex::new(text::UUID).unwrap();
    rewritten(entries, &uuid, |old| {
        let next = seed.wrapping_add(
            (fresh.len() as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835),
        );
        let new = *fresh.entry(old.replace('-', "")).or_insert(next);
        let new = uuid::Uuid::from_u128(new);
        if old.contains('-') { new.hyphenated().to_string() } else { new.simple().to_string() }
    })
}

fn with_times(entries: &[Entry], shift: u8) -> Vec<Entry> {
    let second = Regex::new(r"T20:34:\d{2}\.").unwrap();
    rewritten(entries, &second, |old| {
        old.replace("T20:34", &format!("T{:02}:{:02}", shift % 24, shift % 60))
    })
}

fn with_ports(entries: &[Entry], by: u16) -> Vec<Entry> {
    let port = Regex::new(r"127\.0\.0\.1:91\d\d").unwrap();
    rewritten(entries, &port, |old| {
        let port: u16 = old.rsplit(':').next().unwrap().parse().unwrap();
        format!("127.0.0.1:{}", port + by)
    })
}

fn rewritten(entries: &[Entry], what: &Regex, mut with: impl FnMut(&str) -> String) -> Vec<Entry> {
    let written = serde_json::to_string(entries).unwrap();
    let rewritten = what.replace_all(&written, |found: &regex::Captures<'_>| with(&found[0]));
    serde_json::from_str(&rewritten).unwrap()
}

/// Interleaves the hops in another order; `choices` selects the next hop. The order within a hop stays.
fn interleaved(entries: &[Entry], choices: &[usize]) -> Vec<Entry> {
    let mut hops: BTreeMap<Hop, VecDeque<Entry>> = BTreeMap::new();
    for entry in entries {
        hops.entry(entry.hop.clone()).or_default().push_back(entry.clone());
    }
    let mut merged = Vec::new();
    let mut choices = choices.iter().cycle();
    while !hops.is_empty() {
        let next = choices.next().unwrap() % hops.len();
        let hop = hops.keys().nth(next).unwrap().clone();
        let queue = hops.get_mut(&hop).unwrap();
        merged.extend(queue.pop_front());
        if queue.is_empty() {
            hops.remove(&hop);
        }
    }
    for (index, entry) in merged.iter_mut().enumerate() {
        entry.seq = index as u64 + 1;
    }
    merged
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn equal_behaviour_gives_equal_text(
        seed in any::<u128>(),
        shift in any::<u8>(),
        by in 1u16..40_000,
        choices in prop::collection::vec(any::<usize>(), 1..40),
    ) {
        let expected = canonical(&debate(), &debate_names(), &SnapshotSettings::default());
        let entries = with_ports(&with_times(&with_ids(&debate(), seed), shift), by);
        let entries = interleaved(&entries, &choices);
        let mut names = debate_names();
        let port = |origin: &str| origin.rsplit(':').next().unwrap().parse::<u16>().unwrap();
        names.origins = names
            .origins
            .iter()
            .map(|(origin, role)| (format!("http://127.0.0.1:{}", port(origin) + by), role.clone()))
            .collect();
        prop_assert_eq!(canonical(&entries, &names, &SnapshotSettings::default()), expected);
    }
}
