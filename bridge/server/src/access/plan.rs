//! The requirements of a card with their checks.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    sync::Arc,
};

use bridge_protocol::a2a::{AgentCard, Binding};
use jiff::Timestamp;

use super::{
    AccessError, AccessLayer, Check,
    credential_location::Head,
    decision::{CheckResults, Requirement},
    declared::{Result, Scheme},
    skills::{Skills, read},
};

/// The access rules of an agent. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Access {
    plan: Arc<Plan>,
    pub(super) skills: Arc<Skills>,
}

#[derive(Debug, Default)]
struct Plan {
    realm: String,
    schemes: BTreeMap<String, Scheme>,
    requirements: Vec<Requirement>,
}

impl Access {
    /// Creates the rules of this card, with a check for each of its schemes by name. `realm` names the agent in
    /// challenges. The requirements of a skill apply in addition to those of the card, to every message that names the
    /// skill and every call of it at `/execute`.
    ///
    /// # Errors
    /// Returns an error if a scheme has no check, a check has no scheme, or a requirement names an unknown
    /// scheme.
    pub fn new(card: &AgentCard, realm: &str, mut checks: BTreeMap<String, Check>) -> Result<Self> {
        let mut schemes = BTreeMap::new();
        for (name, declared) in &card.security_schemes {
            let check = checks.remove(name).unwrap_or_default();
            schemes.insert(name.clone(), Scheme::new(name, declared, check)?);
        }
        if let Some((scheme, _)) = checks.pop_first() {
            return Err(AccessError::Undeclared { scheme });
        }
        let (requirements, skills) = (read(&card.security_requirements), Skills::of(card));
        check_requirements(requirements.iter().chain(skills.requirements()), &schemes)?;
        let plan = Plan {
            realm: realm.replace(['"', '\\'], "").replace(char::is_control, ""),
            schemes,
            requirements,
        };
        Ok(Self { plan: Arc::new(plan), skills: Arc::new(skills) })
    }

    /// Adds the requirements of the extended card for authenticated callers. For a skill in both cards those
    /// of the extended card apply.
    ///
    /// # Errors
    /// Returns an error if a requirement of a skill has no scheme, or if schemes and requirements of the two
    /// cards differ: callers need them before they can see the extended card.
    pub fn extended(self, card: &AgentCard, extended: &AgentCard) -> Result<Self> {
        let hidden = |what: &'static str| Err(AccessError::Hidden { what });
        if extended.security_schemes != card.security_schemes {
            return hidden("security schemes");
        }
        if extended.security_requirements != card.security_requirements {
            return hidden("security requirements");
        }
        let skills = Arc::unwrap_or_clone(self.skills).extended(extended);
        check_requirements(skills.requirements(), &self.plan.schemes)?;
        Ok(Self { skills: Arc::new(skills), ..self })
    }

    /// Returns the layer for services that answer in the form of this binding.
    pub fn layer(&self, binding: Binding) -> AccessLayer {
        AccessLayer::new(self.clone(), binding)
    }

    /// Returns whether nothing is required or accepted.
    pub(crate) fn is_open(&self) -> bool {
        self.plan.schemes.is_empty()
    }

    /// Returns the requirements of the card.
    pub(super) fn demand(&self) -> Demand<'_> {
        Demand { access: self, requirements: &self.plan.requirements, skill: None }
    }

    pub(super) fn realm(&self) -> &str {
        &self.plan.realm
    }

    pub(super) fn schemes(&self) -> impl Iterator<Item = (&String, &Scheme)> {
        self.plan.schemes.iter()
    }

    pub(super) fn scheme(&self, name: &str) -> Option<&Scheme> {
        self.plan.schemes.get(name)
    }

    /// Returns a short description of the access rules of the agent and its skills.
    pub fn summary(&self) -> String {
        let requirements = &self.plan.requirements;
        let agent = match requirements.is_empty() {
            true => "open to everybody".to_owned(),
            false => format!("callers need {}", self.as_text(requirements)),
        };
        let skills = self.skills.needs().map(|(skill, requirements)| {
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

    /// Checks the credentials of a request.
    pub(super) async fn check(&self, head: &Head<'_>, now: Timestamp) -> CheckResults {
        let mut shown = CheckResults::new();
        for (name, Scheme { place, check }) in self.schemes() {
            shown.insert(name.clone(), place.check(head, check, now).await);
        }
        shown
    }

    /// Returns the credentials of a request as text, to recognize the same credentials again.
    pub(super) fn credentials(&self, head: &Head<'_>) -> String {
        let places = self.schemes().map(|(_, scheme)| &scheme.place);
        let shown = places.filter_map(|place| place.shown(head));
        shown.collect::<Vec<_>>().join("\n")
    }
}

fn check_requirements<'a>(
    requirements: impl Iterator<Item = &'a Requirement>,
    schemes: &BTreeMap<String, Scheme>,
) -> Result<()> {
    for (name, scopes) in requirements.flatten() {
        let scheme = || name.clone();
        let Some(known) = schemes.get(name) else {
            return Err(AccessError::Unknown { scheme: scheme() });
        };
        if !scopes.is_empty() && known.check.token.is_none() {
            return Err(AccessError::Scopes { scheme: scheme() });
        }
    }
    Ok(())
}

/// Alternative requirements, one of which is enough.
pub(super) struct Demand<'a> {
    pub(super) access: &'a Access,
    pub(super) requirements: &'a [Requirement],
    /// The skill that has the requirements; `None` for the card.
    pub(super) skill: Option<&'a str>,
}

impl<'a> Demand<'a> {
    /// Returns a description of the credentials that are needed.
    pub(super) fn describe(&self) -> String {
        let one = |name: &String| self.access.scheme(name).map(|scheme| scheme.place.describe());
        let requirements = self.requirements.iter().filter(|one| !one.is_empty());
        let all = requirements.map(|requirement| {
            let schemes: Vec<String> = requirement.keys().filter_map(one).collect();
            schemes.join(" with ")
        });
        all.collect::<Vec<_>>().join(", or ")
    }

    /// Returns the schemes that are required, or all accepted ones if none is required.
    pub(super) fn schemes(&self) -> impl Iterator<Item = &'a Scheme> {
        let required: BTreeSet<&String> =
            self.requirements.iter().flat_map(BTreeMap::keys).collect();
        let all = self.access.schemes();
        all.filter(move |(name, _)| required.is_empty() || required.contains(name))
            .map(|(_, scheme)| scheme)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        access::{Certificates, Secrets, TokenCheck},
        auth::{Secret, Verifier},
    };
    use bridge_protocol::wire::Wire as _;
    use serde_json::{Value, json};

    fn card(schemes: &Value, requirements: &Value) -> AgentCard {
        let card = json!({
            "name": "a", "supportedInterfaces": [],
            "securitySchemes": schemes, "securityRequirements": requirements,
        });
        AgentCard::read(card).unwrap()
    }

    fn check(kind: &str) -> Check {
        let secrets = Secrets::default().with("me", &Secret::new("s")).unwrap();
        Check {
            token: (kind == "token").then(|| TokenCheck::new(Verifier::new([], []))),
            secrets: match kind {
                "secrets" => secrets,
                _ => Secrets::default(),
            },
            certificates: (kind == "certificates").then(Certificates::default),
        }
    }

    #[test]
    fn a_plan_needs_a_check_for_each_scheme() {
        let http = |scheme: &str| json!({"s": {"httpAuthSecurityScheme": {"scheme": scheme}}});
        let key = |at: &str, name: &str| json!({"s": {"apiKeySecurityScheme": {"location": at, "name": name}}});
        let oidc = json!({"s": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "u"}}});
        let mutual = json!({"s": {"mtlsSecurityScheme": {}}});
        let requires = |name: &str, scopes: &[&str]| json!([{"schemes": {name: {"list": scopes}}}]);
        let plain = || requires("s", &[]);
        let summary = "callers need s (";
        for (schemes, requirements, checks, expected) in [
            (json!({}), json!([]), vec![], "open to everybody"),
            (http("bearer"), plain(), vec![("s", "token")], summary),
            (http("Bearer"), plain(), vec![("s", "secrets")], summary),
            (http("Basic"), plain(), vec![("s", "secrets")], summary),
            (key("cookie", "c"), plain(), vec![("s", "secrets")], summary),
            (oidc.clone(), requires("s", &["x"]), vec![("s", "token")], summary),
            (mutual.clone(), plain(), vec![("s", "certificates")], summary),
            (http("Bearer"), plain(), vec![], "[agents.access.s] with token or secrets"),
            (http("Basic"), plain(), vec![("s", "token")], "with secrets"),
            (mutual, plain(), vec![("s", "secrets")], "client_ca"),
            (http("Digest"), plain(), vec![], "Bearer or Basic, found \"digest\""),
            (key("body", "c"), plain(), vec![], "header, query or cookie"),
            (key("header", "a b"), plain(), vec![], "the name of a header"),
            (json!({}), plain(), vec![], "requires the security scheme \"s\""),
            (json!({}), json!([]), vec![("s", "token")], "does not declare"),
            (oidc, requires("s", &["x"]), vec![("s", "secrets")], "only signed tokens"),
        ] {
            let card = card(&schemes, &requirements);
            let checks = checks.into_iter().map(|(name, kind)| (name.to_owned(), check(kind)));
            let said = match Access::new(&card, "a", checks.collect()) {
                Ok(access) => access.summary(),
                Err(error) => error.to_string(),
            };
            assert!(said.contains(expected), "{said}\n{expected}");
        }
    }

    #[test]
    fn an_extended_card_hides_nothing_that_has_to_be_shown() {
        let scheme = json!({"s": {"httpAuthSecurityScheme": {"scheme": "bearer"}}});
        let public = card(&scheme, &json!([]));
        let skill = |name: &str| {
            let needs = json!([{"schemes": {name: {"list": []}}}]);
            json!([{"id": "k", "name": "k", "description": "d", "tags": [], "securityRequirements": needs}])
        };
        let extended = |more: Value| {
            let mut extended = public.clone();
            extended.skills = Vec::read(more).unwrap();
            extended
        };
        let mut other = public.clone();
        other.security_schemes.clear();
        let mut more = public.clone();
        more.security_requirements = card(&scheme, &json!([{"schemes": {}}])).security_requirements;
        for (extended, expected) in [
            (extended(skill("s")), "open to everybody; for the skill k s (a signed token)"),
            (extended(skill("t")), "requires the security scheme \"t\""),
            (other, "differs from the card in its security schemes"),
            (more, "differs from the card in its security requirements"),
        ] {
            let checks = BTreeMap::from([("s".to_owned(), check("token"))]);
            let access = Access::new(&public, "a", checks).unwrap();
            let said = match access.extended(&public, &extended) {
                Ok(access) => access.summary(),
                Err(error) => error.to_string(),
            };
            assert!(said.contains(expected), "{said}\n{expected}");
        }
    }
}
