//! Chooses the agent's skill that fits a request, and its parameters.

use std::cmp::Reverse;

use serde_json::{Map, Value};

use super::{
    fit::{Fit, texts},
    name::WantedNames,
    parameters::{RequestParameters, read_parameters},
    request::Request,
    search::Agent,
};

/// A chosen call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chosen {
    /// The agent's name.
    pub(super) agent: String,
    /// The address of the agent's tasks.
    pub(super) base_url: String,
    pub(super) skill_id: String,
    /// The skill's parameters; absent if the agent gets the request as text.
    pub(super) parameters: Option<Map<String, Value>>,
}

/// The result of choosing.
#[derive(Debug, PartialEq)]
pub(super) enum Choice {
    /// This skill fits.
    Skill(Chosen),
    /// The best skill requires information that the request does not have.
    Missing(String),
    /// No skill fits.
    None,
}

/// A skill of a found agent.
struct Candidate<'a> {
    agent: &'a Value,
    skill: &'a Value,
    /// How well the skill fits the request.
    fit: Fit,
    /// The parameters in the request, or a description of the missing ones.
    parameters: Result<RequestParameters, String>,
}

impl Choice {
    /// Chooses among the skills of these agents the one that fits best. Of equally good ones, it prefers one whose
    /// parameters are all known, then the first. A skill is unsuitable
    ///
    /// - if its agent is not responsible for the body or place that the request names,
    /// - if it has another purpose, or nothing in common with the request,
    /// - if it has only a name in common, unless the request clearly contains the skill's parameters.
    pub(super) fn of(agents: &[Agent], request: &Request, words_only: bool) -> Self {
        let (needs, wanted) = (request.needs(), request.wanted());
        let known = agents.iter().filter(|agent| is_for(agent, &wanted));
        let candidates = known.flat_map(|agent| {
            let skills = agent.says["available_skills"].as_array().into_iter();
            skills.flatten().map(|skill| (&agent.says, skill))
        });
        let fitting = candidates.filter_map(|(agent, skill)| {
            let fit = Fit::of(skill, &needs)?;
            let parameters = read_parameters(&skill["parameters_schema"], request);
            Some(Candidate { agent, skill, fit, parameters })
        });
        let is_told =
            |one: &Candidate<'_>| one.parameters.as_ref().is_ok_and(|known| known.is_certain);
        let fitting = fitting.filter(|one| !one.fit.is_by_name() || is_told(one));
        let best = fitting.min_by_key(|one| (Reverse(one.fit), one.parameters.is_err()));
        match best {
            None => Self::None,
            Some(best) if words_only => Self::Skill(best.chosen(None)),
            Some(best) => match best.parameters.clone() {
                Ok(known) => Self::Skill(best.chosen(Some(known.values))),
                Err(missing) => Self::Missing(missing),
            },
        }
    }
}

/// Returns whether an agent, its site or its skills say that the agent is responsible for the wanted body or
/// place.
pub(super) fn is_for(agent: &Agent, wanted: &WantedNames) -> bool {
    let text = |key: &str| agent.says[key].as_str().unwrap_or_default().to_owned();
    let mut said = vec![agent.site.clone(), text("agent_name"), text("agent_description")];
    let skills = agent.says["available_skills"].as_array().into_iter().flatten();
    said.extend(skills.flat_map(texts));
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    wanted.is_known_to(&said)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agent(skills: &Value) -> Agent {
        let says = json!({
            "status": "success", "agent_name": "Club", "tasking_base_url": "https://club.example",
            "available_skills": skills,
        });
        let site = "https://club.example . Urmston Town Juniors".to_owned();
        Agent { site, says }
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
        assert_eq!(choose(&skills, join), chosen("vacancy", &json!({"age": 10})));
        assert_eq!(choose(&skills, "When do teams play?"), chosen("schedule", &json!({})));
        let missing = Choice::Missing("age (Age of the child)".to_owned());
        assert_eq!(choose(&skills, "Can Seb join the juniors of Urmston?"), missing);
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
