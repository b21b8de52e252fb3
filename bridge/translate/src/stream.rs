//! Computes the new text of each piece of a stream.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

/// The streams of a turn, in the order of their first pieces.
#[derive(Default)]
pub(crate) struct Streams(Vec<Stream>);

struct Stream {
    id: String,
    /// The whole text sent so far.
    sent: String,
    /// The highest number of a piece so far.
    sequence: Option<i32>,
    is_open: bool,
}

/// The effect of a piece on the artifact of its stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The piece is outdated: a later one, or the final one, has arrived before.
    Late,
    /// The piece starts the artifact or replaces it with this text.
    Whole(String),
    /// The piece appends this text, possibly empty.
    More(String),
}

impl Streams {
    /// Takes the next piece of a stream, with its whole text so far. Pieces are sent in separate requests and
    /// may arrive in the wrong order; `sequence` has the right one.
    pub(crate) fn take(
        &mut self,
        id: &str,
        sequence: Option<i32>,
        text: &str,
        is_final: bool,
    ) -> Effect {
        let known = self.0.iter_mut().find(|stream| stream.id == id);
        let Some(stream) = known else {
            self.0.push(Stream {
                id: id.to_string(),
                sent: text.to_string(),
                sequence,
                is_open: !is_final,
            });
            return Effect::Whole(text.to_string());
        };
        if !stream.is_open || (sequence.is_some() && sequence <= stream.sequence) {
            return Effect::Late;
        }
        stream.sequence = sequence.or(stream.sequence);
        stream.is_open = !is_final;
        stream.advance(text)
    }

    /// Returns whether one of the streams has exactly this text.
    pub(crate) fn have_sent(&self, text: &str) -> bool {
        self.0.iter().any(|stream| stream.sent == text)
    }

    /// Returns whether there is no stream.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|stream| stream.id == id)
    }

    /// Replaces the text of a stream; returns whether the stream is still open.
    pub(crate) fn replace(&mut self, id: &str, text: &str) -> bool {
        let known = self.0.iter_mut().find(|stream| stream.id == id);
        known.is_some_and(|stream| {
            stream.sent = text.to_string();
            stream.is_open
        })
    }

    /// Removes a stream that was taken back.
    pub(crate) fn forget(&mut self, id: &str) {
        self.0.retain(|stream| stream.id != id);
    }

    /// Closes the streams that are still open and returns their ids.
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
    /// Adds a text. An empty one changes nothing: the final piece of some bots only has attachments.
    fn advance(&mut self, text: &str) -> Effect {
        if text.is_empty() {
            return Effect::More(String::new());
        }
        let piece = match text.strip_prefix(&*self.sent) {
            Some(new) => Effect::More(new.to_string()),
            None => Effect::Whole(text.to_string()),
        };
        self.sent = text.to_string();
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn more(text: &str) -> Effect {
        Effect::More(text.into())
    }

    fn whole(text: &str) -> Effect {
        Effect::Whole(text.into())
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
    fn late_stream_activities_are_reported() {
        let mut streams = Streams::default();
        streams.take("s", Some(1), "a", false);
        assert_eq!(streams.take("s", Some(3), "abc", false), more("bc"));
        assert_eq!(streams.take("s", Some(2), "ab", false), Effect::Late);
        assert_eq!(streams.take("s", None, "abcd", true), more("d"));
        assert_eq!(streams.take("s", Some(4), "abcde", false), Effect::Late);
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
