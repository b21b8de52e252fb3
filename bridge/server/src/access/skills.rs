//! The requirements of skills beyond those of the card (specification 4.4.5, 4.5).

use std::collections::BTreeMap;

use bridge_protocol::a2a::{AgentCard, SecurityRequirement};

use super::decision::Requirement;

/// The alternative requirements of each skill, by id.
type Needs = BTreeMap<String, Vec<Requirement>>;

/// The requirements of skills in the public and the extended card.
#[derive(Clone, Debug, Default)]
pub(super) struct Skills {
    public: Needs,
    extended: Needs,
}

impl Skills {
    /// Returns the requirements of the skills in this card.
    pub(super) fn of(card: &AgentCard) -> Self {
        Self { public: needs(card), extended: Needs::new() }
    }

    /// Adds the requirements of the extended card.
    pub(super) fn extended(self, card: &AgentCard) -> Self {
        Self { extended: needs(card), ..self }
    }

    /// Returns the requirements of a skill in the card that the caller sees, or else in the other one. Unknown skills
    /// have none.
    pub(super) fn needed(&self, skill: &str, is_known: bool) -> &[Requirement] {
        let (own, other) = match is_known {
            true => (&self.extended, &self.public),
            false => (&self.public, &self.extended),
        };
        let needs = own.get(skill).or_else(|| other.get(skill));
        needs.map_or(&[], Vec::as_slice)
    }

    /// Returns the skills with requirements; those of the extended card take precedence.
    pub(super) fn needs(&self) -> impl Iterator<Item = (&str, &[Requirement])> {
        let only_public = self.public.iter();
        let only_public = only_public.filter(|(skill, _)| !self.extended.contains_key(*skill));
        let all = only_public.chain(&self.extended);
        let all = all.map(|(skill, needs)| (skill.as_str(), needs.as_slice()));
        all.filter(|(_, needs)| !needs.is_empty())
    }

    /// Returns all requirements of all skills in both cards.
    pub(super) fn requirements(&self) -> impl Iterator<Item = &Requirement> {
        let all = self.public.values().chain(self.extended.values());
        all.flatten()
    }
}

fn needs(card: &AgentCard) -> Needs {
    let skills = card.skills.iter();
    skills.map(|skill| (skill.id.clone(), read(&skill.security_requirements))).collect()
}

/// Converts the requirements of a card.
pub(super) fn read(requirements: &[SecurityRequirement]) -> Vec<Requirement> {
    let one = |requirement: &SecurityRequirement| {
        let pairs = requirement.schemes.iter();
        pairs.map(|(name, scopes)| (name.clone(), scopes.list.clone())).collect()
    };
    requirements.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridge_protocol::wire::Wire as _;
    use serde_json::json;

    fn card(skills: &[(&str, &str)]) -> AgentCard {
        let skill = |(id, scope): &(&str, &str)| {
            json!({"id": id, "name": id, "description": "d", "tags": [],
                "securityRequirements": [{"schemes": {"s": {"list": [scope]}}}]})
        };
        AgentCard::read(json!({
            "name": "a", "supportedInterfaces": [],
            "skills": skills.iter().map(skill).collect::<Vec<_>>(),
        }))
        .unwrap()
    }

    #[test]
    fn a_skill_needs_what_the_card_says_that_is_shown() {
        let public = card(&[("refund", "ask"), ("talk", "talk")]);
        let skills = Skills::of(&public).extended(&card(&[("refund", "pay"), ("more", "more")]));
        for (skill, is_known, scope) in [
            ("refund", false, Some("ask")),
            ("refund", true, Some("pay")),
            ("talk", true, Some("talk")),
            ("more", false, Some("more")),
            ("fly", true, None),
        ] {
            let needed = skills.needed(skill, is_known).first();
            let needed = needed.map(|requirement| requirement["s"][0].as_str());
            assert_eq!(needed, scope, "{skill} {is_known}");
        }
        let needs = skills.needs().map(|(skill, needs)| (skill, &*needs[0]["s"][0]));
        let expected = [("talk", "talk"), ("more", "more"), ("refund", "pay")];
        assert!(needs.eq(expected));
    }
}
