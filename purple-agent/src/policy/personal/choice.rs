//! Which agent's skill fits a request, and with which parameters.

use std::cmp::Reverse;

use serde_json::{Map, Value, json};

use super::{
    fit::{Fit, words},
    request::Request,
};

/// What is to be called.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chosen {
    /// The agent's name.
    pub(super) agent: String,
    /// Where its tasks go.
    pub(super) base_url: String,
    /// The skill.
    pub(super) skill_id: String,
    /// Its parameters; absent where the agent is told the request in words.
    pub(super) parameters: Option<Map<String, Value>>,
}

/// What became of choosing.
#[derive(Debug, PartialEq)]
pub(super) enum Choice {
    /// This skill fits.
    Skill(Chosen),
    /// The best skill wants to know what the request does not say.
    Missing(String),
    /// Nothing fits.
    None,
}

/// A skill that was found.
struct Candidate<'a> {
    agent: &'a Value,
    skill: &'a Value,
    /// How well it fits the request.
    fit: Fit,
    /// Its parameters as the request tells them, or what is missing.
    parameters: Result<Map<String, Value>, String>,
}

impl Choice {
    /// Chooses among the skills of these agents, as discovery describes them: the one that fits best, of equals
    /// one of which everything is known that it wants to know, and then the first. A skill that has nothing in
    /// common with the request is not suitable.
    pub(super) fn of(agents: &[Value], request: &Request, words_only: bool) -> Self {
        let (wanted, name) = (request.words(), request.name());
        let candidates = agents.iter().flat_map(|agent| {
            let skills = agent["available_skills"].as_array().into_iter().flatten();
            skills.map(move |skill| (agent, skill))
        });
        let fitting = candidates.map(|(agent, skill)| Candidate {
            agent,
            skill,
            fit: Fit::of(skill, &wanted, &name),
            parameters: parameters(&skill["parameters_schema"], request),
        });
        let fitting = fitting.filter(|candidate| !candidate.fit.is_none());
        let best = fitting.min_by_key(|one| (Reverse(one.fit), one.parameters.is_err()));
        match best {
            None => Self::None,
            Some(best) if words_only => Self::Skill(best.chosen(None)),
            Some(best) => match best.parameters.clone() {
                Ok(parameters) => Self::Skill(best.chosen(Some(parameters))),
                Err(missing) => Self::Missing(missing),
            },
        }
    }
}

impl Candidate<'_> {
    fn chosen(&self, parameters: Option<Map<String, Value>>) -> Chosen {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Chosen {
            agent: text(&self.agent["agent_name"]),
            base_url: text(&self.agent["tasking_base_url"]),
            skill_id: text(&self.skill["id"]),
            parameters,
        }
    }
}

/// The parameters that the request tells, or what it does not tell although it is required.
fn parameters(schema: &Value, request: &Request) -> Result<Map<String, Value>, String> {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut numbers = request.numbers().into_iter();
    let mut parameters = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        match read(property, request, &mut numbers) {
            Some(value) => drop(parameters.insert(name.clone(), value)),
            None if required.contains(&name.as_str()) => return Err(asked(name, property)),
            None => {}
        }
    }
    Ok(parameters)
}

/// A parameter as the request tells it: the next number, the choice that it names, or the whole of it.
fn read(
    property: &Value,
    request: &Request,
    numbers: &mut impl Iterator<Item = i64>,
) -> Option<Value> {
    if let Some(choices) = property["enum"].as_array() {
        let wanted = request.words();
        let is_named = |choice: &&Value| {
            let choice = words(choice.as_str().unwrap_or_default());
            !choice.is_empty() && choice.is_subset(&wanted)
        };
        return choices.iter().find(is_named).cloned();
    }
    match property["type"].as_str() {
        Some("integer" | "number") => numbers.next().map(|number| json!(number)),
        Some("string") => Some(json!(request.text())),
        Some(_) | None => None,
    }
}

fn asked(name: &str, property: &Value) -> String {
    match property["description"].as_str() {
        Some(description) => format!("{name} ({description})"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(skills: &Value) -> Value {
        json!({
            "status": "success", "agent_name": "Club", "tasking_base_url": "https://club.example",
            "available_skills": skills,
        })
    }

    fn choose(skills: &Value, text: &str) -> Choice {
        Choice::of(&[agent(skills)], &Request::of(text), false)
    }

    fn chosen(skill_id: &str, parameters: &Value) -> Choice {
        Choice::Skill(Chosen {
            agent: "Club".to_owned(),
            base_url: "https://club.example".to_owned(),
            skill_id: skill_id.to_owned(),
            parameters: parameters.as_object().cloned(),
        })
    }

    #[test]
    fn the_skill_that_fits_best_is_chosen() {
        let age = json!({
            "type": "object", "required": ["age"],
            "properties": {"age": {"type": "integer", "description": "Age of the child"}},
        });
        let skills = json!([
            {"id": "schedule", "name": "MatchSchedule", "description": "When teams play.", "parameters_schema": {}},
            {"id": "vacancy", "name": "TeamVacancyCheck", "parameters_schema": age,
             "description": "Checks for spaces in Urmston Town junior teams."},
        ]);
        let join = "Can my 10-year-old son join Urmston Town Juniors FC?";
        assert_eq!(
            choose(&skills, join),
            chosen("vacancy", &json!({"age": 10}))
        );
        assert_eq!(
            choose(&skills, "When do teams play?"),
            chosen("schedule", &json!({}))
        );
        let missing = Choice::Missing("age (Age of the child)".to_owned());
        assert_eq!(
            choose(&skills, "Can Seb join the juniors of Urmston?"),
            missing
        );
        assert_eq!(choose(&skills, "Book a flight"), Choice::None);
    }

    #[test]
    fn parameters_come_from_numbers_choices_and_the_words_themselves() {
        let schema = json!({"type": "object", "required": ["team"], "properties": {
            "age": {"type": "integer"}, "team": {"enum": ["boys", "girls"]}, "note": {"type": "string"},
            "trial": {"type": "boolean"},
        }});
        let skills = json!([{"id": "join", "description": "join", "parameters_schema": schema}]);
        let text = "May she join the girls at 9?";
        let parameters = json!({"age": 9, "team": "girls", "note": text});
        assert_eq!(choose(&skills, text), chosen("join", &parameters));
    }
}
