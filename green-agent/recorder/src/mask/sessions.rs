//! Finds the ids of MCP sessions wherever they are repeated, such as in the text of a tool's result: with one, anyone can use
//! the session.

use std::{borrow::Cow, collections::BTreeSet, mem, sync::LazyLock};

use regex::Regex;

use super::{
    MASK,
    places::{pattern, replace},
};

/// The most ids that are learned in a trial: some clients open a session for each call.
const MOST: usize = 4096;

/// The longest id that is learned, in bytes.
const LONGEST: usize = 1024;

/// Matches what may be an id, or a part of one between other characters, as in a JWT. Shorter ones may be words.
static PIECE: LazyLock<Regex> = LazyLock::new(|| pattern("[A-Za-z0-9_-]{16,}"));

/// The ids that servers handed out in the previous trial, and in this one.
#[derive(Default)]
pub(super) struct Sessions([BTreeSet<String>; 2]);

impl Sessions {
    /// Adds an id. One without digits may be a name that also has other meanings, so it is not looked for.
    pub(super) fn learn(&mut self, id: &str) {
        if id.len() > LONGEST {
            return;
        }
        let pieces = PIECE.find_iter(id).map(|piece| piece.as_str());
        for piece in pieces.filter(|piece| piece.contains(|one: char| one.is_ascii_digit())) {
            if !self.has(piece) && self.0[1].len() < MOST {
                self.0[1].insert(piece.to_owned());
            }
        }
    }

    /// Begins another trial, which forgets the ids from before the last one.
    pub(super) fn begin_trial(&mut self) {
        let [_, last] = mem::take(&mut self.0);
        self.0 = [last, BTreeSet::new()];
    }

    /// Masks the ids in a text.
    pub(super) fn masked<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        if self.0.iter().all(BTreeSet::is_empty) {
            return text;
        }
        replace(text, &PIECE, |found| self.has(&found[0]).then(|| MASK.to_owned()))
    }

    fn has(&self, piece: &str) -> bool {
        self.0.iter().any(|ids| ids.contains(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(sessions: &Sessions, text: &str) -> String {
        sessions.masked(text.into()).into_owned()
    }

    #[test]
    fn ids_are_found_wherever_they_stand() {
        let mut sessions = Sessions::default();
        sessions.learn("0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0");
        sessions.learn("eyJhbGciOiJIUzI1NiJ9.eyJzaWQiOiIxMjM0NTYifQ.short");
        for (text, expected) in [
            ("Session 0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0.", "Session [masked]."),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzaWQiOiIxMjM0NTYifQ.short", "[masked].[masked].short"),
            (r#"{"sid":"0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"}"#, r#"{"sid":"[masked]"}"#),
            ("0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f1", "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f1"),
        ] {
            assert_eq!(masked(&sessions, text), expected);
        }
    }

    #[test]
    fn short_and_common_words_are_no_ids() {
        let mut sessions = Sessions::default();
        for id in ["42", "abc", "session-1", "the-session-of-the-shop", "EverythingServerOfMe"] {
            sessions.learn(id);
            assert_eq!(masked(&sessions, id), id);
        }
    }

    #[test]
    fn ids_are_kept_for_one_more_trial_and_within_a_limit() {
        let mut sessions = Sessions::default();
        let id = |number: usize| format!("session-number-{number:09}");
        (0..=MOST).for_each(|number| sessions.learn(&id(number)));
        assert_eq!(masked(&sessions, &id(MOST - 1)), MASK);
        assert_eq!(masked(&sessions, &id(MOST)), id(MOST));
        let long = format!("{:01025}", 7);
        sessions.begin_trial();
        sessions.learn(&long);
        assert_eq!(masked(&sessions, &long), long);
        assert_eq!(masked(&sessions, &id(0)), MASK);
        sessions.begin_trial();
        assert_eq!(masked(&sessions, &id(0)), id(0));
    }
}
