//! Finds the clubs and places that a request names, and decides whether an agent is responsible for them.

use std::collections::BTreeSet;

use super::{
    intent::PLACES,
    token::{Neighbours, Token, is_among, tokens},
    typos::is_typo_of,
    words::{BODIES, GENERIC, KIN, OPENERS, STREETS},
};

/// Words before a place that say that the user lives there or comes from there, and does not ask for it.
const RESIDENCE: &str = "\
    live lives living moved here from address born based home goes attends postcode school";

/// Words before a club that say that a person already belongs to it.
const BELONGING: &str = "plays played playing left leaving currently";

/// The number of tokens before a name that are searched for words about it.
const LOOK_BACK: usize = 4;

/// A name in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// The text as the user wrote it.
    pub(super) text: String,
    words: BTreeSet<String>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A wanted club: `join Urmston Town`.
    Body,
    /// A present or former club, which is wanted only if no other club is named.
    Former,
    /// A wanted place: `in Liverpool`.
    Place,
    /// Any other name: of a person or a street.
    Other,
}

/// A run of tokens that form one name.
struct Run {
    from: usize,
    to: usize,
}

/// The names of the wanted clubs, or else of the places, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WantedNames(Vec<Name>);

impl WantedNames {
    /// Reads a request.
    pub(super) fn of(text: &str) -> Self {
        let tokens = tokens(text);
        let names: Vec<Name> = runs(&tokens).iter().map(|run| name(&tokens, run)).collect();
        let of = |kind: Kind| {
            let names = names.iter().filter(|name| name.kind == kind);
            names.cloned().collect::<Vec<_>>()
        };
        let kinds = [Kind::Body, Kind::Former, Kind::Place];
        let found = kinds.into_iter().map(of).find(|names| !names.is_empty());
        Self(found.unwrap_or_default())
    }

    pub(super) fn first(&self) -> Option<&Name> {
        self.0.first()
    }

    /// Returns whether an agent with these texts is responsible for one of the names. An agent whose texts name no
    /// club or place is responsible for every place.
    pub(super) fn is_known_to(&self, texts: &[&str]) -> bool {
        let said = texts.join(" . ");
        let words: BTreeSet<String> = tokens(&said).into_iter().map(|token| token.word).collect();
        let is_told = |word: &String| {
            let mut said = words.iter();
            words.contains(word)
                || is_in_host(word, &words)
                || said.any(|one| is_typo_of(word, one))
        };
        let is_known = |name: &Name| {
            let all = name.words.iter().all(is_told);
            all || name.kind == Kind::Place && !is_bound(texts)
        };
        self.0.is_empty() || self.0.iter().any(is_known)
    }
}

/// Returns whether a host name, which joins words as in `urmstontownjfc`, contains a word.
fn is_in_host(word: &str, words: &BTreeSet<String>) -> bool {
    word.len() > 3 && words.iter().any(|one| one.len() > word.len() + 3 && one.starts_with(word))
}

/// Returns whether these texts name a club or place.
fn is_bound(texts: &[&str]) -> bool {
    texts.iter().any(|text| {
        let tokens = tokens(text);
        let runs = runs(&tokens);
        runs.iter().any(|run| run.from > 0 && !distinct(&tokens[run.from..run.to]).is_empty())
    })
}

/// Returns the words of all names in a request, people and places included.
pub(super) fn names(text: &str) -> BTreeSet<String> {
    let tokens = tokens(text);
    let runs = runs(&tokens);
    let said = runs.iter().flat_map(|run| &tokens[run.from..run.to]);
    said.map(|token| token.word.clone()).collect()
}

fn name(tokens: &[Token], run: &Run) -> Name {
    let said = &tokens[run.from..run.to];
    let raw: Vec<&str> = said.iter().map(|token| token.raw.as_str()).collect();
    Name { text: raw.join(" "), words: distinct(said), kind: kind(tokens, run) }
}

/// Returns the words that distinguish a name from others of its kind.
fn distinct(said: &[Token]) -> BTreeSet<String> {
    let words = said.iter().filter(|token| !token.is(GENERIC));
    words.map(|token| token.word.clone()).collect()
}

fn kind(tokens: &[Token], run: &Run) -> Kind {
    let said = &tokens[run.from..run.to];
    if distinct(said).is_empty() || said.iter().any(|token| token.is(STREETS)) {
        return Kind::Other;
    }
    let around = Neighbours { tokens, at: run.from };
    if said.iter().any(|token| token.is("school primary")) || around.is_near(LOOK_BACK, RESIDENCE) {
        return Kind::Other;
    }
    let before = |distance: usize, words: &str| around.is_before(distance, words);
    let is_body = said.iter().any(|token| token.is(BODIES))
        || before(1, "join joining at does has")
        || before(1, "for") && before(2, "play plays playing sign signed")
        || before(1, "with") && before(2, "up sign register enrol")
        || before(1, "with for") && before(2, PLACES);
    match (is_body, before(1, "in near around")) {
        (true, _) if around.is_near(LOOK_BACK, BELONGING) => Kind::Former,
        (true, _) => Kind::Body,
        (false, true) => Kind::Place,
        (false, false) => Kind::Other,
    }
}

/// Returns runs of capitalised words, and of lowercase words before `juniors` and the like.
fn runs(tokens: &[Token]) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let to = at + end_of_run(&tokens[at..]);
        match to > at {
            true => runs.push(Run { from: at, to }),
            false => runs.extend(in_small_letters(tokens, at)),
        }
        at = to.max(at + 1);
    }
    runs
}

/// Returns the number of tokens that form one name. The first word of a sentence alone is not a name.
fn end_of_run(tokens: &[Token]) -> usize {
    let is_next = |(at, token): &(usize, &Token)| is_name(token) && (*at == 0 || token.gap == " ");
    let run = tokens.iter().enumerate().take_while(is_next).count();
    match tokens.first() {
        Some(first) if first.begins() && run < 2 => 0,
        Some(_) | None => run,
    }
}

fn is_name(token: &Token) -> bool {
    let is_word = token.number.is_none() && token.word.len() > 1;
    let is_common = token.is(OPENERS) || token.is(KIN) || token.is("age aged year years old dob");
    token.is_capital() && is_word && !is_common && !is_day(token)
}

fn is_day(token: &Token) -> bool {
    const DAYS: &str = "\
    monday tuesday wednesday thursday friday saturday sunday january february march april june \
    july august september october november";
    is_among(token.word.trim_end_matches('s'), DAYS) || token.is("december saturdays")
}

/// Recognises `join stretford juniors`.
fn in_small_letters(tokens: &[Token], at: usize) -> Option<Run> {
    let is_leading = tokens[at].is("join joining at for with");
    let is_word =
        |token: &&Token| !token.is_capital() && token.number.is_none() && token.gap == " ";
    let is_plain = |token: &Token| !token.is(OPENERS) && !token.is(KIN) && !token.is(GENERIC);
    let words: Vec<&Token> = tokens[at + 1..].iter().take(4).take_while(is_word).collect();
    let body = words.iter().position(|token| token.is(BODIES))?;
    let is_run = is_leading && body > 0 && words[..body].iter().all(|token| is_plain(token));
    is_run.then_some(Run { from: at + 1, to: at + 2 + body })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> String {
        let wanted = WantedNames::of(text);
        wanted.first().map(|name| name.text.clone()).unwrap_or_default()
    }

    #[test]
    fn the_wanted_name_is_distinguished_from_user_and_place() {
        for (text, expected) in [
            ("Can my son Seb join Urmston Town Juniors FC?", "Urmston Town Juniors FC"),
            ("We live in Urmston. Can he join Stretford Town?", "Stretford Town"),
            ("Does Didsbury have a place for Lily?", "Didsbury"),
            ("can he join stretford juniors?", "stretford juniors"),
            ("She plays for Urmston Town and wants to join Sale United", "Sale United"),
            ("He plays for Urmston Town. When do they train?", "Urmston Town"),
            ("A hotel in Rome, please", "Rome"),
            ("We live at 12 Park Road and my son is 10.", ""),
            ("can he join the juniors?", ""),
        ] {
            assert_eq!(first(text), expected, "{text}");
        }
    }

    #[test]
    fn an_agent_that_names_others_is_not_known() {
        let club = "A2A Agent for Urmston Town Juniors FC inquiries";
        for (text, agent, is_known) in [
            ("join Urmston Town", club, true),
            ("join Urmston Rovers", club, false),
            ("a club in Liverpool", club, false),
            ("a hotel in Rome", "Books hotels everywhere", true),
            ("join Sale United", "Books hotels everywhere", false),
            ("join the club", club, true),
            ("join Urmston Town", "https://urmstontownjfc.co.uk - town", true),
        ] {
            assert_eq!(WantedNames::of(text).is_known_to(&[agent]), is_known, "{text}");
        }
    }
}
