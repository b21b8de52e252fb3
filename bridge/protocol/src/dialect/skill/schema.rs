//! Finds the JSON Schemas of skills, under every name in use.
//!
//! The specification has no field for schemas. Cards that have them use `parameters`, `input_schema` and
//! similar members beside a skill's own fields.

use serde_json::Value;

use crate::a2a::AgentSkill;

/// The names of the schema of parameters.
const INPUT: [&str; 6] = [
    "input_schema",
    "inputSchema",
    "parameters",
    "parameters_schema",
    "parametersSchema",
    "params_schema",
];

/// The names of the schema of results.
const OUTPUT: [&str; 2] = ["output_schema", "outputSchema"];

/// Returns the schema of a skill's parameters, if its card has one.
pub fn input_of(skill: &AgentSkill) -> Option<&Value> {
    first(skill, &INPUT)
}

/// Returns the schema of a skill's result, if its card has one.
pub fn output_of(skill: &AgentSkill) -> Option<&Value> {
    first(skill, &OUTPUT)
}

/// Returns whether a skill has a schema for parameters or result.
pub fn is_typed(skill: &AgentSkill) -> bool {
    input_of(skill).is_some() || output_of(skill).is_some()
}

/// Removes the schemas, which the specification has no field for.
pub fn untyped(skill: &mut AgentSkill) {
    for name in INPUT.iter().chain(&OUTPUT) {
        skill.extra.remove(*name);
    }
}

fn first<'a>(skill: &'a AgentSkill, names: &[&str]) -> Option<&'a Value> {
    let found = names.iter().filter_map(|name| skill.extra.get(*name));
    found.into_iter().find(|schema| schema.is_object())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire as _;
    use serde_json::json;

    #[test]
    fn schemas_are_found_under_every_name() {
        for name in INPUT {
            let skill = json!({"id": "s", name: {"type": "object"}, "output_schema": {}});
            let skill = AgentSkill::read(skill).unwrap();
            assert_eq!(input_of(&skill), Some(&json!({"type": "object"})), "{name}");
            assert_eq!(output_of(&skill), Some(&json!({})));
            let mut plain = skill.clone();
            untyped(&mut plain);
            assert!(is_typed(&skill) && !is_typed(&plain) && plain.extra.is_empty());
        }
        let none = AgentSkill::read(json!({"id": "s", "parameters": ["age"]})).unwrap();
        assert_eq!(input_of(&none), None);
    }
}
