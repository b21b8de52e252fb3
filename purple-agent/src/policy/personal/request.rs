//! The user's request: the user's messages since the request began.

use std::collections::BTreeSet;

use mcp_tools::context::AgentContext;

use super::{
    age::Ages,
    fit::{Needs, words},
    name::WantedNames,
    token::{Token, tokens},
};

/// Words that are added to a name when its site is searched.
const SITE: &str = "official website";

/// The user's messages, each with its number.
#[derive(Debug)]
pub(super) struct Request(Vec<(u64, String)>);

impl Request {
    /// Returns the messages from this number on.
    pub(super) fn since(context: &AgentContext, first: u64) -> Self {
        let history = context.incoming_messages().history().into_iter();
        let received = history.filter(|one| one.number >= first);
        let said = received.map(|one| (one.number, one.text()));
        Self(said.filter(|(_, text)| !text.trim().is_empty()).collect())
    }

    #[cfg(test)]
    pub(super) fn of(text: &str) -> Self {
        Self(vec![(1, text.to_owned())])
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text of all messages.
    pub(super) fn text(&self) -> String {
        self.since_message(0)
    }

    /// Returns the text of the messages after this number.
    pub(super) fn since_message(&self, number: u64) -> String {
        let later = self.0.iter().filter(|(one, _)| *one > number);
        let texts: Vec<&str> = later.map(|(_, text)| text.as_str()).collect();
        texts.join("\n")
    }

    /// Returns the search query: the wanted club or place, or else the longest name, or else the whole text.
    pub(super) fn subject(&self) -> String {
        let text = self.text();
        let wanted = WantedNames::of(&text).first().map(|name| name.text.clone());
        match wanted.or_else(|| longest_name(&text)) {
            Some(name) => format!("{name} {SITE}"),
            None => text,
        }
    }

    /// Returns the wanted clubs or places.
    pub(super) fn wanted(&self) -> WantedNames {
        WantedNames::of(&self.text())
    }

    /// Returns the words that a skill is compared with.
    pub(super) fn needs(&self) -> Needs {
        Needs::of(&self.text())
    }

    /// Returns the words of the request, see [`words`].
    pub(super) fn words(&self) -> BTreeSet<String> {
        words(&self.text())
    }

    /// Returns the ages in the last message that contains any, because that message answers a question.
    pub(super) fn ages(&self) -> Ages {
        let told = self.0.iter().rev().map(|(_, text)| Ages::in_text(text));
        told.into_iter().find(|ages| !ages.values.is_empty()).unwrap_or_default()
    }

    /// Returns the tokens of all messages, the last message first.
    pub(super) fn tokens(&self) -> Vec<Token> {
        self.0.iter().rev().flat_map(|(_, text)| tokens(text)).collect()
    }
}

/// Returns the longest run of at least two capitalised words. A single one may be the beginning of a sentence.
fn longest_name(text: &str) -> Option<String> {
    let mut runs: Vec<Vec<&str>> = vec![Vec::new()];
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        match (bare.starts_with(char::is_uppercase), runs.last_mut()) {
            (true, Some(run)) => run.push(bare),
            (_, _) => runs.push(Vec::new()),
        }
        if !word.ends_with(char::is_alphanumeric) {
            runs.push(Vec::new());
        }
    }
    // Of runs of the same length, the first is chosen.
    let longest = runs.iter().rev().max_by_key(|run| run.len());
    longest.filter(|run| run.len() > 1).map(|run| run.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_of_a_request_is_its_longest_name() {
        for (text, subject) in [
            (
                "Can my 10-year-old son Seb join Urmston Town Juniors FC?",
                "Urmston Town Juniors FC official website",
            ),
            ("Ask Urmston Town. Seb Jones is 10", "Urmston Town official website"),
            ("Book me a flight to Rome", "Book me a flight to Rome"),
            ("how is the weather", "how is the weather"),
        ] {
            assert_eq!(Request::of(text).subject(), subject);
        }
    }

    #[test]
    fn words_are_read() {
        let request = Request::of("Can my 10-year-old son join the Juniors, at 7?");
        assert!(request.words().contains("junior") && !request.words().contains("at"));
    }
}
