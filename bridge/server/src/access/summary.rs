//! Describes an agent's access rules for operators.

use std::iter;

use super::{Access, decision::Requirement, declared::Scheme};

impl Access {
    /// Returns a short description of the access rules of the agent and its skills.
    pub fn summary(&self) -> String {
        let requirements = self.demand().requirements;
        let agent = match requirements.is_empty() {
            true => "open to everybody".to_owned(),
            false => format!("callers need {}", self.as_text(requirements)),
        };
        let skills = self.skills().needs().map(|(skill, requirements)| {
            format!("; for the skill {skill} {}", self.as_text(requirements))
        });
        iter::once(agent).chain(skills).collect()
    }

    fn as_text(&self, requirements: &[Requirement]) -> String {
        let one = |one: &Requirement| match one.is_empty() {
            true => "nothing".to_owned(),
            false => one.iter().map(|pair| self.named(pair)).collect::<Vec<_>>().join(" and "),
        };
        let all: Vec<String> = requirements.iter().map(one).collect();
        all.join(", or ")
    }

    fn named(&self, (name, scopes): (&String, &Vec<String>)) -> String {
        let how = self.scheme(name).map_or(String::new(), Scheme::how);
        match scopes.is_empty() {
            true => format!("{name} ({how})"),
            false => format!("{name} ({how}; scopes {})", scopes.join(" ")),
        }
    }
}
