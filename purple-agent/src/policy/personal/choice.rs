//! Which agent's skill fits a request, and with which parameters.

use std::cmp::Reverse;

use serde_json::{Map, Value};

use super::{
    fit::{Fit, texts},
    name::Wanted,
    parameters::{ToldParameters, told},
    request::Request,
    search::Agent,
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
    parameters: Result<ToldParameters, String>,
}

impl Choice {
    /// Chooses among the skills of these agents: the one that fits best, of equals one of which everything is known
    /// that it wants to know, and then the first. A skill is not suitable
    ///
    /// - if its agent does not say that it is there for whom the request is about,
    /// - if it is for something else, or has nothing in common with the request,
    /// - if only a name is in common, unless the request clearly tells what the skill wants to know.
    pub(super) fn of(agents: &[Agent], request: &Request, words_only: bool) -> Self {
        let (needs, wanted) = (request.needs(), request.wanted());
        let known = agents.iter().filter(|agent| is_for(agent, &wanted));
        let candidates = known.flat_map(|agent| {
            let skills = agent.says["available_skills"].as_array().into_iter();
            skills.flatten().map(|skill| (&agent.says, skill))
        });
        let fitting = candidates.filter_map(|(agent, skill)| {
            let fit = Fit::of(skill, &needs)?;
            let parameters = told(&skill["parameters_schema"], request);
            Some(Candidate {
                agent,
                skill,
                fit,
                parameters,
            })
        });
        let fitting = fitting.filter(Candidate::is_suitable);
        let best = fitting.min_by_key(|one| (Reverse(one.fit), one.parameters.is_err()));
        match best {
            None => Self::None,
            Some(best) if words_only => Self::Skill(best.chosen(None)),
            Some(best) => match best.parameters.clone() {
                Ok(told) => Self::Skill(best.chosen(Some(told.values))),
                Err(missing) => Self::Missing(missing),
            },
        }
    }
}

/// Whether an agent, its site or its skills say that it is there for whom is wanted.
pub(super) fn is_for(agent: &Agent, wanted: &Wanted) -> bool {
    let text = |key: &str| agent.says[key].as_str().unwrap_or_default().to_owned();
    let mut said = vec![
        agent.site.clone(),
        text("agent_name"),
        text("agent_description"),
    ];
    let skills = agent.says["available_skills"]
        .as_array()
        .into_iter()
        .flatten();
    said.extend(skills.flat_map(texts));
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    wanted.is_known_to(&said)
}

impl Candidate<'_> {
    fn is_suitable(&self) -> bool {
        let is_told = self.parameters.as_ref().is_ok_and(|told| told.is_certain);
        !self.fit.is_by_name() || is_told
    }

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
