//! Determines the purpose of a request or a skill. Words with the same meaning form a group.

use std::collections::BTreeSet;

use super::{
    token::{Neighbours, Token, tokens},
    typos::is_typo_of,
};

/// A group of words with the same meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Intent {
    /// Becoming a member, and the availability of places.
    Join,
    /// Times and dates.
    Times,
    /// Opponents and results of matches.
    Match,
    /// Prices.
    Fees,
    /// Places.
    Where,
    /// Buying and selling.
    Buy,
    /// Hiring or booking something.
    Book,
    /// Problems and complaints.
    Issue,
    /// Contact persons.
    Contact,
    /// Things to bring or wear.
    Kit,
}

/// Words with a clear purpose, by their beginnings; `=` marks a whole word.
const CLEAR_WORDS: [(Intent, &str); 10] = [
    (
        Intent::Join,
        "\
            join =joining regist vacanc availab enrol =sign =signing =signed accept admit =trial \
            =trials =full =waiting recruit",
    ),
    (Intent::Times, "=when =time train session schedul calendar timetab"),
    (Intent::Match, "match fixture opponent =score =scores =result =results =league"),
    (Intent::Fees, "cost price =fee =fees subscription charg =expensive =cheap =much"),
    (Intent::Where, "=where address directions =park parking =located location"),
    (Intent::Buy, "=buy buying =sell =sells purchas =shop =order"),
    (Intent::Book, "book =hire hiring reserv =rent renting"),
    (Intent::Issue, "complain report broken damag =problem =problems =issue =fault"),
    (Intent::Contact, "contact phone email =coach manager"),
    (Intent::Kit, "=wear =bring =kit =kits =boots =shin shinpad equipment uniform clothes"),
];

/// Words that ask for a place if one of [`ARTICLES`] precedes them.
pub(super) const PLACES: &str = "space spaces place places room spot opening openings";

/// Nouns after `open` that show that no place for a person is meant.
const HOURS: &str = "time times hour hours";

/// Objects of `have` that ask for membership: `would they have him`.
const TAKEN: &str = "him her them us both";

/// Words before `time` that show that no time of day is meant: `for the first time`, `in two months' time`.
const OCCASIONS: &str = "\
    first last next this same full part spare free long weeks week months month years year";

/// Words that are recognised with one letter missing, added or swapped.
const TYPO_TOLERANT_WORDS: &str = "\
    space spaces places vacancy vacancies available availability register";

const ARTICLES: &str = "a an any some there have has got find more enough spare free no available";

/// Words that ask for membership if no other purpose is found.
const JOIN_FALLBACK_WORDS: &str = "\
    play take taking takes start space spaces spots spot welcome places member membership";

/// Words that ask for the time or the opponent of a match.
const QUESTIONS: &str = "who whom when against";

/// Returns the purposes of a request, from its questions if they state any; empty if none is found.
pub(super) fn asked(text: &str) -> BTreeSet<Intent> {
    let questions = text.split_inclusive(['.', '!', '?', '\n']);
    let questions: String = questions.filter(|one| one.ends_with('?')).collect();
    let asked = intents(&questions);
    if asked.is_empty() { intents(text) } else { asked }
}

/// Returns the purposes of the words in a text; empty if none is found.
pub(super) fn intents(text: &str) -> BTreeSet<Intent> {
    let tokens = tokens(text);
    let title = title(&tokens);
    let found = (0..tokens.len()).filter_map(|at| clear(&tokens, at, title));
    let found: BTreeSet<Intent> = found.collect();
    if found.contains(&Intent::Fees) && is_only_to_join(&tokens) {
        return found.into_iter().filter(|one| *one != Intent::Join).collect();
    }
    // The question what to wear to training does not ask for its time.
    if found.contains(&Intent::Kit) {
        let is_left = |one: &Intent| !matches!(one, Intent::Times | Intent::Match);
        return found.into_iter().filter(is_left).collect();
    }
    let is_unclear = tokens.iter().any(|token| token.is(JOIN_FALLBACK_WORDS));
    if found.is_empty() && is_unclear { [Intent::Join].into() } else { found }
}

/// Returns the purpose of a token; `title` is the number of tokens with which the text begins like a title.
fn clear(tokens: &[Token], at: usize, title: usize) -> Option<Intent> {
    let token = &tokens[at];
    // A capitalised word inside a sentence is a name: `12 Park Road`.
    if token.is_capital()
        && !token.begins()
        && token.raw.chars().skip(1).all(char::is_lowercase)
        && at > title
    {
        return None;
    }
    let around = Neighbours { tokens, at };
    if token.is("opening") && around.is_after(1, HOURS) {
        return Some(Intent::Times);
    }
    if token.is("have into") {
        let is_taken = token.word == "have" && around.is_after(1, TAKEN);
        let is_into =
            token.word == "into" && tokens[..at].iter().rev().take(4).any(|token| token.is("get"));
        return (is_taken || is_into).then_some(Intent::Join);
    }
    if token.is("time") && around.is_before(1, OCCASIONS) {
        return None;
    }
    if token.is(PLACES) {
        let is_asked = token.begins() || around.is_before(1, ARTICLES);
        return is_asked.then_some(Intent::Join);
    }
    let asked_before = || tokens[..at].iter().rev().take(8).any(|token| token.is(QUESTIONS));
    if token.is("play plays playing") {
        return asked_before().then_some(Intent::Match);
    }
    // A train is not a training.
    if token.is("train trains") && around.is_before(1, "a the by next last") {
        return None;
    }
    let is_said = |said: &str| match said.strip_prefix('=') {
        Some(whole) => token.word == whole,
        None => token.word.starts_with(said),
    };
    let family = CLEAR_WORDS.iter().find(|(_, words)| words.split(' ').any(is_said));
    let is_slip = || TYPO_TOLERANT_WORDS.split(' ').any(|known| is_typo_of(&token.word, known));
    match family {
        Some((intent, _)) => Some(*intent),
        None => is_slip().then_some(Intent::Join),
    }
}

/// Returns the number of tokens with which a text begins like a title: in the name of a skill all words are capitalised.
fn title(tokens: &[Token]) -> usize {
    let is_capital = |token: &&Token| token.is_capital() || token.number.is_some();
    tokens.iter().take_while(is_capital).count()
}

/// Recognises `what does it cost to join`.
fn is_only_to_join(tokens: &[Token]) -> bool {
    let mut pairs = tokens.windows(2);
    pairs.any(|pair| pair[0].is("to") && pair[1].is("join register sign enrol"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intents_are_recognised_by_words() {
        for (text, expected) in [
            ("Can he join?", vec![Intent::Join]),
            ("Is there a place for her?", vec![Intent::Join]),
            ("Could she play for them?", vec![Intent::Join]),
            ("She can train on Mondays. Is there a place?", vec![Intent::Join]),
            ("The changing rooms take place", vec![Intent::Join]),
            ("What are the training times?", vec![Intent::Times]),
            ("Is there a train to Urmston?", vec![]),
            ("Who do they play on Sunday?", vec![Intent::Match]),
            ("How much is it to join?", vec![Intent::Fees]),
            ("Is there an opening?", vec![Intent::Join]),
            ("What are the opening hours?", vec![Intent::Times]),
            ("Would they have him?", vec![Intent::Join]),
            ("What does she wear to training?", vec![Intent::Kit]),
            ("Any spaec?", vec![Intent::Join]),
            ("We live in Park Road", vec![]),
            ("Park 2 Road Fees", vec![Intent::Fees, Intent::Where]),
            ("We like Training", vec![]),
            ("Tell me a joke", vec![]),
        ] {
            let found: Vec<Intent> = asked(text).into_iter().collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
