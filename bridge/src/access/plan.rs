//! A card's demands with the means to check them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bridge_protocol::a2a::{AgentCard, SecurityRequirement};
use jiff::Timestamp;

use super::{
    AccessError, AccessLayer, Binding, Check,
    decision::{Decision, Requirement, Shown, decide},
    declared::Scheme,
    shown::{Head, Place},
};

/// What an agent's callers have to show. Cloning it is cheap.
#[derive(Clone, Debug, Default)]
pub struct Access(Arc<Plan>);

#[derive(Debug, Default)]
struct Plan {
    realm: String,
    schemes: BTreeMap<String, Scheme>,
    requirements: Vec<Requirement>,
}

impl Access {
    /// What this card demands, with a check for each of its schemes by name. `realm` is what clients are told
    /// they are asked for: the agent's name.
    ///
    /// # Errors
    /// If a scheme has no check, a check no scheme, or a requirement none of them.
    pub fn new(
        card: &AgentCard,
        realm: &str,
        mut checks: BTreeMap<String, Check>,
    ) -> Result<Self, AccessError> {
        let mut schemes = BTreeMap::new();
        for (name, declared) in &card.security_schemes {
            let check = checks.remove(name).unwrap_or_default();
            schemes.insert(name.clone(), Scheme::new(name, declared, check)?);
        }
        if let Some((scheme, _)) = checks.pop_first() {
            return Err(AccessError::Undeclared { scheme });
        }
        let required = |one: &SecurityRequirement| {
            let pairs = one.schemes.iter();
            pairs
                .map(|(name, scopes)| (name.clone(), scopes.list.clone()))
                .collect()
        };
        let requirements: Vec<Requirement> =
            card.security_requirements.iter().map(required).collect();
        check_requirements(&requirements, &schemes)?;
        Ok(Self(Arc::new(Plan {
            realm: realm.replace(['"', '\\'], "").replace(char::is_control, ""),
            schemes,
            requirements,
        })))
    }

    /// Stands before the services that answer in this form.
    pub fn layer(&self, binding: Binding) -> AccessLayer {
        AccessLayer::new(self.clone(), binding)
    }

    /// What protects the agent, in a few words.
    pub fn summary(&self) -> String {
        let shown = |one: &Requirement| match one.is_empty() {
            true => "nothing".to_owned(),
            false => one
                .iter()
                .map(|pair| self.named(pair))
                .collect::<Vec<_>>()
                .join(" and "),
        };
        let demands: Vec<String> = self.0.requirements.iter().map(shown).collect();
        match demands.is_empty() {
            true => "open to everybody".to_owned(),
            false => format!("callers show {}", demands.join(", or ")),
        }
    }

    fn named(&self, (name, scopes): (&String, &Vec<String>)) -> String {
        let how = self.0.schemes.get(name).map_or(String::new(), Scheme::how);
        match scopes.is_empty() {
            true => format!("{name} ({how})"),
            false => format!("{name} ({how}; scopes {})", scopes.join(" ")),
        }
    }

    /// Whether nothing is demanded and nothing could be shown.
    pub(super) fn is_open(&self) -> bool {
        self.0.schemes.is_empty()
    }

    /// What is demanded, each scheme in these words.
    pub(super) fn demands(&self, told: fn(&Place) -> String) -> String {
        let one = |name: &String| self.scheme(name).map(|scheme| told(&scheme.place));
        let requirements = self.0.requirements.iter().filter(|one| !one.is_empty());
        let all = requirements.map(|requirement| {
            requirement
                .keys()
                .filter_map(one)
                .collect::<Vec<_>>()
                .join(" with ")
        });
        all.collect::<Vec<_>>().join(", or ")
    }

    pub(super) fn realm(&self) -> &str {
        &self.0.realm
    }

    /// The schemes that could be shown, those that are required if any is.
    pub(super) fn wanted(&self) -> impl Iterator<Item = &Scheme> {
        let required: BTreeSet<&String> = self
            .0
            .requirements
            .iter()
            .flat_map(BTreeMap::keys)
            .collect();
        self.0
            .schemes
            .iter()
            .filter(move |(name, _)| required.is_empty() || required.contains(name))
            .map(|(_, scheme)| scheme)
    }

    pub(super) fn scheme(&self, name: &str) -> Option<&Scheme> {
        self.0.schemes.get(name)
    }

    /// What becomes of a request.
    pub(super) async fn decide(&self, head: &Head<'_>, now: Timestamp) -> Decision {
        let mut shown: BTreeMap<String, Shown> = BTreeMap::new();
        for (name, Scheme { place, check }) in &self.0.schemes {
            shown.insert(name.clone(), place.look(head, check, now).await);
        }
        decide(&self.0.requirements, &shown)
    }
}

fn check_requirements(
    requirements: &[Requirement],
    schemes: &BTreeMap<String, Scheme>,
) -> Result<(), AccessError> {
    for (name, scopes) in requirements.iter().flatten() {
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
        let summary = "callers show s (";
        for (schemes, requirements, checks, expected) in [
            (json!({}), json!([]), vec![], "open to everybody"),
            (http("bearer"), plain(), vec![("s", "token")], summary),
            (http("Bearer"), plain(), vec![("s", "secrets")], summary),
            (http("Basic"), plain(), vec![("s", "secrets")], summary),
            (key("cookie", "c"), plain(), vec![("s", "secrets")], summary),
            (
                oidc.clone(),
                requires("s", &["x"]),
                vec![("s", "token")],
                summary,
            ),
            (
                mutual.clone(),
                plain(),
                vec![("s", "certificates")],
                summary,
            ),
            (
                http("Bearer"),
                plain(),
                vec![],
                "[agents.access.s] with token or secrets",
            ),
            (http("Basic"), plain(), vec![("s", "token")], "with secrets"),
            (mutual, plain(), vec![("s", "secrets")], "client_ca"),
            (
                http("Digest"),
                plain(),
                vec![],
                "Bearer or Basic, found \"digest\"",
            ),
            (key("body", "c"), plain(), vec![], "header, query or cookie"),
            (
                key("header", "a b"),
                plain(),
                vec![],
                "the name of a header",
            ),
            (
                json!({}),
                plain(),
                vec![],
                "requires the security scheme \"s\"",
            ),
            (
                json!({}),
                json!([]),
                vec![("s", "token")],
                "does not declare",
            ),
            (
                oidc,
                requires("s", &["x"]),
                vec![("s", "secrets")],
                "only signed tokens",
            ),
        ] {
            let card = card(&schemes, &requirements);
            let checks = checks
                .into_iter()
                .map(|(name, kind)| (name.to_owned(), check(kind)));
            let said = match Access::new(&card, "a", checks.collect()) {
                Ok(access) => access.summary(),
                Err(error) => error.to_string(),
            };
            assert!(said.contains(expected), "{said}\n{expected}");
        }
    }
}
