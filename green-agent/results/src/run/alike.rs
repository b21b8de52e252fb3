//! Finds failures that are alike: they are in the same cell of the matrix, and differ only in parts that are different in each
//! trial.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::LazyLock,
};

use regex::{Captures, Regex};

use super::tally::is_shown;
use crate::problem::{LAST_PRINTED, Outcome, Problem, ProblemKind};

/// What trials that failed alike have in common.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Failure<'a> {
    /// The cells of a matrix are compared with each other, so that their failures stay apart.
    cell: &'a BTreeMap<String, String>,
    texts: Vec<String>,
}

impl<'a> Failure<'a> {
    /// Returns the failure of a trial in this cell with these problems; `None` if none of them is shown.
    pub fn of(cell: &'a BTreeMap<String, String>, problems: &[Problem]) -> Option<Self> {
        let texts = texts(problems);
        (!texts.is_empty()).then_some(Self { cell, texts })
    }

    /// Returns a number that is the same for failures that are alike; texts would take much memory.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

/// Returns the shown texts of a trial's problems, without the parts that differ between trials with the same failure.
fn texts(problems: &[Problem]) -> Vec<String> {
    let shown = problems.iter().filter(|one| is_shown(one));
    shown.map(common_text).collect()
}

/// Returns the text of a problem without the parts that differ between trials with the same failure.
///
/// What a program printed is left out, unless it is all that is known of a crash. If the agent gave a wrong answer, quoted texts
/// and numbers are left out: each sample expects and gets others.
pub fn common_text(problem: &Problem) -> String {
    let text = problem.to_string();
    let told = text.split(LAST_PRINTED).next().unwrap_or_default();
    let text = match problem.kind {
        ProblemKind::Crashed => without_ports(&text),
        _ => without_ports(told),
    };
    match problem.outcome() == Outcome::Failed {
        true => without_numbers(&without_quotes(&text)),
        false => text,
    }
}

#[expect(clippy::unwrap_used, reason = "the patterns are constants, which the tests read")]
fn pattern(regex: &str) -> Regex {
    Regex::new(regex).unwrap()
}

/// Returns a text without this machine's ports, which are new in each trial. All other numbers stay.
fn without_ports(text: &str) -> String {
    static PORT: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(127\.0\.0\.1:|localhost:|\[::1\]:)[0-9]+"));
    PORT.replace_all(text, "$1").into_owned()
}

/// Returns a text without the parts between quotation marks. An escaped mark does not count.
fn without_quotes(text: &str) -> String {
    static QUOTED: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?s)"(\\.|[^"\\])*\\?("|$)"#));
    QUOTED.replace_all(text, "\"$2").into_owned()
}

/// The words before numbers that say where something failed or how, and not what was expected or measured.
const PLACES: [&str; 6] = ["turn", "line", "step", "status", "code", "error"];

/// Returns a text without its numbers, except those that are parts of words and places, such as `gpt-4`, `a.toml:7` and
/// `/rounds/0`.
fn without_numbers(text: &str) -> String {
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"-?[0-9]+(\.[0-9]+)?([eE]-?[0-9]+)?"));
    let kept = NUMBER.replace_all(text, |found: &Captures<'_>| {
        let whole = found.get_match();
        match is_value(&text[..whole.start()], &text[whole.end()..]) {
            true => String::new(),
            false => whole.as_str().to_owned(),
        }
    });
    kept.into_owned()
}

/// Returns whether a number between these texts is one that was expected or measured.
fn is_value(before: &str, behind: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_alone = !before.ends_with(|c| is_word(c) || ".:/-".contains(c))
        && !behind.starts_with(|c| is_word(c) || c == '/');
    let words = before.trim_end_matches(' ');
    let last = words.rsplit(|c| !is_word(c)).next().unwrap_or_default();
    is_alone && !PLACES.contains(&last.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemKind;

    #[test]
    fn expected_texts_do_not_separate_failures_but_places_do() {
        let failed = |text: &str| texts(&[ProblemKind::EvaluationFailed.because(text)]);
        let one = failed("turn 1 (line 7): expected an answer with \"a\", got \"say \\\"b\\\"\"");
        let other = failed("turn 1 (line 7): expected an answer with \"c\", got \"\\\\\"");
        assert_eq!(one, other);
        let later = "turn 2 (line 9): expected an answer with \"a\", got \"b\"";
        assert_ne!(one, failed(later));
        let crashed = |text: &str| texts(&[ProblemKind::Crashed.because(text)]);
        assert_ne!(crashed("\"KeyError\""), crashed("\"ValueError\""));
        let printed = |kind: ProblemKind, line: &str| {
            texts(&[kind.because(format!("x{LAST_PRINTED}{line}"))])
        };
        let [protocol, crashed] = [ProblemKind::Protocol, ProblemKind::Crashed];
        assert_eq!(printed(protocol, "12:00"), printed(protocol, "12:01"));
        assert_ne!(printed(crashed, "KeyError"), printed(crashed, "ValueError"));
    }

    #[test]
    fn numbers_that_were_measured_do_not_separate_failures_but_places_do() {
        let failed = |text: &str| texts(&[ProblemKind::GoalMissed.because(text)]);
        for (one, other, are_alike) in [
            ("expected 3 got 7", "expected 3 got 9", true),
            ("the score is 0.25, below 0.5.", "the score is -1.5e-7, below 0.5.", true),
            ("a.toml:7: got 1", "a.toml:9: got 1", false),
            ("turn 1 (line 7): got 1", "turn 2 (line 7): got 1", false),
            ("got 1 at /rounds/0", "got 1 at /rounds/1", false),
            ("HTTP status 404", "HTTP status 500", false),
            ("gpt-4 lost by 3", "gpt-5 lost by 3", false),
            ("3 of 4", "3 or 4", false),
        ] {
            assert_eq!(failed(one) == failed(other), are_alike, "{one}; {other}");
        }
        let crashed = |text: &str| texts(&[ProblemKind::Crashed.because(text)]);
        assert_ne!(crashed("exited with 1"), crashed("exited with 2"));
    }

    #[test]
    fn ports_of_this_machine_are_left_out_and_no_other_number() {
        for (text, expected) in [
            (
                "http://127.0.0.1:40123/a and localhost:9 and [::1]:65535.",
                "http://127.0.0.1:/a and localhost: and [::1]:.",
            ),
            (
                "expected \"1969\", got 1970 from 10.0.0.1:9009",
                "expected \"1969\", got 1970 from 10.0.0.1:9009",
            ),
            ("127.0.0.1:", "127.0.0.1:"),
            ("", ""),
        ] {
            assert_eq!(without_ports(text), expected);
        }
    }
}
