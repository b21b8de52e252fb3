//! The skill that a served pipeline offers, and the requirements in a message to it.

use bridge_protocol::a2a::{AgentCard, AgentSkill, Content, Message, Metadata};
use serde_json::{Value, json};

use crate::{
    evaluator::assess_error::AssessError,
    scenario::pipeline::{Pipeline, REQUIREMENTS, Step},
};

/// The id of the pipeline's only skill.
const SKILL: &str = "run_pipeline";

/// Returns the requirements in a message: from a data part, the parameter of a skill call, a member named
/// `requirements`, or the whole data; without one, the text.
pub(super) fn requirements(message: &Message) -> Result<Value, AssessError> {
    let data = message.parts.iter().find_map(|part| match &part.content {
        Content::Data(data) => Some(data),
        Content::Text(_) | Content::Raw(_) | Content::Url(_) | Content::Unknown => None,
    });
    if let Some(data) = data {
        let parameters = data.get("parameters").unwrap_or(data);
        return Ok(parameters.get(REQUIREMENTS).unwrap_or(parameters).clone());
    }
    let text = message.text();
    match text.trim().is_empty() {
        false => Ok(Value::String(text)),
        true => Err(AssessError::Rejected(format!(
            "expected a text, or a data part with {{{REQUIREMENTS:?}: ..}}"
        ))),
    }
}

/// Returns the card of a pipeline that is served as an agent.
pub(super) fn card(pipeline: &Pipeline, card: AgentCard) -> AgentCard {
    let steps = pipeline.steps.iter().map(|step| step.skill.as_str());
    let steps = steps.collect::<Vec<_>>().join(", ");
    AgentCard {
        description: format!("Has agents that it finds by skill do: {steps}"),
        skills: vec![skill(pipeline, &steps)],
        ..card
    }
}

/// Returns the skill with its input and output schemas, in the members that agents with plain skills use.
fn skill(pipeline: &Pipeline, steps: &str) -> AgentSkill {
    let results: Vec<&str> = match pipeline.result.is_empty() {
        true => pipeline.steps.iter().map(|Step { id, .. }| id.as_str()).collect(),
        false => pipeline.result.keys().map(String::as_str).collect(),
    };
    let input = json!({
        "type": "object",
        "properties": {REQUIREMENTS: {"description": "What is asked for"}},
        "required": [REQUIREMENTS],
    });
    let output = json!({"type": "object", "required": results});
    let description =
        format!("Takes requirements and gives {}, by way of {steps}", results.join(", "));
    AgentSkill {
        tags: vec!["orchestration".to_owned()],
        examples: vec!["Create a function that calculates Fibonacci numbers".to_owned()],
        extra: Metadata::from_iter([
            ("input_schema".to_owned(), input),
            ("output_schema".to_owned(), output),
        ]),
        ..AgentSkill::new(SKILL, "Run the pipeline", &description)
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Part, Role};

    use super::*;

    #[test]
    fn requirements_are_read_from_data_and_from_words() {
        for (parts, expected) in [
            (vec![Part::text("fib")], json!("fib")),
            (vec![Part::text("words"), Part::data(json!({"requirements": "fib"}))], json!("fib")),
            (
                vec![Part::data(
                    json!({"skill_id": SKILL, "parameters": {"requirements": ["fib"]}}),
                )],
                json!(["fib"]),
            ),
            (vec![Part::data(json!({"goal": "fib"}))], json!({"goal": "fib"})),
        ] {
            let message = Message::new("m", Role::User, parts);
            assert_eq!(requirements(&message).unwrap(), expected);
        }
        let empty = Message::new("m", Role::User, vec![Part::text(" ")]);
        let error = requirements(&empty).unwrap_err().to_string();
        assert_eq!(error, "expected a text, or a data part with {\"requirements\": ..}");
    }
}
