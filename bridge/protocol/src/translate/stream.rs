//! Streams: what of an accumulated text is new.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

/// The streams of a turn, in the order of their first pieces.
#[derive(Default)]
pub(crate) struct Streams(Vec<Stream>);

struct Stream {
    id: String,
    /// The whole text that was sent so far.
    sent: String,
    /// The highest number of a piece so far.
    sequence: Option<i32>,
    is_open: bool,
}

/// What a piece means for the artifact of its stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// It came too late: a later one, or the final one, was there before.
    Late,
    /// It begins the artifact, or replaces it, with this text.
    Whole(String),
    /// It adds this text, perhaps none.
    More(String),
}

impl Streams {
    /// Takes the next piece of a stream, with all its text so far. Pieces travel in separate requests, so
    /// an older one may come after a newer one; its number tells.
    pub(crate) fn take(
        &mut self,
        id: &str,
        sequence: Option<i32>,
        text: &str,
        is_final: bool,
    ) -> Piece {
        let known = self.0.iter_mut().find(|stream| stream.id == id);
        let Some(stream) = known else {
            self.0.push(Stream {
                id: id.to_string(),
                sent: text.to_string(),
                sequence,
                is_open: !is_final,
            });
            return Piece::Whole(text.to_string());
        };
        if !stream.is_open || (sequence.is_some() && sequence <= stream.sequence) {
            return Piece::Late;
        }
        stream.sequence = sequence.or(stream.sequence);
        stream.is_open = !is_final;
        stream.advance(text)
    }

    /// Whether one of them says this text, and nothing else.
    pub(crate) fn have_sent(&self, text: &str) -> bool {
        self.0.iter().any(|stream| stream.sent == text)
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is such a stream.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|stream| stream.id == id)
    }

    /// The text of a stream is this one from here on; says whether more of it may come.
    pub(crate) fn replace(&mut self, id: &str, text: &str) -> bool {
        let known = self.0.iter_mut().find(|stream| stream.id == id);
        known.is_some_and(|stream| {
            stream.sent = text.to_string();
            stream.is_open
        })
    }

    /// The stream was taken back.
    pub(crate) fn forget(&mut self, id: &str) {
        self.0.retain(|stream| stream.id != id);
    }

    /// Closes the streams that were never finished, and gives their ids.
    pub(crate) fn close(&mut self) -> Vec<String> {
        let open = self.0.iter_mut().filter(|stream| stream.is_open);
        open.map(|stream| {
            stream.is_open = false;
            stream.id.clone()
        })
        .collect()
    }
}

impl Stream {
    /// No text at all is no other text: the final piece of some bots only has attachments.
    fn advance(&mut self, text: &str) -> Piece {
        if text.is_empty() {
            return Piece::More(String::new());
        }
        let piece = match text.strip_prefix(&*self.sent) {
            Some(new) => Piece::More(new.to_string()),
            None => Piece::Whole(text.to_string()),
        };
        self.sent = text.to_string();
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn more(text: &str) -> Piece {
        Piece::More(text.into())
    }

    fn whole(text: &str) -> Piece {
        Piece::Whole(text.into())
    }

    #[test]
    fn text_that_extends_is_added_and_other_text_replaces() {
        let mut streams = Streams::default();
        for (text, expected) in [
            ("He", whole("He")),
            ("Hello", more("llo")),
            ("Hello", more("")),
            ("", more("")),
            ("Bye", whole("Bye")),
            ("Bye!", more("!")),
        ] {
            assert_eq!(streams.take("s", None, text, false), expected);
        }
    }

    #[test]
    fn what_comes_too_late_is_told() {
        let mut streams = Streams::default();
        streams.take("s", Some(1), "a", false);
        assert_eq!(streams.take("s", Some(3), "abc", false), more("bc"));
        assert_eq!(streams.take("s", Some(2), "ab", false), Piece::Late);
        assert_eq!(streams.take("s", None, "abcd", true), more("d"));
        assert_eq!(streams.take("s", Some(4), "abcde", false), Piece::Late);
    }

    #[test]
    fn only_open_streams_are_closed() {
        let mut streams = Streams::default();
        for (id, is_final) in [("a", false), ("b", true), ("c", false)] {
            streams.take(id, None, "x", is_final);
        }
        assert_eq!(streams.close(), vec!["a", "c"]);
        assert_eq!(streams.close(), Vec::<String>::new());
    }
}
