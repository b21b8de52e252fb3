//! Things that must have happened in order, other things between them allowed.

use super::{Miss, shown::positions};
use crate::transcript::{
    Entry, Hop,
    label::{Happening, happenings},
};

/// Labels that a failure tells.
const TOLD: usize = 12;

/// Whether the labels happened in their order, on the hop or on any.
///
/// One entry can satisfy several labels if it shows several things, such as a task that comes with its
/// artifacts; one thing satisfies one label only, so that two labels need two calls.
pub(super) fn judge(
    wanted: &[String],
    hop: Option<&Hop>,
    not: bool,
    entries: &[Entry],
) -> Result<(), Miss> {
    let on_hop = |entry: &&Entry| hop.is_none_or(|hop| entry.hop == *hop);
    let entries: Vec<&Entry> = entries.iter().filter(on_hop).collect();
    let matched = matched(wanted, &entries);
    if (matched.len() == wanted.len()) != not {
        return Ok(());
    }
    let expected = format!("in this order: {}", wanted.join(", "));
    Err(Miss {
        expected: if not {
            format!("not {expected}")
        } else {
            expected
        },
        actual: if not {
            format!("they happened in this order, at {}", positions(&matched))
        } else {
            shortfall(wanted, &matched, hop, &entries)
        },
        at: matched,
    })
}

/// The `seq` of the entry that matched each label, as far as they match.
fn matched(wanted: &[String], entries: &[&Entry]) -> Vec<u64> {
    let mut matched = Vec::new();
    for entry in entries {
        let mut left = happenings(entry);
        while let Some(index) = wanted
            .get(matched.len())
            .and_then(|pattern| left.iter().position(|things| is_named(things, pattern)))
        {
            left.remove(index);
            matched.push(entry.seq);
        }
    }
    matched
}

fn is_named(happening: &Happening, pattern: &str) -> bool {
    happening.iter().any(|label| fits(label, pattern))
}

/// Whether a label fits a pattern in which `*` stands for any text.
fn fits(label: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return label == pattern;
    };
    let Some(label) = label.strip_prefix(start) else {
        return false;
    };
    // The star may swallow nothing, everything, or any beginning in between.
    let mut tails = label.char_indices().map(|(at, _)| &label[at..]);
    rest.is_empty() || tails.any(|tail| fits(tail, rest)) || fits("", rest)
}

fn shortfall(wanted: &[String], matched: &[u64], hop: Option<&Hop>, entries: &[&Entry]) -> String {
    let place = hop.map(|hop| format!(" on {hop}")).unwrap_or_default();
    if entries.is_empty() {
        return format!("nothing was recorded{place}");
    }
    let reached = matched.len();
    let next = wanted.get(reached).map_or("", String::as_str);
    let (last, after) = match matched.last() {
        Some(seq) => (
            *seq,
            format!("after {} at {seq} nothing", wanted[reached - 1]),
        ),
        None => (0, "nothing".to_owned()),
    };
    let later = entries.iter().filter(|entry| entry.seq > last);
    let seen = told(later.flat_map(|entry| happenings(entry)));
    let when = if matched.is_empty() { "" } else { " after it" };
    format!(
        "matched {reached} of {}; {after} matched {next}{place}; labels seen{when}: {seen}",
        wanted.len()
    )
}

/// What happened, each by its longest label, which says most; without immediate repetitions, and not
/// too many.
fn told(happenings: impl Iterator<Item = Happening>) -> String {
    let longest = |names: Happening| names.into_iter().max_by_key(String::len);
    let mut labels: Vec<String> = happenings.filter_map(longest).collect();
    labels.dedup();
    match labels.len() {
        0 => "none".to_owned(),
        count if count > TOLD => {
            format!("{}, and {} more", labels[..TOLD].join(", "), count - TOLD)
        }
        _ => labels.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        let cases = [
            ("task:completed", "task:completed", true),
            ("task:completed", "task:*", true),
            ("task:completed", "*", true),
            ("task:completed", "*:*ed", true),
            ("task:completed", "task:completed*", true),
            ("task:completed", "task", false),
            ("task:completed", "*x*", false),
            ("task:completed", "*:complete", false),
            ("", "*", true),
        ];
        for (label, pattern, expected) in cases {
            assert_eq!(fits(label, pattern), expected, "{label} {pattern}");
        }
    }
}
