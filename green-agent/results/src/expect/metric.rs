//! Finds the metrics that a scenario names by their place in the results.

use serde_json::Value;

use super::{place, shown::shown};
use green_agent_scenario::expectation::ValuePath;

/// Returns a value as the number of a metric: true and false are 1 and 0.
pub fn number(value: &Value) -> Option<f64> {
    let truth = value.as_bool().map(|truth| f64::from(u8::from(truth)));
    truth.or_else(|| value.as_f64())
}

/// Returns the number at a place in the list of results, the mean if there are several.
///
/// # Errors
/// A description of what is there instead.
pub fn measured(path: &ValuePath, results: &[Value]) -> Result<f64, String> {
    let results = Value::from(results);
    let nodes = place::select(&results, Some(path));
    let (mut sum, mut count) = (0.0, 0.0);
    for node in nodes {
        sum += number(node.value).ok_or_else(|| {
            format!("expected a number at {}, found {}", node.place, shown(node.value))
        })?;
        count += 1.0;
    }
    match count > 0.0 {
        true => Ok(sum / count),
        false => Err(place::absence(Some(path), "the list of results", &results)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json_path::JsonPath;

    use super::*;

    #[test]
    fn a_metric_is_the_number_or_the_mean_of_the_numbers_at_its_place() {
        let results = [
            json!({"summary": {"mean": 0.5, "by": "a"}, "tasks": [{"done": true}, {"done": false}]}),
        ];
        for (path, expected) in [
            ("/0/summary/mean", Ok(0.5)),
            ("$[0].tasks[*].done", Ok(0.5)),
            ("/0/tasks/0/done", Ok(1.0)),
            ("/0/summary/max", Err("nothing at /0/summary/max; /0/summary has: by, mean")),
            (
                "/summary/mean",
                Err(
                    "nothing at /summary/mean; the list of results is a list of 1, the first at /0",
                ),
            ),
            ("/0/summary/by", Err("expected a number at /0/summary/by, found \"a\"")),
        ] {
            let place = match JsonPath::parse(path) {
                Ok(path) => ValuePath::JsonPath(Box::new(path)),
                Err(_) => ValuePath::Pointer(path.to_owned()),
            };
            let expected = expected.map_err(str::to_owned);
            assert_eq!(measured(&place, &results), expected, "{path}");
        }
    }
}
