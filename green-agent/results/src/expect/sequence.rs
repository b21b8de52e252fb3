//! Checks that events happened in order, with other events allowed between them.

use std::collections::BTreeSet;

use super::{UnmetReason, written::positions};
use green_agent_transcript::{
    Entry, Hop,
    label::{LabeledEvent, labeled_events},
    redirected,
};

/// The most labels that a failure lists.
const LISTED: usize = 12;

/// Checks that the labels occur in their order, on the given hop or on any.
///
/// One entry can match several labels if it shows several events, such as a task that comes with its
/// artifacts. One event matches one label only, so that two labels need two calls.
pub(super) fn judge(
    wanted: &[String],
    hop: Option<&Hop>,
    not: bool,
    entries: &[Entry],
) -> Result<(), UnmetReason> {
    let redirected = redirected(entries);
    let counts = |entry: &&Entry| {
        hop.is_none_or(|hop| entry.hop == *hop) && !redirected.contains(&entry.exchange)
    };
    let entries: Vec<&Entry> = entries.iter().filter(counts).collect();
    let matched = matched(wanted, &entries);
    if (matched.len() == wanted.len()) != not {
        return match unknown_tool(wanted, &entries).filter(|_| not) {
            Some(actual) => Err(UnmetReason {
                expected: "tools that the server has".to_owned(),
                actual,
                at: Vec::new(),
            }),
            None => Ok(()),
        };
    }
    let expected = format!("in this order: {}", wanted.join(", "));
    Err(UnmetReason {
        expected: if not { format!("not {expected}") } else { expected },
        actual: if not {
            format!("they happened in this order, at {}", positions(&matched))
        } else {
            shortfall(wanted, &matched, hop, &entries)
        },
        at: matched,
    })
}

/// Returns a label that names a tool which no server of the run offers: such an expectation is a mistake,
/// whether the tool was called or not.
fn unknown_tool(wanted: &[String], entries: &[&Entry]) -> Option<String> {
    let offered: BTreeSet<&str> = entries.iter().flat_map(|entry| offered(entry)).collect();
    let tools = wanted.iter().filter_map(|label| label.strip_prefix("mcp:"));
    // The protocol's own methods contain a slash, with two exceptions.
    let mut tools = tools.filter(|name| {
        !name.contains(['*', '/', ':']) && !["initialize", "ping", "submit"].contains(name)
    });
    let unknown = tools.find(|name| !offered.is_empty() && !offered.contains(name))?;
    let names: Vec<&str> = offered.iter().copied().collect();
    Some(format!("there is no tool {unknown}; there are {}", names.join(", ")))
}

/// Returns the tools that an MCP server lists in this entry.
fn offered(entry: &Entry) -> impl Iterator<Item = &str> {
    let body = entry.content.body().and_then(|body| body.json());
    let tools = body.and_then(|body| body.pointer("/result/tools")?.as_array());
    tools.into_iter().flatten().filter_map(|tool| tool["name"].as_str())
}

/// Returns the `seq` of the entry that matched each label, up to the first label without a match.
fn matched(wanted: &[String], entries: &[&Entry]) -> Vec<u64> {
    let mut matched = Vec::new();
    for entry in entries {
        let mut left = labeled_events(entry);
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

fn is_named(happening: &LabeledEvent, pattern: &str) -> bool {
    happening.iter().any(|label| matches(label, pattern))
}

/// Returns whether a label matches a pattern in which `*` stands for any text.
fn matches(label: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return label == pattern;
    };
    let Some(mut label) = label.strip_prefix(start) else {
        return false;
    };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    // The first place of each piece leaves the most to the others. Trying all places would take an agent's long label forever.
    for piece in middle.split('*') {
        let Some(at) = label.find(piece) else {
            return false;
        };
        label = &label[at + piece.len()..];
    }
    label.ends_with(end)
}

fn shortfall(wanted: &[String], matched: &[u64], hop: Option<&Hop>, entries: &[&Entry]) -> String {
    let place = hop.map(|hop| format!(" on {hop}")).unwrap_or_default();
    if entries.is_empty() {
        return format!("nothing was recorded{place}");
    }
    let reached = matched.len();
    let next = wanted.get(reached).map_or("", String::as_str);
    let (last, after) = match matched.last() {
        Some(seq) => (*seq, format!("after {} at {seq} nothing", wanted[reached - 1])),
        None => (0, "nothing".to_owned()),
    };
    let later = entries.iter().filter(|entry| entry.seq > last);
    let seen = describe(later.flat_map(|entry| labeled_events(entry)));
    let when = if matched.is_empty() { "" } else { " after it" };
    format!(
        "matched {reached} of {}; {after} matched {next}{place}; labels seen{when}: {seen}",
        wanted.len()
    )
}

/// Returns the events as text, each by its longest and most specific label, without immediate repetitions,
/// and not too many.
fn describe(labeled_events: impl Iterator<Item = LabeledEvent>) -> String {
    let longest = |names: LabeledEvent| names.into_iter().max_by_key(String::len);
    let mut labels: Vec<String> = labeled_events.filter_map(longest).collect();
    labels.dedup();
    match labels.len() {
        0 => "none".to_owned(),
        count if count > LISTED => {
            format!("{}, and {} more", labels[..LISTED].join(", "), count - LISTED)
        }
        _ => labels.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use green_agent_transcript::fixture::{Script, result, rpc};

    #[test]
    fn a_star_matches_any_text() {
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
            ("abab", "a*ab", true),
            ("aba", "*ab*ba", false),
            ("a.b.a.c", "a*.a*c", true),
            (&"a".repeat(100_000), "*a*a*a*b", false),
        ];
        for (label, pattern, expected) in cases {
            assert_eq!(matches(label, pattern), expected, "{label} {pattern}");
        }
    }

    #[test]
    fn a_tool_that_no_server_offers_is_no_expectation() {
        let mut script = Script::default();
        let tools = json!({"tools": [{"name": "confirm_order"}, {"name": "search"}]});
        script.exchange("purple -> environment", [rpc("tools/list", json!({})), result(tools)]);
        let judged = |label: &str| judge(&[label.to_owned()], None, true, &script.entries);
        assert!(judged("mcp:confirm_order").is_ok());
        assert!(judged("mcp:tools/call").is_ok());
        let miss = judged("mcp:confrim_order").err().unwrap();
        let actual = "there is no tool confrim_order; there are confirm_order, search";
        assert_eq!(miss.actual, actual);
    }
}
