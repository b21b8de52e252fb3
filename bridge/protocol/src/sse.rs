//! An incremental parser of server-sent event streams, as the WHATWG HTML standard defines them.
//!
//! Input may come in chunks of any size.
//!
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream>

use alloc::{borrow::ToOwned as _, string::String, vec::Vec};
use core::mem;

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// The event's own `id` field; ids of earlier events are not carried over.
    pub id: Option<String>,
    /// The `event` field.
    pub event: Option<String>,
    /// The `data` fields.
    pub data: SseData,
}

/// An event's data, as far as it was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SseData {
    /// All `data` lines, joined by line feeds.
    Whole(String),
    /// The event was larger than the parser's limit; its size in bytes.
    TooLarge(u64),
}

/// Parses bytes into events. Holds at most `limit` bytes of a line and of an event.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    line: Line,
    pending: Pending,
    first_line: bool,
    after_cr: bool,
}

/// The incomplete line.
#[derive(Debug, Default)]
struct Line {
    kept: Vec<u8>,
    length: u64,
}

/// The incomplete event.
#[derive(Debug, Default)]
struct Pending {
    id: Option<String>,
    event: Option<String>,
    data: Option<String>,
    length: u64,
    too_large: bool,
}

impl SseParser {
    /// Returns a parser for a new stream. Events larger than `limit` bytes are not kept.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Line::default(),
            pending: Pending::default(),
            first_line: true,
            after_cr: false,
        }
    }

    /// Parses the next bytes of the stream; returns the events that they complete.
    pub fn push(&mut self, chunk: &[u8]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        for piece in chunk.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            // A line feed right after a carriage return belongs to the same line end, even if they are in
            // different chunks.
            if mem::take(&mut self.after_cr) && piece == b"\n" {
                continue;
            }
            match piece.split_last() {
                Some((end @ (b'\n' | b'\r'), text)) => {
                    self.line.extend(text, self.limit);
                    self.after_cr = *end == b'\r';
                    events.extend(self.end_line());
                }
                Some(_) | None => self.line.extend(piece, self.limit),
            }
        }
        events
    }

    /// Returns the size of the event that the stream's end cut off, if any. The standard has readers discard
    /// it.
    pub fn unfinished(&self) -> Option<u64> {
        let line = match self.line.kept.first() {
            Some(b':') | None => 0,
            Some(_) => self.line.length,
        };
        let length = self.pending.length + line;
        (length > 0).then_some(length)
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let line = mem::take(&mut self.line);
        let mut text = line.kept.as_slice();
        if mem::take(&mut self.first_line) {
            text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        }
        let cut = line.length > line.kept.len() as u64;
        if text.is_empty() && !cut {
            return mem::take(&mut self.pending).complete();
        }
        if !text.starts_with(b":") {
            self.pending.length += line.length;
            if cut || self.pending.length > self.limit as u64 {
                self.pending.too_large = true;
                self.pending.data = None;
            }
            if !cut {
                self.pending.field(&String::from_utf8_lossy(text));
            }
        }
        None
    }
}

impl Line {
    fn extend(&mut self, text: &[u8], limit: usize) {
        let room = limit.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&text[..text.len().min(room)]);
        self.length += text.len() as u64;
    }
}

impl Pending {
    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" if !self.too_large => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "event" => self.event = Some(value.to_owned()),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            // `retry` concerns only the stream's two ends, and the standard ignores all other fields.
            _ => {}
        }
    }

    /// Returns the event, or `None` if it has no data: the standard discards such events.
    fn complete(self) -> Option<SseEvent> {
        let data = match self.data {
            _ if self.too_large => SseData::TooLarge(self.length),
            Some(data) => SseData::Whole(data),
            None => return None,
        };
        Some(SseEvent { id: self.id, event: self.event.filter(|event| !event.is_empty()), data })
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, vec};

    use proptest::prelude::*;

    use super::*;

    fn event(id: Option<&str>, event: Option<&str>, data: &str) -> SseEvent {
        SseEvent {
            id: id.map(str::to_owned),
            event: event.map(str::to_owned),
            data: SseData::Whole(data.to_owned()),
        }
    }

    fn check(stream: &str, expected: &[SseEvent]) {
        let events = SseParser::new(1024).push(stream.as_bytes());
        assert_eq!(events, expected, "{stream:?}");
    }

    #[test]
    fn fields_become_an_event() {
        check("data: a\n\n", &[event(None, None, "a")]);
        check("data:a\n\n", &[event(None, None, "a")]);
        check("data:  a\n\n", &[event(None, None, " a")]);
        check("data: a\ndata\ndata: b\n\n", &[event(None, None, "a\n\nb")]);
        check("data\n\n", &[event(None, None, "")]);
        check(
            "id: 1\nevent: e\ndata: a\nretry: 5\nother: x\n\n",
            &[event(Some("1"), Some("e"), "a")],
        );
        check(
            "id: 1\ndata: a\n\ndata: b\n\n",
            &[event(Some("1"), None, "a"), event(None, None, "b")],
        );
        check("id: a\0b\nevent:\ndata: a\n\n", &[event(None, None, "a")]);
    }

    #[test]
    fn lines_end_in_three_ways() {
        let both = [event(None, None, "a"), event(None, None, "b")];
        check("data: a\n\ndata: b\n\n", &both);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &both);
        check("data: a\r\rdata: b\r\r", &both);
        check("data: a\r\n\ndata: b\n\r", &both);
    }

    #[test]
    fn unknown_events_are_skipped() {
        check("", &[]);
        check("\u{FEFF}data: a\n\n", &[event(None, None, "a")]);
        check("\u{FEFF}\ndata: a\n\n", &[event(None, None, "a")]);
        check("data: \u{FEFF}a\n\n", &[event(None, None, "\u{FEFF}a")]);
        check(": keep-alive\n\n: keep-alive\n\n", &[]);
        check("id: 7\n\n\n\ndata: a\n\n", &[event(None, None, "a")]);
        check("data: never finished\n", &[]);
    }

    #[test]
    fn an_unfinished_event_is_reported() {
        let mut parser = SseParser::new(64);
        parser.push(b"data: a\n\n: comment\n");
        assert_eq!(parser.unfinished(), None);
        parser.push(b"data: b\nda");
        assert_eq!(parser.unfinished(), Some(9));
    }

    #[test]
    fn a_large_event_is_counted_and_not_kept() {
        let mut parser = SseParser::new(16);
        let lines = "data: 0123456789\n".repeat(3);
        let one_line = format!("id: 2\ndata: {}\n\n", "x".repeat(100));
        let events = parser.push(format!("{lines}id: 1\n\n{one_line}data: ok\n\n").as_bytes());
        let large = |id: &str, length| SseEvent {
            id: Some(id.to_owned()),
            event: None,
            data: SseData::TooLarge(length),
        };
        assert_eq!(events, [large("1", 53), large("2", 111), event(None, None, "ok")]);
    }

    #[test]
    fn a_long_comment_is_no_event() {
        let mut parser = SseParser::new(16);
        let stream = format!(":{}\n\ndata: a\n\n", "x".repeat(100));
        assert_eq!(parser.push(stream.as_bytes()), [event(None, None, "a")]);
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "data: a", "data", ":", "id: 1", "event: e", "\n", "\r", "\r\n", "\n\n",
                    "\u{FEFF}", "\u{1F980}", "data: a longer one than the limit allows", " ",
                ]),
                0..40,
            ),
            cuts in prop::collection::vec(0_usize..400, 0..20),
        ) {
            let stream = pieces.concat().into_bytes();
            let whole = SseParser::new(24).push(&stream);

            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let mut parser = SseParser::new(24);
            let mut in_chunks = Vec::new();
            for cut in cuts.windows(2) {
                in_chunks.extend(parser.push(&stream[cut[0]..cut[1]]));
            }
            prop_assert_eq!(in_chunks, whole);
        }
    }
}
