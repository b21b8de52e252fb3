//! Measures how well a skill fits a request by their common words. Endings and words without meaning are ignored.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    intent::{Intent, asked, intents},
    name,
    token::{is_among, tokens},
    words::COUNTED,
};

/// Words that occur in any request and any description.
const STOP_WORDS: &str = "\
    about and any are ask based but can check could did does find for from get has have her his \
    how into its let like may need not our out please tell that the their them there they this was \
    what which who will with would you your";

/// Endings of forms of the same word, and their replacements; the longest come first.
const ENDINGS: [(&str, &str); 6] =
    [("ies", "y"), ("ing", ""), ("es", ""), ("ed", ""), ("s", ""), ("e", "")];

/// The length from which a common beginning makes two words equal: `available` and `availability`.
const MIN_COMMON_PREFIX: usize = 6;

/// Words that belong to an age and do not describe a purpose.
const AGE_WORDS: &str = "year old age aged under";

/// The words of a request that a skill is compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// The meaningful words, without those of names and ages.
    said: BTreeSet<String>,
    /// The words of names. They distinguish agents, but rarely the skills of one agent.
    named: BTreeSet<String>,
    intents: BTreeSet<Intent>,
}

impl Needs {
    pub(super) fn of(text: &str) -> Self {
        let names: Vec<String> = name::names(text).into_iter().collect();
        let (named, of_age) = (words(&names.join(" ")), words(AGE_WORDS));
        let told = words(&without_amounts(text)).into_iter();
        let said = told.filter(|word| !named.contains(word) && !of_age.contains(word));
        Self { said: said.collect(), named, intents: asked(text) }
    }
}

/// Removes numbers with the nouns that they count: `3 times`.
fn without_amounts(text: &str) -> String {
    let tokens = tokens(text);
    let is_counted = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        tokens[at].is(COUNTED) && before.is_some_and(|before| before.number.is_some())
    };
    let left = (0..tokens.len()).filter(|at| !is_counted(*at));
    let left: Vec<&str> = left.map(|at| tokens[at].raw.as_str()).collect();
    left.join(" ")
}

/// How well a skill fits; a greater value is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fit {
    /// The number of requested purposes that the skill has.
    done: usize,
    /// The weights of the request's words, each by the best field of the skill that contains it.
    said: usize,
    /// The number of words of names that occur in both.
    named: usize,
}

impl Fit {
    /// Returns whether only a name occurs in both.
    pub(super) fn is_by_name(self) -> bool {
        self.done == 0 && self.said == 0
    }

    /// Compares a skill, in discovery's description, with a request. Returns `None` if they have nothing in common
    /// or the skill has another purpose.
    pub(super) fn of(skill: &Value, needs: &Needs) -> Option<Self> {
        let places = places(skill);
        let worth = |word: &&String| {
            let worth = places.iter().filter(|(_, words)| has(words, word));
            worth.map(|(worth, _)| *worth).max().unwrap_or(0)
        };
        let does = intents(&spaced(&texts(skill).join(" . ")));
        let fit = Self {
            done: needs.intents.intersection(&does).count(),
            said: needs.said.iter().map(|word| worth(&word)).sum(),
            named: needs.named.iter().filter(|word| worth(word) > 0).count(),
        };
        let is_for_else = fit.done == 0 && !needs.intents.is_empty() && !does.is_empty();
        (fit != Self::default() && !is_for_else).then_some(fit)
    }
}

pub(super) fn texts(skill: &Value) -> [String; 4] {
    let text = |key: &str| skill[key].as_str().unwrap_or_default().to_owned();
    let list = |key: &str| {
        let items = skill[key].as_array().into_iter().flatten();
        items.filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
    };
    [
        format!("{} {}", text("id"), text("name")),
        text("description"),
        list("tags"),
        list("examples"),
    ]
}

/// Returns the words of a skill's fields with their weights: its name, its tags, its description and examples.
fn places(skill: &Value) -> Vec<(usize, BTreeSet<String>)> {
    let [title, description, tags, examples] = texts(skill);
    let said = format!("{description} {examples}");
    vec![(3, words(&title)), (2, words(&tags)), (1, words(&said))]
}

fn has(words: &BTreeSet<String>, wanted: &str) -> bool {
    words.contains(wanted) || words.iter().any(|word| begin_alike(word, wanted))
}

fn begin_alike(one: &str, other: &str) -> bool {
    let pairs = one.chars().zip(other.chars());
    pairs.take_while(|(one, other)| one == other).count() >= MIN_COMMON_PREFIX
}

/// Returns the stems of the meaningful words in a text; `CamelCase` is split.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    let spaced = spaced(text);
    let words = spaced.split(|c: char| !c.is_alphanumeric());
    let words = words.map(str::to_lowercase);
    words
        .filter(|word| word.chars().count() > 2 && !is_among(word, STOP_WORDS))
        .map(|word| stem(&word))
        .collect()
}

/// Splits `CamelCase` into words.
fn spaced(text: &str) -> String {
    let mut spaced = String::new();
    let mut last = ' ';
    for c in text.chars() {
        if c.is_uppercase() && last.is_lowercase() {
            spaced.push(' ');
        }
        spaced.push(c);
        last = c;
    }
    spaced
}

fn stem(word: &str) -> String {
    let cut = ENDINGS.iter().find_map(|(ending, rest)| {
        let stem = word.strip_suffix(ending)?;
        // The rest would be too short, or the letters are no ending: `bus`, `red`, `class`.
        let is_ending = stem.chars().count() > 2 && !(*ending == "s" && stem.ends_with('s'));
        is_ending.then(|| format!("{stem}{rest}"))
    });
    cut.unwrap_or_else(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the club in the document with two more skills.
    fn club() -> [Value; 3] {
        [
            json!({
                "id": "check_team_availability_v1", "name": "TeamVacancyCheck",
                "description": "Checks for available spaces in Urmston Town junior teams based on age.",
                "tags": ["football", "juniors", "availability", "registration", "vacancies"],
                "examples": ["Is there space for a 10 year old?", "Check availability for age 7."],
            }),
            json!({
                "id": "get_match_schedule", "name": "MatchSchedule",
                "description": "Tells when and where the teams of Urmston Town play.",
                "tags": ["fixtures", "calendar"], "examples": ["Who do the U10 Lions play on Sunday?"],
            }),
            json!({
                "id": "report_issue", "name": "ReportIssue",
                "description": "Takes complaints about pitches and changing rooms.",
                "tags": ["feedback"], "examples": ["The floodlights are broken."],
            }),
        ]
    }

    fn best(request: &str) -> Option<String> {
        let skills = club();
        let needs = Needs::of(request);
        let fits = skills.iter().filter_map(|skill| Some((Fit::of(skill, &needs)?, skill)));
        let (fit, skill) = fits.max_by_key(|(fit, _)| *fit)?;
        (!fit.is_by_name()).then(|| skill["name"].as_str().unwrap().to_owned())
    }

    #[test]
    fn requests_find_their_skill() {
        for (request, expected) in [
            ("Can my 10-year-old son Seb join Urmston Town Juniors FC?", Some("TeamVacancyCheck")),
            ("Are there any vacancies at Urmston Town for Seb?", Some("TeamVacancyCheck")),
            ("Is a place available in Urmston?", Some("TeamVacancyCheck")),
            ("I would like to register my daughter", Some("TeamVacancyCheck")),
            ("When does the U10 team of Urmston Town play its next match?", Some("MatchSchedule")),
            ("What is on the calendar of Urmston Town Juniors?", Some("MatchSchedule")),
            ("Which fixture is next?", Some("MatchSchedule")),
            ("I want to complain about the changing room", Some("ReportIssue")),
            ("The floodlight is broken", Some("ReportIssue")),
            ("Please can you tell me about it", None),
            ("Book me a flight to Rome", None),
        ] {
            assert_eq!(best(request).as_deref(), expected, "{request}");
        }
    }

    #[test]
    fn words_are_known_in_every_form() {
        for (one, other, same) in [
            ("vacancies", "Vacancy", true),
            ("spaces", "space", true),
            ("joining", "join", true),
            ("available", "availability", true),
            ("register", "registration", true),
            ("play", "plane", false),
            ("class", "classes", true),
            ("internal", "interesting", false),
            ("TeamVacancyCheck", "team vacancy", true),
        ] {
            let (one_words, other_words) = (words(one), words(other));
            let found = other_words.iter().all(|word| has(&one_words, word));
            assert_eq!(found, same, "{one} {other}");
        }
    }
}
