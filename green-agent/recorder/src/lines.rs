//! Parses streams of JSON texts, one a line: newline-delimited JSON, and RFC 7464, whose texts begin with a
//! record separator. Input may come in chunks of any size.

use std::mem;

use bridge_protocol::sse::{SseData, SseEvent};

/// The byte that RFC 7464 puts before each text.
const RECORD_SEPARATOR: u8 = 0x1E;

/// Splits bytes into events. Holds at most `limit` bytes of a line.
#[derive(Debug)]
pub(super) struct LineParser {
    limit: usize,
    kept: Vec<u8>,
    length: u64,
}

impl LineParser {
    /// Returns a parser for a new stream. Lines larger than `limit` bytes are not kept.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, kept: Vec::new(), length: 0 }
    }

    /// Parses the next bytes of the stream; returns the lines that they complete.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            let room = self.limit.saturating_sub(self.kept.len());
            self.kept.extend_from_slice(&text[..text.len().min(room)]);
            self.length += text.len() as u64;
            if piece.ends_with(b"\n") {
                events.extend(self.finish());
            }
        }
        events
    }

    /// Returns the current line, at the end of the line or of the stream. An empty line is a keep-alive and
    /// returns `None`.
    pub(super) fn finish(&mut self) -> Option<SseEvent> {
        let (kept, length) = (mem::take(&mut self.kept), mem::take(&mut self.length));
        let text = kept.strip_prefix(&[RECORD_SEPARATOR]).unwrap_or(&kept);
        let text = text.trim_ascii();
        let data = match length {
            _ if length > kept.len() as u64 => SseData::TooLarge(length),
            _ if text.is_empty() => return None,
            _ => SseData::Whole(String::from_utf8_lossy(text).into_owned()),
        };
        Some(SseEvent { id: None, event: None, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&str]) -> Vec<SseData> {
        let mut parser = LineParser::new(8);
        let mut events: Vec<SseEvent> = Vec::new();
        for chunk in chunks {
            events.extend(parser.push(chunk.as_bytes()));
        }
        events.extend(parser.finish());
        events.into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn each_line_is_an_event_however_it_comes() {
        let whole = |text: &str| SseData::Whole(text.to_owned());
        let cases: [(&[&str], Vec<SseData>); 5] = [
            (&["1\n2\r\n"], vec![whole("1"), whole("2")]),
            (&["{\"a\"", ":1}\n\n", "\n2"], vec![whole("{\"a\":1}"), whole("2")]),
            (&["\u{1E}1\n\u{1E}2\n"], vec![whole("1"), whole("2")]),
            (&["123456789", "0\n1\n"], vec![SseData::TooLarge(10), whole("1")]),
            (&["\n \n"], vec![]),
        ];
        for (chunks, expected) in cases {
            assert_eq!(lines(chunks), expected, "{chunks:?}");
        }
    }
}
