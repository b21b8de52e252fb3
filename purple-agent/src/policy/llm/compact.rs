//! Makes room in a conversation that is larger than the model's context.
//!
//! The first message stays, since it says what is to be done, and so does the last exchange. Before them
//! first the results of old calls are left out, then whole exchanges; a note says so.

use super::chat::{Entry, ToolResult};

/// What stands in the place of an old result.
const LEFT_OUT: &str = "(this result was left out to make room)";

/// Shorter results are not worth leaving out, in bytes.
const SHORT: usize = 200;

/// Makes a conversation half as large, as far as that is possible. Says whether it became smaller.
pub(super) fn compact(entries: &mut Vec<Entry>) -> bool {
    let before = size(entries);
    let wanted = before / 2;
    blank_results(entries, wanted);
    drop_exchanges(entries, wanted);
    if size(entries) > wanted {
        shorten_last(entries);
    }
    size(entries) < before
}

/// How large a conversation is, in bytes.
pub(super) fn size(entries: &[Entry]) -> usize {
    entries.iter().map(entry_size).sum()
}

fn entry_size(entry: &Entry) -> usize {
    match entry {
        Entry::Told(text) => text.len(),
        Entry::Answered(raw) => raw.to_string().len(),
        Entry::Results(results) => results.iter().map(|result| result.text.len()).sum(),
    }
}

/// The oldest first, until there is room; the last results stay.
fn blank_results(entries: &mut [Entry], wanted: usize) {
    let mut size = size(entries);
    let last = entries
        .iter()
        .rposition(|one| matches!(one, Entry::Results(_)));
    for (index, entry) in entries.iter_mut().enumerate() {
        let Entry::Results(results) = entry else {
            continue;
        };
        for result in results {
            if size <= wanted || Some(index) == last {
                return;
            }
            if result.text.len() > SHORT {
                size -= result.text.len() - LEFT_OUT.len();
                LEFT_OUT.clone_into(&mut result.text);
            }
        }
    }
}

/// An exchange is an answer with its results and what was told after it, up to the next answer.
fn drop_exchanges(entries: &mut Vec<Entry>, wanted: usize) {
    let starts: Vec<usize> = answers(entries).collect();
    let (Some(&first), Some(&last)) = (starts.first(), starts.last()) else {
        return;
    };
    let mut size = size(entries);
    let mut end = first;
    for &start in starts.iter().skip(1) {
        if size <= wanted {
            break;
        }
        size -= entries[end..start].iter().map(entry_size).sum::<usize>();
        end = start.min(last);
    }
    if end > first {
        let count = starts.iter().filter(|start| **start < end).count();
        let note = format!(
            "({count} earlier answers of yours, with what came of them, were left out to make room.)"
        );
        entries.splice(first..end, [Entry::Told(note)]);
    }
}

fn answers(entries: &[Entry]) -> impl Iterator<Item = usize> {
    let entries = entries.iter().enumerate();
    entries.filter_map(|(index, entry)| matches!(entry, Entry::Answered(_)).then_some(index))
}

/// Half of each of the last results.
fn shorten_last(entries: &mut [Entry]) {
    let last = entries.iter_mut().rev().find_map(|entry| match entry {
        Entry::Results(results) => Some(results),
        Entry::Told(_) | Entry::Answered(_) => None,
    });
    for result in last
        .into_iter()
        .flatten()
        .filter(|one| one.text.len() > SHORT)
    {
        let half = result.text.len() / 2;
        result.text = cut(&result.text, half);
    }
}

/// A text of at most about this many bytes: its beginning and its end, with a note of what is missing.
pub(super) fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = boundary(text, limit / 4 * 3);
    let tail = boundary(text, text.len() - limit / 4);
    let missing = tail - head;
    format!(
        "{}\n[.. {missing} bytes of this result were left out ..]\n{}",
        &text[..head],
        &text[tail..]
    )
}

/// The last place at or before `at` where a character begins.
fn boundary(text: &str, at: usize) -> usize {
    let mut places = (0..=at.min(text.len())).rev();
    places
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or_default()
}

/// A result within a limit of bytes.
pub(super) fn within(result: ToolResult, limit: usize) -> ToolResult {
    ToolResult {
        text: cut(&result.text, limit),
        ..result
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conversation(exchanges: usize, size: usize) -> Vec<Entry> {
        let mut entries = vec![Entry::Told("begin".to_owned())];
        for n in 0..exchanges {
            let result = ToolResult {
                id: n.to_string(),
                name: "look".to_owned(),
                text: "x".repeat(size),
                failed: false,
            };
            entries.push(Entry::Answered(json!({ "n": n })));
            entries.push(Entry::Results(vec![result]));
        }
        entries
    }

    /// Whether each answer still has its results behind it.
    fn is_whole(entries: &[Entry]) -> bool {
        let starts = answers(entries).collect::<Vec<_>>();
        entries[0] == Entry::Told("begin".to_owned())
            && starts
                .iter()
                .all(|start| matches!(entries[start + 1], Entry::Results(_)))
    }

    #[test]
    fn old_results_go_first_then_exchanges_and_the_last_one_stays() {
        let mut entries = conversation(10, 1000);
        assert!(compact(&mut entries));
        assert_eq!(entries.len(), 21);
        assert!(size(&entries) < 5500 && is_whole(&entries));
        for _ in 0..4 {
            assert!(compact(&mut entries), "{entries:?}");
            assert!(is_whole(&entries));
        }
        assert!(matches!(&entries[1], Entry::Told(note) if note.contains("were left out")));
        let Some(Entry::Answered(last)) = entries.iter().rev().nth(1) else {
            panic!("{entries:?}")
        };
        assert_eq!(last["n"], 9);
    }

    #[test]
    fn what_cannot_become_smaller_says_so() {
        let mut entries = vec![Entry::Told("begin".to_owned())];
        assert!(!compact(&mut entries));
    }

    #[test]
    fn a_long_result_is_cut_between_characters() {
        let text = "é".repeat(1000);
        let cut = cut(&text, 101);
        assert!(
            cut.len() < 170 && cut.contains("bytes of this result were left out"),
            "{cut}"
        );
        assert_eq!(super::cut("short", 10), "short");
    }
}
