//! Finds ages in a text by the words around its numbers.

use std::collections::BTreeSet;

use super::{
    token::{Neighbours, Number, Token, is_among, tokens},
    words::{COUNTED, KIN, NUMBERED, STREETS},
};

/// The age from which a person is not a child.
const ADULT_AGE: i64 = 18;

/// Letters that directly follow the digits of an age: `10yo`.
const AGE_ENDINGS: &str = "yo y yr yrs yos years";

const YEARS: &str = "year years yr yrs y";

/// Words that may be between `is` and an age.
const ADVERBS: &str = "now just only already currently still exactly recently him";

/// Words before a number that make it, with `years`, a duration.
const DURATION: &str = "for last past in within after since next every";

/// Words that distinguish the children of one family by their ages.
const YOUNGER: &str = "youngest younger littlest";
const OLDER: &str = "eldest oldest older elder";
const RANKED: &str = "youngest younger littlest eldest oldest older elder";

/// The meaning of a number, according to the words around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Age,
    /// An age group, such as `U10`.
    Group,
    /// Possibly an age.
    Unclear,
    /// Something else: an address, a year, an amount.
    Other,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ages {
    /// The possible ages in ascending order; more than one if it is not clear which is meant.
    pub(super) values: Vec<i64>,
    /// Whether the text says that the numbers are ages.
    pub(super) is_certain: bool,
}

impl Ages {
    /// Reads a text. Explicit ages take precedence over age groups, and those over numbers without a clear
    /// meaning. Ages of adults are ignored if there is a child.
    pub(super) fn in_text(text: &str) -> Self {
        let tokens = tokens(text);
        let mut meanings: Vec<_> = (0..tokens.len()).map(|at| meaning(&tokens, at)).collect();
        spread(&tokens, &mut meanings);
        let of = |wanted: Meaning| {
            let said = tokens.iter().zip(&meanings);
            let values = said.filter(|(_, meaning)| **meaning == wanted);
            let values = values.filter_map(|(token, _)| token.number.as_ref());
            values.map(|number| number.value).collect::<BTreeSet<_>>()
        };
        for (wanted, is_certain) in
            [(Meaning::Age, true), (Meaning::Group, true), (Meaning::Unclear, false)]
        {
            let values = chosen(&tokens, children(of(wanted)));
            if !values.is_empty() {
                return Self { values, is_certain };
            }
        }
        Self::default()
    }
}

fn children(values: BTreeSet<i64>) -> Vec<i64> {
    let (children, adults): (Vec<_>, Vec<_>) = values.into_iter().partition(|age| *age < ADULT_AGE);
    if children.is_empty() { adults } else { children }
}

/// Selects the age that the text chooses from several: `it is the youngest who wants to join`.
fn chosen(tokens: &[Token], values: Vec<i64>) -> Vec<i64> {
    let is_told_beside = |at: usize| {
        let mut beside = tokens[at..].iter().skip(1).take(3);
        beside.any(|token| token.number.is_some())
    };
    let named = |words: &str| {
        let mut all = tokens.iter().enumerate();
        all.any(|(at, token)| token.is(words) && !is_told_beside(at))
    };
    match (&values[..], named(YOUNGER), named(OLDER)) {
        ([least, _, ..], true, false) => vec![*least],
        ([_, .., most], false, true) => vec![*most],
        (_, _, _) => values,
    }
}

fn meaning(tokens: &[Token], at: usize) -> Meaning {
    let Some((token, number)) =
        tokens.get(at).and_then(|token| Some((token, token.number.as_ref()?)))
    else {
        return Meaning::Other;
    };
    let around = Neighbours { tokens, at };
    if !number.is_plain || number.value < 1 || is_part_of_date(&around, token) {
        return Meaning::Other;
    }
    if let Some(by_letters) = by_letters(&around, number) {
        return by_letters;
    }
    if is_denied(&around) {
        return Meaning::Other;
    }
    if is_with_years(&around) || is_after_age(&around) {
        return Meaning::Age;
    }
    if is_other(&around, token) {
        return Meaning::Other;
    }
    if is_after_be(&around)
        || is_set_apart(&around, token)
        || is_of_child(&around)
        || around.is_before(1, RANKED)
    {
        return Meaning::Age;
    }
    // `one` means a person more often than an age.
    if token.word == "one" { Meaning::Other } else { Meaning::Unclear }
}

/// Recognises `03/05/2015`, `14.09.2015`, `7:30`.
fn is_part_of_date(around: &Neighbours<'_>, token: &Token) -> bool {
    let is_mark = |gap: &str| matches!(gap, "/" | "." | ":");
    let is_number = |token: Option<&Token>| token.is_some_and(|token| token.number.is_some());
    is_mark(&token.gap) && is_number(around.before(1))
        || is_mark(around.gap_after()) && is_number(around.after(1))
}

/// Returns the meaning that letters attached to the digits give: `10yo`, `U10s`, `5pm`, `M41`.
fn by_letters(around: &Neighbours<'_>, number: &Number) -> Option<Meaning> {
    let is_under = around.is_before(1, "under u");
    match (number.before.as_str(), number.behind.as_str()) {
        ("", ending) if is_among(ending, AGE_ENDINGS) => Some(Meaning::Age),
        ("u", "" | "s") => Some(Meaning::Group),
        ("", "" | "s") if is_under => Some(Meaning::Group),
        ("", "" | "s") => None,
        (_, _) => Some(Meaning::Other),
    }
}

/// Recognises `10 years old`, `ten-year-old`, `10 y/o`, and `is 10 years`.
fn is_with_years(around: &Neighbours<'_>) -> bool {
    if around.is_after(1, "yo") {
        return true;
    }
    if !around.is_after(1, YEARS) {
        return false;
    }
    let is_old =
        around.is_after(2, "old olds o") || around.is_after(2, "of") && around.is_after(3, "age");
    let is_of = around.is_before(1, "of is are aged");
    is_old || is_of && !around.is_before(1, DURATION)
}

/// Recognises `aged 10`, `at the age of ten`, `Age: 9`, `his age is 9`.
fn is_after_age(around: &Neighbours<'_>) -> bool {
    const AGE: &str = "age aged ages";
    around.is_before(1, AGE) || around.is_before(1, "of is") && around.is_before(2, AGE)
}

fn is_other(around: &Neighbours<'_>, token: &Token) -> bool {
    let is_money = token.gap.contains(['£', '$', '€', '#']);
    let kin = || around.is_after(1, KIN) || around.is_after(2, KIN) && !is_joined(around);
    is_money
        || around.is_after(1, COUNTED) && !around.gap_after().contains(',')
        || kin()
        || around.is_before(1, NUMBERED)
        || around.is_after(1, YEARS)
        || is_in_address(around)
        || around.after(1).is_some_and(|token| token.raw == "May")
        || around.is_before(1, "there")
        || around.is_before(1, "are is") && around.is_before(2, "there")
        || around.is_near(4, "number address postcode phone score")
        || around.is_before(1, "be turn") && around.is_near(3, "will to about")
        || is_preposition(around, token)
}

/// Recognises `not 9 yet`, `isn't yet 9`.
fn is_denied(around: &Neighbours<'_>) -> bool {
    const NOT: &str = "not isn wasn aren never";
    let begins = around.tokens.get(around.at).is_some_and(Token::begins);
    !begins
        && (around.is_before(1, NOT)
            || around.is_before(1, "yet quite even") && around.is_before(2, NOT))
}

/// Recognises `4 my lad`, `2 join`, where the digits are written for `for` and `to`.
fn is_preposition(around: &Neighbours<'_>, token: &Token) -> bool {
    match token.word.as_str() {
        "4" => around.is_after(1, "my our a an the him her me us"),
        "2" => around.is_after(1, "join play sign register start get be"),
        _ => false,
    }
}

/// Returns whether the next token continues the sentence and is not a noun that the number counts: `7 and my son`,
/// `9, girl`.
fn is_joined(around: &Neighbours<'_>) -> bool {
    around.gap_after() != " " || around.is_after(1, "and or but my his her")
}

/// Recognises `12 Park Road`, `from 3 The Green`, `we live at 12`.
fn is_in_address(around: &Neighbours<'_>) -> bool {
    let is_name = |distance| around.after(distance).is_some_and(Token::is_capital);
    let is_street = (1..=4)
        .take_while(|distance| is_name(*distance))
        .any(|distance| around.is_after(distance, STREETS));
    let is_place = around.is_before(1, "at from") && is_name(1);
    is_street
        || is_place
        || around.is_before(1, "at") && around.is_near(4, "live lives living home address")
}

/// Recognises `he is 9`, `she's now eight`, `who just turned 5`.
fn is_after_be(around: &Neighbours<'_>) -> bool {
    let skipped = (1..).take_while(|distance| around.is_before(*distance, ADVERBS));
    let distance = skipped.count() + 1;
    let between = (1..distance).filter_map(|one| around.before(one));
    if between.chain(around.tokens.get(around.at)).any(Token::begins) {
        return false;
    }
    let Some(before) = around.before(distance) else {
        return false;
    };
    before.is_form_of_be || before.is("is are am im turned being")
}

/// Recognises `Seb (10)`, `Noah, 10, plays`.
fn is_set_apart(around: &Neighbours<'_>, token: &Token) -> bool {
    let behind = around.gap_after();
    let brackets = token.gap.ends_with('(') && behind.starts_with(')');
    let is_word = |token: Option<&Token>| token.is_some_and(|token| token.number.is_none());
    let commas = token.gap == ", " && behind == ", ";
    brackets || commas && is_word(around.before(1)) && is_word(around.after(1))
}

/// Recognises `a girl of nine`.
fn is_of_child(around: &Neighbours<'_>) -> bool {
    around.is_before(1, "of") && around.is_before(2, KIN)
}

/// Gives all numbers in a list the meaning of one of them: `aged 7, 9 and 11`, `9 or 10 year old`.
fn spread(tokens: &[Token], meanings: &mut [Meaning]) {
    let pairs: Vec<(usize, usize)> = (0..tokens.len())
        .filter_map(|at| {
            let second = linked(tokens, at)?;
            Some((at, second))
        })
        .collect();
    let mut set = |one: usize, other: usize| {
        let told = meanings.get(one).copied().filter(|one| *one == Meaning::Age);
        if let (Some(told), Some(Meaning::Unclear)) = (told, meanings.get(other).copied()) {
            meanings[other] = told;
        }
    };
    pairs.iter().for_each(|(one, other)| set(*one, *other));
    pairs.iter().rev().for_each(|(one, other)| set(*other, *one));
}

/// Returns the index of the next number in the same list.
fn linked(tokens: &[Token], at: usize) -> Option<usize> {
    tokens.get(at)?.number.as_ref()?;
    let is_link = |token: &Token| token.is("and or to");
    let next = tokens.get(at + 1)?;
    let (other, token) = match is_link(next) {
        true => (at + 2, tokens.get(at + 2)?),
        false if matches!(next.gap.trim(), "," | "-" | "\u{2013}" | "&") => (at + 1, next),
        false => return None,
    };
    token.number.as_ref().map(|_| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_distinguished_from_other_numbers() {
        for (text, values, is_certain) in [
            ("a ten-year-old and 12 Park Road", vec![10], true),
            ("born in 2015 and is 10", vec![10], true),
            ("aged 7, nine and 11", vec![7, 9, 11], true),
            ("9 or 10 year old", vec![9, 10], true),
            ("I am 41, he is 9", vec![9], true),
            ("I am 41", vec![41], true),
            ("the U10s", vec![10], true),
            ("U10, she is nine", vec![9], true),
            ("10", vec![10], false),
            ("two boys, £25, 5pm, M41 5AB, size 4, Year 5", vec![], false),
            ("she is nearly 10", vec![], false),
            ("he is not 9 yet, he is still 8", vec![8], true),
            ("hes 11, a place 4 my lad", vec![11], true),
            ("the eldest is 12, the youngest 5", vec![5, 12], true),
            ("12 and 5 years old, the youngest wants to join", vec![5], true),
            ("played for 3 years", vec![], false),
        ] {
            assert_eq!(Ages::in_text(text), Ages { values, is_certain }, "{text}");
        }
    }
}
