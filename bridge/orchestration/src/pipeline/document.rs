//! The values that are known while a pipeline runs: the requirements and the outputs of steps.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::error::AttemptError;
use super::model::{Input, REQUIREMENTS, Reference, Step};

/// The object `{"requirements": .., STEP: OUTPUT, ..}`, in which references are resolved.
#[derive(Clone, Debug)]
pub(super) struct Document(Map<String, Value>);

impl Document {
    /// Returns the document as it is before the first step.
    pub(super) fn new(requirements: Value) -> Self {
        Self(Map::from_iter([(REQUIREMENTS.to_owned(), requirements)]))
    }

    pub(super) fn add(&mut self, step: &str, output: Value) {
        self.0.insert(step.to_owned(), output);
    }

    /// Returns the parameters of a step whose dependencies are done.
    ///
    /// # Errors
    /// If a reference cannot be resolved, because an agent returned less than expected.
    pub(super) fn input(&self, step: &Step) -> Result<Map<String, Value>, AttemptError> {
        let value = |(name, input): (&String, &Input)| {
            let value = match input {
                Input::Value(value) => Ok(value.clone()),
                Input::From(reference) => {
                    let missing = || self.missing(name, reference);
                    reference.find(&self.0).ok_or_else(missing)
                }
            };
            Ok((name.clone(), value?))
        };
        step.input.iter().map(value).collect()
    }

    /// Returns the pipeline's result: the references of `result` that can be resolved so far, or all outputs
    /// if there are none.
    pub(super) fn result(&self, result: &BTreeMap<String, Reference>) -> Map<String, Value> {
        if result.is_empty() {
            let outputs = self.0.iter().filter(|(name, _)| *name != REQUIREMENTS);
            return outputs.map(|(name, v)| (name.clone(), v.clone())).collect();
        }
        let found = |(name, reference): (&String, &Reference)| {
            Some((name.clone(), reference.find(&self.0)?))
        };
        result.iter().filter_map(found).collect()
    }

    fn missing(&self, parameter: &str, reference: &Reference) -> AttemptError {
        let has = match self.0.get(&reference.source) {
            Some(Value::Object(members)) if !members.is_empty() => {
                let names: Vec<&str> = members.keys().map(String::as_str).collect();
                format!("has {}", names.join(", "))
            }
            Some(Value::Object(_)) => "is empty".to_owned(),
            Some(Value::String(_)) => "is a text".to_owned(),
            Some(Value::Array(items)) => format!("is a list of {}", items.len()),
            Some(other) => format!("is {other}"),
            None => "is not there".to_owned(),
        };
        AttemptError::UnresolvedReference {
            parameter: parameter.to_owned(),
            reference: reference.to_string(),
            source_is: format!("{} {has}", reference.source),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pipeline::fixture::pipeline;

    const STEPS: &str = "[[config.step]]\nid = 'plan'\nskill = 'x'\n\
        [[config.step]]\nid = 'code'\nskill = 'x'\n\
        input = { plan = '/plan/plan', all = '$.plan.steps[*]', for = '/requirements', n = { value = 1 } }\n";

    #[test]
    fn parameters_come_from_what_was_asked_for_and_given() {
        let pipeline = pipeline(STEPS);
        let mut document = Document::new(json!("fib"));
        document.add("plan", json!({"plan": "p", "steps": ["a", "b"]}));
        let input = document.input(&pipeline.steps[1]).unwrap();
        let expected = json!({"all": ["a", "b"], "for": "fib", "n": 1, "plan": "p"});
        assert_eq!(Value::Object(input), expected);
        assert_eq!(
            Value::Object(document.result(&pipeline.result)),
            json!({"plan": {"plan": "p", "steps": ["a", "b"]}})
        );
    }

    #[test]
    fn a_reference_that_leads_nowhere_says_what_is_there() {
        let pipeline = pipeline(STEPS);
        for (output, expected) in [
            (json!({"steps": ["a"]}), "plan has steps"),
            (json!("p"), "plan is a text"),
            (json!({}), "plan is empty"),
            (json!(null), "plan is null"),
        ] {
            let mut document = Document::new(json!("fib"));
            document.add("plan", output);
            let error = document.input(&pipeline.steps[1]).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_result_is_what_the_file_makes_of_it() {
        let pipeline = pipeline(&format!(
            "{STEPS}[config.result]\nplan = '/plan/plan'\ncode = '/code/code'\n"
        ));
        let mut document = Document::new(json!("fib"));
        document.add("plan", json!({"plan": "p"}));
        let result = document.result(&pipeline.result);
        assert_eq!(Value::Object(result), json!({"plan": "p"}));
    }
}
