//! Shortens a conversation that exceeds the model's context.
//!
//! The first message is kept, because it contains the task, and so is the last exchange. Between them, results of
//! old calls are removed first, then whole exchanges; a note replaces them.

use super::{
    BYTES_PER_TOKEN,
    chat::{Entry, ToolResult},
    image,
};

/// The text that replaces an old result.
const REMOVED_NOTE: &str = "(this result was left out to make room)";

/// The size of an image in bytes of text that cost as many tokens.
const IMAGE_SIZE: usize = image::TOKENS * BYTES_PER_TOKEN;

/// The size in bytes below which a result is not worth removing.
const MIN_REMOVED_SIZE: usize = 200;

/// Shortens a conversation to half its size if possible. Returns whether it became smaller.
pub(super) fn compact(entries: &mut Vec<Entry>) -> bool {
    let before = size(entries);
    let wanted = before / 2;
    remove_results(entries, wanted);
    drop_exchanges(entries, wanted);
    if size(entries) > wanted {
        shorten_last(entries);
    }
    size(entries) < before
}

/// Returns the size of a conversation, in bytes.
pub(super) fn size(entries: &[Entry]) -> usize {
    entries.iter().map(entry_size).sum()
}

fn entry_size(entry: &Entry) -> usize {
    match entry {
        Entry::User { text, images } => text.len() + images.len() * IMAGE_SIZE,
        Entry::Assistant(raw) => raw.to_string().len(),
        Entry::Results(results) => results.iter().map(result_size).sum(),
    }
}

fn result_size(result: &ToolResult) -> usize {
    result.text.len() + result.images.len() * IMAGE_SIZE
}

/// Removes results, the oldest first, until the conversation is small enough; the last results are kept.
fn remove_results(entries: &mut [Entry], wanted: usize) {
    let mut size = size(entries);
    let last = entries.iter().rposition(|one| matches!(one, Entry::Results(_)));
    for (index, entry) in entries.iter_mut().enumerate() {
        let Entry::Results(results) = entry else {
            continue;
        };
        for result in results {
            if size <= wanted || Some(index) == last {
                return;
            }
            let before = result_size(result);
            if before > MIN_REMOVED_SIZE {
                size -= before - REMOVED_NOTE.len();
                REMOVED_NOTE.clone_into(&mut result.text);
                result.images.clear();
            }
        }
    }
}

/// Removes exchanges, the oldest first. An exchange is an answer with its results and the texts after it, up to
/// the next answer.
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
        entries.splice(first..end, [Entry::text(note)]);
    }
}

fn answers(entries: &[Entry]) -> impl Iterator<Item = usize> {
    let entries = entries.iter().enumerate();
    entries.filter_map(|(index, entry)| matches!(entry, Entry::Assistant(_)).then_some(index))
}

/// Shortens each of the last results to half its size, and removes their images.
fn shorten_last(entries: &mut [Entry]) {
    let last = entries.iter_mut().rev().find_map(|entry| match entry {
        Entry::Results(results) => Some(results),
        Entry::User { .. } | Entry::Assistant(_) => None,
    });
    for result in last.into_iter().flatten() {
        result.images.clear();
        if result.text.len() > MIN_REMOVED_SIZE {
            result.text = truncated(&result.text, result.text.len() / 2);
        }
    }
}

/// Cuts the middle out of a text, to at most about `limit` bytes, and inserts a note.
pub(super) fn truncated(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(limit / 4 * 3);
    let tail = text.floor_char_boundary(text.len() - limit / 4);
    let missing = tail - head;
    format!(
        "{}\n[.. {missing} bytes of this result were left out ..]\n{}",
        &text[..head],
        &text[tail..]
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conversation(exchanges: usize, size: usize) -> Vec<Entry> {
        let mut entries = vec![Entry::text("begin")];
        for n in 0..exchanges {
            let result = ToolResult {
                id: n.to_string(),
                name: "look".to_owned(),
                text: "x".repeat(size),
                ..ToolResult::default()
            };
            entries.push(Entry::Assistant(json!({ "n": n })));
            entries.push(Entry::Results(vec![result]));
        }
        entries
    }

    /// Returns whether each answer is still followed by its results.
    fn is_whole(entries: &[Entry]) -> bool {
        let starts = answers(entries).collect::<Vec<_>>();
        entries[0] == Entry::text("begin")
            && starts.iter().all(|start| matches!(entries[start + 1], Entry::Results(_)))
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
        assert!(
            matches!(&entries[1], Entry::User { text: note, .. } if note.contains("were left out"))
        );
        let Some(Entry::Assistant(last)) = entries.iter().rev().nth(1) else {
            panic!("{entries:?}")
        };
        assert_eq!(last["n"], 9);
    }

    #[test]
    fn a_history_that_cannot_be_compacted_is_reported() {
        let mut entries = vec![Entry::text("begin")];
        assert!(!compact(&mut entries));
    }

    #[test]
    fn a_long_result_is_cut_between_characters() {
        let text = "é".repeat(1000);
        let truncated = truncated(&text, 101);
        assert!(
            truncated.len() < 170 && truncated.contains("bytes of this result were left out"),
            "{truncated}"
        );
        assert_eq!(super::truncated("short", 10), "short");
    }
}
