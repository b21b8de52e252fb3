//! The skills of an agent, as functions that a model or a pipeline can call.

use bridge_protocol::{
    a2a::AgentSkill,
    dialect::skill::schema::{input_of, output_of},
    wire::to_value,
};
#[cfg(feature = "skills")]
use bridge_verify::schema::{SchemaError, check};
use serde::Serialize;
#[cfg(feature = "skills")]
use serde_json::Map;
use serde_json::Value;

/// A capability of an agent that can be called.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Skill {
    /// The id, unique within the card.
    pub id: String,
    /// The name for people; the id if the card has none.
    pub name: String,
    /// A description of what the skill does.
    pub description: String,
    /// Keywords.
    pub tags: Vec<String>,
    /// The JSON Schema of its parameters, if the card has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters_schema: Option<Value>,
    /// The JSON Schema of its result, if the card has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Example prompts.
    pub examples: Vec<String>,
}

#[cfg(feature = "skills")]
impl Skill {
    /// Checks parameters against the schema before they are sent. Without a schema every value is valid.
    ///
    /// # Errors
    /// [`SchemaError`], which names the fields.
    pub fn check_parameters(&self, parameters: &Map<String, Value>) -> Result<(), SchemaError> {
        check(self.parameters_schema.as_ref(), &Value::Object(parameters.clone()))
    }

    /// Checks the result that the agent returned.
    ///
    /// # Errors
    /// [`SchemaError`], which names the fields.
    pub fn check_output(&self, result: &Value) -> Result<(), SchemaError> {
        check(self.output_schema.as_ref(), result)
    }
}

impl Skill {
    /// Returns the skill as JSON, with the fields' names as here. Absent schemas are left out.
    pub fn to_json(&self) -> Value {
        to_value(self)
    }
}

impl From<&AgentSkill> for Skill {
    fn from(skill: &AgentSkill) -> Self {
        let name = match skill.name.as_str() {
            "" => &skill.id,
            name => name,
        };
        Self {
            id: skill.id.clone(),
            name: name.to_owned(),
            description: skill.description.clone(),
            tags: skill.tags.clone(),
            parameters_schema: input_of(skill).cloned(),
            output_schema: output_of(skill).cloned(),
            examples: skill.examples.clone(),
        }
    }
}
