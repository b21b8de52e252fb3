//! How well a skill fits a request, by their words: what people say and what cards say differ in endings, and
//! not every word says something.

use std::collections::BTreeSet;

use serde_json::Value;

/// Words that stand in any request and in any description.
const EMPTY: [&str; 48] = [
    "about", "and", "any", "are", "ask", "based", "but", "can", "check", "could", "did", "does",
    "find", "for", "from", "get", "has", "have", "her", "his", "how", "into", "its", "let", "like",
    "may", "need", "not", "our", "out", "please", "tell", "that", "the", "their", "them", "there",
    "they", "this", "was", "what", "which", "who", "will", "with", "would", "you", "your",
];

/// Endings that make another form of the same word, and what they stand for; the longest come first.
const ENDINGS: [(&str, &str); 6] = [
    ("ies", "y"),
    ("ing", ""),
    ("es", ""),
    ("ed", ""),
    ("s", ""),
    ("e", ""),
];

/// A beginning of this length makes two long words one: `available` and `availability`.
const BEGINNING: usize = 6;

/// How well a skill fits; more is better, and nothing is none at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fit {
    /// What the request's words count, each as much as the best place where the skill has it.
    said: usize,
    /// How many words of the name it has in common with the request that everything there is about: it
    /// tells agents apart, and hardly an agent's skills.
    named: usize,
}

impl Fit {
    /// Whether there is nothing in common.
    pub(super) fn is_none(self) -> bool {
        self == Self::default()
    }

    /// How well a skill, as discovery describes it, fits these words, of which some are a `name`.
    pub(super) fn of(skill: &Value, request: &BTreeSet<String>, name: &BTreeSet<String>) -> Self {
        let places = places(skill);
        let worth = |word: &&String| {
            let worth = places.iter().filter(|(_, words)| has(words, word));
            worth.map(|(worth, _)| *worth).max().unwrap_or(0)
        };
        let (named, said): (Vec<_>, Vec<_>) = request.iter().partition(|word| name.contains(*word));
        Self {
            said: said.iter().map(worth).sum(),
            named: named.iter().filter(|word| worth(word) > 0).count(),
        }
    }
}

/// The words of a skill's parts, with what each of them counts: what it is called, what it is filed under, what it
/// says and is asked.
fn places(skill: &Value) -> Vec<(usize, BTreeSet<String>)> {
    let text = |key: &str| skill[key].as_str().unwrap_or_default().to_owned();
    let list = |key: &str| {
        let items = skill[key].as_array().into_iter().flatten();
        items
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let title = format!("{} {}", text("id"), text("name"));
    let said = format!("{} {}", text("description"), list("examples"));
    vec![
        (3, words(&title)),
        (2, words(&list("tags"))),
        (1, words(&said)),
    ]
}

fn has(words: &BTreeSet<String>, wanted: &str) -> bool {
    words.contains(wanted) || words.iter().any(|word| begin_alike(word, wanted))
}

fn begin_alike(one: &str, other: &str) -> bool {
    let pairs = one.chars().zip(other.chars());
    pairs.take_while(|(one, other)| one == other).count() >= BEGINNING
}

/// The stems of a text's words that say something, those of `CamelCase` too.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    let mut spaced = String::new();
    let mut last = ' ';
    for c in text.chars() {
        if c.is_uppercase() && last.is_lowercase() {
            spaced.push(' ');
        }
        spaced.push(c);
        last = c;
    }
    let words = spaced.split(|c: char| !c.is_alphanumeric());
    let words = words.map(str::to_lowercase);
    words
        .filter(|word| word.chars().count() > 2 && !EMPTY.contains(&word.as_str()))
        .map(|word| stem(&word))
        .collect()
}

fn stem(word: &str) -> String {
    let cut = ENDINGS.iter().find_map(|(ending, rest)| {
        let stem = word.strip_suffix(ending)?;
        // Too little would be left, or it is no ending: `bus`, `red`, `class`.
        let is_ending = stem.chars().count() > 2 && !(*ending == "s" && stem.ends_with('s'));
        is_ending.then(|| format!("{stem}{rest}"))
    });
    cut.unwrap_or_else(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The club of the document, with two more of its skills.
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
        let name = words("Urmston Town Juniors FC");
        let skills = club();
        let fits = skills
            .iter()
            .map(|skill| (Fit::of(skill, &words(request), &name), skill));
        let (fit, skill) = fits.max_by_key(|(fit, _)| *fit)?;
        (!fit.is_none()).then(|| skill["name"].as_str().unwrap().to_owned())
    }

    #[test]
    fn requests_find_their_skill() {
        for (request, expected) in [
            (
                "Can my 10-year-old son Seb join Urmston Town Juniors FC?",
                Some("TeamVacancyCheck"),
            ),
            (
                "Are there any vacancies at Urmston Town for Seb?",
                Some("TeamVacancyCheck"),
            ),
            ("Is a place available in Urmston?", Some("TeamVacancyCheck")),
            (
                "I would like to register my daughter",
                Some("TeamVacancyCheck"),
            ),
            (
                "When does the U10 team of Urmston Town play its next match?",
                Some("MatchSchedule"),
            ),
            (
                "What is on the calendar of Urmston Town Juniors?",
                Some("MatchSchedule"),
            ),
            ("Which fixture is next?", Some("MatchSchedule")),
            (
                "I want to complain about the changing room",
                Some("ReportIssue"),
            ),
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
