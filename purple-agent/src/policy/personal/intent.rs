//! What a request is for, and what a skill does: words that say the same are of one family.

use std::collections::BTreeSet;

use super::token::{Token, tokens};

/// A family of words that say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Intent {
    /// Becoming a member, and whether there is a place.
    Join,
    /// When something is.
    Times,
    /// Who plays whom, and how it ended.
    Match,
    /// What it costs.
    Fees,
    /// Where it is.
    Where,
    /// Buying and selling.
    Buy,
    /// Taking something for a while.
    Book,
    /// Something is wrong.
    Issue,
    /// Whom to talk to.
    Contact,
}

/// Words that say what is wanted, by their beginnings; `=` is a whole word.
const CLEAR: [(Intent, &[&str]); 9] = [
    (
        Intent::Join,
        &[
            "join", "=joining", "regist", "vacanc", "availab", "enrol", "=sign", "=signing",
            "=signed", "accept", "admit", "=trial", "=trials", "=full", "=waiting",
        ],
    ),
    (
        Intent::Times,
        &[
            "=when", "=time", "train", "session", "schedul", "calendar", "timetab", "=opening",
        ],
    ),
    (
        Intent::Match,
        &[
            "match", "fixture", "opponent", "=score", "=scores", "=result", "=results", "=league",
        ],
    ),
    (
        Intent::Fees,
        &[
            "cost",
            "price",
            "=fee",
            "=fees",
            "subscription",
            "charg",
            "=expensive",
            "=cheap",
            "=much",
        ],
    ),
    (
        Intent::Where,
        &[
            "=where",
            "address",
            "directions",
            "=park",
            "parking",
            "=located",
            "location",
        ],
    ),
    (
        Intent::Buy,
        &[
            "=buy", "buying", "=sell", "=sells", "purchas", "=shop", "=order",
        ],
    ),
    (
        Intent::Book,
        &["book", "=hire", "hiring", "reserv", "=rent", "renting"],
    ),
    (
        Intent::Issue,
        &[
            "complain",
            "report",
            "broken",
            "damag",
            "=problem",
            "=problems",
            "=issue",
            "=fault",
        ],
    ),
    (
        Intent::Contact,
        &["contact", "phone", "email", "=coach", "manager"],
    ),
];

/// They ask for a place behind one of [`ARTICLES`].
const PLACES: [&str; 6] = ["space", "spaces", "place", "places", "room", "spot"];

const ARTICLES: [&str; 14] = [
    "a",
    "any",
    "some",
    "there",
    "have",
    "has",
    "got",
    "find",
    "more",
    "enough",
    "spare",
    "free",
    "no",
    "available",
];

/// They ask to join, if nothing else is asked.
const UNCLEAR: [&str; 13] = [
    "play",
    "take",
    "taking",
    "takes",
    "start",
    "space",
    "spaces",
    "spots",
    "spot",
    "welcome",
    "places",
    "member",
    "membership",
];

/// They ask when or against whom somebody plays.
const QUESTIONS: [&str; 4] = ["who", "whom", "when", "against"];

/// What a request asks for, in its questions if they say so; nothing if no word of it does.
pub(super) fn asked(text: &str) -> BTreeSet<Intent> {
    let questions = text.split_inclusive(['.', '!', '?', '\n']);
    let questions: String = questions.filter(|one| one.ends_with('?')).collect();
    let asked = intents(&questions);
    if asked.is_empty() {
        intents(text)
    } else {
        asked
    }
}

/// What the words of a text are for; nothing if none of them says so.
pub(super) fn intents(text: &str) -> BTreeSet<Intent> {
    let tokens = tokens(text);
    let found: BTreeSet<Intent> = (0..tokens.len())
        .filter_map(|at| clear(&tokens, at))
        .collect();
    if found.contains(&Intent::Fees) && is_only_to_join(&tokens) {
        return found
            .into_iter()
            .filter(|one| *one != Intent::Join)
            .collect();
    }
    let is_unclear = tokens.iter().any(|token| token.is(&UNCLEAR));
    match found.is_empty() && is_unclear {
        true => [Intent::Join].into(),
        false => found,
    }
}

fn clear(tokens: &[Token], at: usize) -> Option<Intent> {
    let token = &tokens[at];
    // A word with a capital inside a sentence is a name: `12 Park Road`.
    if token.is_capital()
        && !token.begins()
        && token.raw.chars().skip(1).all(char::is_lowercase)
        && !is_title(tokens, at)
    {
        return None;
    }
    let before = at.checked_sub(1).and_then(|at| tokens.get(at));
    let is_after = |words: &[&str]| before.is_some_and(|token| token.is(words));
    if token.is(&PLACES) {
        let is_asked = token.begins() || is_after(&ARTICLES);
        return is_asked.then_some(Intent::Join);
    }
    let asked_before = || {
        tokens[..at]
            .iter()
            .rev()
            .take(8)
            .any(|token| token.is(&QUESTIONS))
    };
    if token.is(&["play", "plays", "playing"]) {
        return asked_before().then_some(Intent::Match);
    }
    // A train is no training.
    if token.is(&["train", "trains"]) && is_after(&["a", "the", "by", "next", "last"]) {
        return None;
    }
    let is_said = |said: &&str| match said.strip_prefix('=') {
        Some(whole) => token.word == whole,
        None => token.word.starts_with(said),
    };
    let family = CLEAR.iter().find(|(_, words)| words.iter().any(is_said));
    family.map(|(intent, _)| *intent)
}

/// A skill's name is words with capitals.
fn is_title(tokens: &[Token], at: usize) -> bool {
    let is_capital = |token: &Token| token.is_capital() || token.number.is_some();
    tokens[..at].iter().all(is_capital)
}

/// `what does it cost to join`
fn is_only_to_join(tokens: &[Token]) -> bool {
    let mut pairs = tokens.windows(2);
    pairs.any(|pair| pair[0].is(&["to"]) && pair[1].is(&["join", "register", "sign", "enrol"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_known_by_its_words() {
        for (text, expected) in [
            ("Can he join?", vec![Intent::Join]),
            ("Is there a place for her?", vec![Intent::Join]),
            ("Could she play for them?", vec![Intent::Join]),
            (
                "She can train on Mondays. Is there a place?",
                vec![Intent::Join],
            ),
            ("The changing rooms take place", vec![Intent::Join]),
            ("What are the training times?", vec![Intent::Times]),
            ("Is there a train to Urmston?", vec![]),
            ("Who do they play on Sunday?", vec![Intent::Match]),
            ("How much is it to join?", vec![Intent::Fees]),
            ("We live in Park Road", vec![]),
            ("Tell me a joke", vec![]),
        ] {
            let found: Vec<Intent> = asked(text).into_iter().collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
