//! Finds the number in a result that is most likely its score, or lists its numbers, to advise authors whose scenario names none.

use serde_json::Value;
use serde_json_path::JsonPath;

use super::{content::are_rows, place::measured};
use green_agent_scenario::expectation::ValuePath;

/// The most numbers of a result that are looked at.
const NUMBERS: usize = 10_000;

/// The greatest depth at which a score is looked for.
const DEPTH: usize = 8;

/// Words in the names of scores, the likeliest first, each also as the beginning of a longer word.
const MEASURES: [&str; 9] =
    ["score", "accuracy", "success", "reward", "resolved", "correct", "pass", "assertion", "win"];

/// Measures that are counts or verdicts unless the name says that they are a share.
const COUNTED: [&str; 6] = ["success", "resolved", "correct", "pass", "assertion", "win"];

/// Words for a share.
const SHARES: [&str; 5] = ["rate", "pct", "percent", "percentage", "ratio"];

/// Words that do not say what is measured. If a name has no others, the name of the member around it decides, as in Inspect's
/// `{"accuracy": {"value": 0.5}}`.
const UNNAMED: [&str; 11] = [
    "value",
    "mean",
    "avg",
    "average",
    "overall",
    "total",
    "final",
    "aggregate",
    "weighted",
    "normalized",
    "composite",
];

/// Words for limits and for spread, as in `max_score` and `score_std`.
const LIMITS: [&str; 9] =
    ["max", "maximum", "min", "minimum", "possible", "threshold", "target", "std", "stderr"];

/// A number that is likely a score.
#[derive(Clone, Debug, PartialEq)]
pub struct LikelyScore {
    /// Its place in the list of results, as `harness.metrics` takes it: a JSON pointer, or a JSONPath of several numbers.
    pub path: String,
    /// The number, the mean if there are several.
    pub number: f64,
    /// The places of numbers that are as likely, such as the scores of other participants.
    pub rivals: Vec<String>,
}

/// Returns the number in the results that is most likely the score. The only number is, whatever its name.
pub fn likely_score(results: &[Value]) -> Option<LikelyScore> {
    let numbers = numbers(results);
    let is_only = numbers.len() == 1;
    let ranked = numbers.into_iter().filter_map(|place| Some((rank(&place, is_only)?, place)));
    let ranked: Vec<_> = ranked.collect();
    let best = ranked.iter().map(|(rank, _)| *rank).min()?;
    let mut places = ranked.into_iter().filter(|(rank, _)| *rank == best).map(|(_, place)| place);
    let (path, number) = places.next()?.measured(results)?;
    Some(LikelyScore { path, number, rivals: places.map(|place| place.path()).collect() })
}

/// Returns the places of the numbers in the results, as `harness.metrics` takes them.
pub fn places_of_numbers(results: &[Value]) -> Vec<String> {
    numbers(results).iter().map(Place::path).collect()
}

fn numbers(results: &[Value]) -> Vec<Place<'_>> {
    let mut numbers = Vec::new();
    if let (true, Some(result)) = (are_rows(results), results.first()) {
        collect(result, Place(vec![Step::Every]), &mut numbers);
        return numbers;
    }
    for (index, result) in results.iter().enumerate() {
        collect(result, Place(vec![Step::Index(index)]), &mut numbers);
    }
    numbers
}

/// The place of a number in the list of results.
struct Place<'a>(Vec<Step<'a>>);

#[derive(Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
    Every,
}

fn collect<'a>(value: &'a Value, place: Place<'a>, numbers: &mut Vec<Place<'a>>) {
    if numbers.len() >= NUMBERS || place.0.len() > DEPTH {
        return;
    }
    let below = |step| Place(place.0.iter().copied().chain([step]).collect());
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                collect(member, below(Step::Name(name)), numbers);
            }
        }
        // The first item stands for all.
        Value::Array(items) => {
            if let Some(item) = items.first() {
                collect(item, below(Step::Every), numbers);
            }
        }
        Value::Number(_) | Value::Bool(_) => numbers.push(place),
        Value::Null | Value::String(_) => {}
    }
}

/// Returns how unlikely a number is the score; `None` if its name does not sound like one. Scores and shares are preferred to
/// counts and verdicts, the score of the whole to those of parts.
fn rank(place: &Place<'_>, is_only: bool) -> Option<(bool, bool, bool, usize, usize)> {
    let names = place.0.iter().rev().filter_map(|step| match step {
        Step::Name(name) => Some(words(name)),
        Step::Index(_) | Step::Every => None,
    });
    let mut named = names.skip_while(|words| words.iter().all(|word| is_unnamed(word)));
    let words = named.next().unwrap_or_default();
    if words.iter().any(|word| LIMITS.contains(&word.as_str())) {
        return None;
    }
    let is_measure = |measure: &str| {
        words
            .iter()
            .any(|word| word.starts_with(measure) || word.trim_end_matches('s').ends_with(measure))
    };
    let kind = match MEASURES.iter().position(|measure| is_measure(measure)) {
        Some(kind) => kind,
        None if words.iter().any(|word| word == "f1") => MEASURES.len(),
        None if place.is_in_scores() => MEASURES.len() + 1,
        None if is_only => MEASURES.len() + 2,
        None => return None,
    };
    let is_share = words.iter().any(|word| SHARES.contains(&word.as_str()));
    let is_count = !is_share && MEASURES.get(kind).is_some_and(|name| COUNTED.contains(name));
    let telling = |word: &&String| !is_unnamed(word) && !SHARES.contains(&word.as_str());
    let is_part = words.iter().filter(telling).count() > 1 || kind == MEASURES.len() + 1;
    Some((is_count, place.is_repeated(), is_part, place.0.len(), kind))
}

fn is_unnamed(word: &str) -> bool {
    UNNAMED.contains(&word)
}

/// Returns the words of a name in lower case: of `avg_score`, `avgScore` and `avg-score` the same two.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let begins = !c.is_alphanumeric() || (was_lower && c.is_uppercase());
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

impl Place<'_> {
    /// Returns whether the number is a member of an object `scores`, as in `{"scores": {"alice": 1}}`.
    fn is_in_scores(&self) -> bool {
        match self.0.as_slice() {
            [.., Step::Name(around), Step::Name(_)] => {
                words(around).last().is_some_and(|word| word == "scores")
            }
            _ => false,
        }
    }

    /// Returns whether the number is in a list inside of a result.
    fn is_repeated(&self) -> bool {
        self.0.iter().any(|step| matches!(step, Step::Every))
    }

    /// Returns the place as `harness.metrics` takes it, and the number there.
    fn measured(&self, results: &[Value]) -> Option<(String, f64)> {
        let path = self.path();
        let place = match self.is_repeated() {
            false => ValuePath::Pointer(path.clone()),
            true => ValuePath::JsonPath(JsonPath::parse(&path).ok()?.into()),
        };
        let number = measured(&place, results).ok()?;
        Some((path, number))
    }

    fn path(&self) -> String {
        match self.is_repeated() {
            true => self.json_path(),
            false => self.pointer(),
        }
    }

    fn pointer(&self) -> String {
        let steps = self.0.iter().map(|step| match step {
            Step::Name(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
            Step::Index(index) => format!("/{index}"),
            Step::Every => "/0".to_owned(),
        });
        steps.collect()
    }

    fn json_path(&self) -> String {
        let is_plain = |name: &str| {
            !name.is_empty()
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let steps = self.0.iter().map(|step| match step {
            Step::Name(name) if is_plain(name) => format!(".{name}"),
            Step::Name(name) => format!("[{}]", Value::from(*name)),
            Step::Index(index) => format!("[{index}]"),
            Step::Every => "[*]".to_owned(),
        });
        format!("${}", steps.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_number_that_sounds_like_a_score_is_found_with_its_place() {
        for (result, expected) in [
            (json!({"metrics": {"steps": 3, "accuracy": 0.5}}), Some(("/0/metrics/accuracy", 0.5))),
            (
                json!({"results": {"n": 50, "mean_score": 2, "accuracy": 1}}),
                Some(("/0/results/mean_score", 2.0)),
            ),
            (json!({"a": {"b": {"score": 1}}, "score": 0}), Some(("/0/score", 0.0))),
            (
                json!({"tasks": [{"score": 1, "n": 1}, {"score": 0, "n": 2}]}),
                Some(("$[0].tasks[*].score", 0.5)),
            ),
            (
                json!({"summary": {"average_score": 0.25}, "tasks": [{"reward": 1}]}),
                Some(("/0/summary/average_score", 0.25)),
            ),
            (json!({"per task": [{"ok": true}]}), Some(("$[0][\"per task\"][*].ok", 1.0))),
            (json!({"a/b": {"grade": 3}}), Some(("/0/a~1b/grade", 3.0))),
            (json!({"": [{"score": 1}]}), Some(("$[0][\"\"][*].score", 1.0))),
            (
                json!({"scores": [{"scored_samples": 9, "metrics": {"accuracy": {"value": 0.5}, "stderr": {"value": 0.1}}}]}),
                Some(("$[0].scores[*].metrics.accuracy.value", 0.5)),
            ),
            (
                json!({"assertions": 0.5, "scores": {}, "task_duration": 4.5, "total_duration": 9.5}),
                Some(("/0/assertions", 0.5)),
            ),
            (json!({"max_score": 100, "pass_rate": 61.5}), Some(("/0/pass_rate", 61.5))),
            (
                json!({"total_score": 4.5, "scores": {"style": {"score": 2}}}),
                Some(("/0/total_score", 4.5)),
            ),
            (json!({"clarityScore": 85, "totalScore": 80}), Some(("/0/totalScore", 80.0))),
            (
                json!({"structure_score": 1, "scores": {"grounds": 0.5, "overall": 0.75}}),
                Some(("/0/scores/overall", 0.75)),
            ),
            (
                json!({"games": [{"fairness_score": 1}], "rounds": 4, "win_rate": 0.5}),
                Some(("/0/win_rate", 0.5)),
            ),
            (
                json!({"breaking_resolved_pct": 0.1, "resolved_pct": 0.25}),
                Some(("/0/resolved_pct", 0.25)),
            ),
            (json!({"success": true, "summary": {"score": 0.5}}), Some(("/0/summary/score", 0.5))),
            (json!({"correct": 5, "tasks": [{"score": 1}]}), Some(("$[0].tasks[*].score", 1.0))),
            (json!({"scores": {"alice": 1, "bob": 2}}), Some(("/0/scores/alice", 1.0))),
            (json!({"scores": [{"n": 1, "m": 2}]}), None),
            (json!({"max_score": 5, "tokens": 3}), None),
            (json!({"tokens": 3, "steps": 4}), None),
            (json!({"text": "well done"}), None),
        ] {
            let found = likely_score(&[result]);
            let found = found.as_ref().map(|one| (one.path.as_str(), one.number));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn the_score_of_rows_is_their_mean() {
        let rows = [json!({"user": 1, "f1": 0.5}), json!({"user": 2, "f1": 0.25})];
        let expected =
            LikelyScore { path: "$[*].f1".to_owned(), number: 0.375, rivals: Vec::new() };
        assert_eq!(likely_score(&rows), Some(expected));
    }

    #[test]
    fn the_scores_of_other_participants_are_as_likely() {
        let result = json!({"con": {"total_score": 2}, "pro": {"total_score": 3}, "winner": "pro"});
        let found = likely_score(&[result]).unwrap();
        assert_eq!(found.path, "/0/con/total_score");
        assert_eq!(found.rivals, ["/0/pro/total_score"]);
    }

    #[test]
    fn results_without_end_are_looked_at_in_part() {
        let mut deep = json!({"score": 1});
        for _ in 0..100 {
            deep = json!({"a": deep});
        }
        assert_eq!(likely_score(&[deep]), None);
        let wide: serde_json::Map<_, _> =
            (0..20_000).map(|at| (format!("n{at}"), json!(at))).collect();
        assert_eq!(likely_score(&[Value::Object(wide)]), None);
    }
}
