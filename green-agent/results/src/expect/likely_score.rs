//! Finds the number in a result that is most likely its score, or lists its numbers, to advise authors whose scenario names none.

use serde_json::Value;
use serde_json_path::JsonPath;

use super::metric::measured;
use green_agent_scenario::expectation::ValuePath;

/// The most numbers of a result that are looked at.
const NUMBERS: usize = 10_000;

/// The greatest depth at which a score is looked for.
const DEPTH: usize = 8;

/// Words in the names of scores, after `score` itself.
const WORDS: [&str; 8] =
    ["accuracy", "success", "reward", "correct", "pass", "assertion", "win_rate", "f1"];

/// Names that leave it to the member around them what is measured, as Inspect's `{"accuracy": {"value": 0.5}}` does.
const UNNAMED: [&str; 4] = ["value", "mean", "avg", "average"];

/// A number that is likely a score.
#[derive(Clone, Debug, PartialEq)]
pub struct LikelyScore {
    /// Its place in the list of results, as `harness.metrics` takes it: a JSON pointer, or a JSONPath of several numbers.
    pub path: String,
    /// The number, the mean if there are several.
    pub number: f64,
}

/// Returns the number in the results that is most likely the score. The only number is, whatever its name.
pub fn likely_score(results: &[Value]) -> Option<LikelyScore> {
    let numbers = numbers(results);
    let is_only = numbers.len() == 1;
    let ranked = numbers.into_iter().filter_map(|place| Some((rank(&place, is_only)?, place)));
    let (_, place) = ranked.min_by_key(|(rank, _)| *rank)?;
    place.score(results)
}

/// Returns the places of the numbers in the results, as `harness.metrics` takes them.
pub fn places_of_numbers(results: &[Value]) -> Vec<String> {
    numbers(results).iter().map(Place::path).collect()
}

fn numbers(results: &[Value]) -> Vec<Place<'_>> {
    let mut numbers = Vec::new();
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

/// Returns how unlikely a number is the score; `None` if its name does not sound like one. The score of the whole is
/// preferred to those of parts.
fn rank(place: &Place<'_>, is_only: bool) -> Option<(bool, bool, usize, usize)> {
    let mut names = place.0.iter().rev().filter_map(|step| match step {
        Step::Name(name) => Some(name.to_lowercase()),
        Step::Index(_) | Step::Every => None,
    });
    let name = names.find(|name| !UNNAMED.contains(&name.as_str()));
    let name = name.unwrap_or_default();
    let kind = match &name {
        name if name == "score" => 0,
        name if name.split(|c: char| !c.is_alphanumeric()).any(|word| word.ends_with("score")) => 1,
        name => match WORDS.iter().position(|word| name.contains(word)) {
            Some(at) => 2 + at,
            None if is_only => 2 + WORDS.len(),
            None => return None,
        },
    };
    Some((kind > 1, place.is_repeated(), kind, place.0.len()))
}

impl Place<'_> {
    /// Returns whether the number is in a list inside of a result.
    fn is_repeated(&self) -> bool {
        self.0.iter().any(|step| matches!(step, Step::Every))
    }

    fn score(&self, results: &[Value]) -> Option<LikelyScore> {
        let path = self.path();
        let place = match self.is_repeated() {
            false => ValuePath::Pointer(path.clone()),
            true => ValuePath::JsonPath(JsonPath::parse(&path).ok()?.into()),
        };
        let number = measured(&place, results).ok()?;
        Some(LikelyScore { path, number })
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
            !name.starts_with(|c: char| c.is_ascii_digit())
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
            (
                json!({"scores": [{"scored_samples": 9, "metrics": {"accuracy": {"value": 0.5}, "stderr": {"value": 0.1}}}]}),
                Some(("$[0].scores[*].metrics.accuracy.value", 0.5)),
            ),
            (
                json!({"assertions": 0.5, "scores": {}, "task_duration": 4.5, "total_duration": 9.5}),
                Some(("/0/assertions", 0.5)),
            ),
            (json!({"tokens": 3, "steps": 4}), None),
            (json!({"text": "well done"}), None),
        ] {
            let found = likely_score(&[result]);
            let found = found.as_ref().map(|one| (one.path.as_str(), one.number));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn results_without_end_are_looked_at_in_part() {
        let mut deep = json!({"score": 1});
        for _ in 0..100 {
            deep = json!({"a": deep});
        }
        assert_eq!(likely_score(&[deep]), None);
        let wide: Vec<Value> = (0..20_000).map(|at| json!({"n": at})).collect();
        assert_eq!(likely_score(&wide), None);
    }
}
