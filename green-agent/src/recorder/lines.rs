//! Streams of JSON texts, one a line: newline-delimited JSON, and RFC 7464, whose texts begin with a record
//! separator. It sees the bytes as they pass and may be fed them in pieces of any size.

use std::mem;

use super::sse::{SseData, SseEvent};

/// What RFC 7464 puts in front of each text.
const RECORD_SEPARATOR: u8 = 0x1E;

/// Turns bytes into events. Holds at most `limit` bytes of a line.
#[derive(Debug)]
pub(super) struct LineParser {
    limit: usize,
    kept: Vec<u8>,
    length: u64,
}

impl LineParser {
    /// A parser at the beginning of a stream that gives up keeping lines larger than `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: Vec::new(),
            length: 0,
        }
    }

    /// Takes the next bytes of the stream and gives the lines that they complete.
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

    /// The line as far as it came, at the end of the stream or of the line. An empty one keeps the
    /// connection alive and says nothing.
    pub(super) fn finish(&mut self) -> Option<SseEvent> {
        let (kept, length) = (mem::take(&mut self.kept), mem::take(&mut self.length));
        let text = kept.strip_prefix(&[RECORD_SEPARATOR]).unwrap_or(&kept);
        let text = text.trim_ascii();
        let data = match length {
            _ if length > kept.len() as u64 => SseData::TooLarge(length),
            _ if text.is_empty() => return None,
            _ => SseData::Whole(String::from_utf8_lossy(text).into_owned()),
        };
        Some(SseEvent {
            id: None,
            event: None,
            data,
        })
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
            (
                &["{\"a\"", ":1}\n\n", "\n2"],
                vec![whole("{\"a\":1}"), whole("2")],
            ),
            (&["\u{1E}1\n\u{1E}2\n"], vec![whole("1"), whole("2")]),
            (
                &["123456789", "0\n1\n"],
                vec![SseData::TooLarge(10), whole("1")],
            ),
            (&["\n \n"], vec![]),
        ];
        for (chunks, expected) in cases {
            assert_eq!(lines(chunks), expected, "{chunks:?}");
        }
    }
}
