//! A card's demands with the means to check them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use axum::http::HeaderName;
use bridge_protocol::a2a::{AgentCard, SecurityScheme};
use jiff::Timestamp;

use super::{
    AccessLayer, Binding, Check,
    decision::{Decision, Requirement, Shown, decide},
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

/// A declared scheme.
#[derive(Debug)]
pub(super) struct Scheme {
    pub(super) place: Place,
    check: Check,
}

/// Why a card's demands cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The card declares what nobody could check.
    #[error(
        "the card declares the security scheme {scheme:?}, and nothing says how to check it: expected {needed}"
    )]
    Unchecked {
        /// The scheme's name in the card.
        scheme: String,
        /// What has to be added.
        needed: String,
    },
    /// A check that nothing in the card leads to.
    #[error("there is a check for the security scheme {scheme:?}, which the card does not declare")]
    Undeclared {
        /// The name.
        scheme: String,
    },
    /// The card requires a scheme that it does not have.
    #[error(
        "the card requires the security scheme {scheme:?}, which is not among its security schemes"
    )]
    Unknown {
        /// The name.
        scheme: String,
    },
    /// The scheme is of a kind that is not known here, or wrongly declared.
    #[error("the security scheme {scheme:?}: expected {expected}, found {found:?}")]
    Declared {
        /// The scheme's name in the card.
        scheme: String,
        /// What is known here.
        expected: &'static str,
        /// What the card says.
        found: String,
    },
    /// Only tokens carry scopes.
    #[error(
        "the card requires scopes of the security scheme {scheme:?}, and only signed tokens carry any: expected {scheme} = []"
    )]
    Scopes {
        /// The scheme's name in the card.
        scheme: String,
    },
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
            let place = place(name, declared)?;
            let check = checks.remove(name).unwrap_or_default();
            if let Some(needed) = needed(&place, &check, name) {
                let scheme = name.clone();
                return Err(AccessError::Unchecked { scheme, needed });
            }
            schemes.insert(name.clone(), Scheme { place, check });
        }
        if let Some((scheme, _)) = checks.pop_first() {
            return Err(AccessError::Undeclared { scheme });
        }
        let required = |one: &bridge_protocol::a2a::SecurityRequirement| {
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

impl Scheme {
    fn how(&self) -> String {
        let secrets = self.check.secrets.names().count();
        let ways = [
            self.check
                .token
                .as_ref()
                .map(|_| "a signed token".to_owned()),
            (secrets > 0).then(|| format!("one of {secrets} secrets")),
            self.check
                .certificates
                .as_ref()
                .map(|_| "a certificate".to_owned()),
        ];
        ways.into_iter().flatten().collect::<Vec<_>>().join(" or ")
    }
}

/// Where a declared scheme's credential stands.
fn place(name: &str, declared: &SecurityScheme) -> Result<Place, AccessError> {
    let wrong = |expected: &'static str, found: &str| AccessError::Declared {
        scheme: name.to_owned(),
        expected,
        found: found.to_owned(),
    };
    match declared {
        SecurityScheme::ApiKey(key) => match key.location.as_str() {
            "header" => HeaderName::from_bytes(key.name.as_bytes())
                .map(Place::Header)
                .map_err(|_| wrong("the name of a header", &key.name)),
            "query" => Ok(Place::Query(key.name.clone())),
            "cookie" => Ok(Place::Cookie(key.name.clone())),
            other => Err(wrong("the location header, query or cookie", other)),
        },
        SecurityScheme::HttpAuth(http) => match http.scheme.to_ascii_lowercase().as_str() {
            "bearer" => Ok(Place::Bearer),
            "basic" => Ok(Place::Basic),
            other => Err(wrong("the HTTP scheme Bearer or Basic", other)),
        },
        SecurityScheme::OAuth2(_) | SecurityScheme::OpenIdConnect(_) => Ok(Place::Bearer),
        SecurityScheme::MutualTls(_) => Ok(Place::Connection),
    }
}

/// What a check lacks to be one for this place.
fn needed(place: &Place, check: &Check, name: &str) -> Option<String> {
    let at = format!("[agents.access.{name}]");
    let (is_there, needed) = match place {
        Place::Bearer => (
            check.token.is_some() || !check.secrets.is_empty(),
            format!("{at} with token or secrets"),
        ),
        Place::Basic | Place::Header(_) | Place::Query(_) | Place::Cookie(_) => {
            (!check.secrets.is_empty(), format!("{at} with secrets"))
        }
        Place::Connection => (
            check.certificates.is_some(),
            format!("{at} with certificates, and client_ca in the table tls"),
        ),
    };
    (!is_there).then_some(needed)
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
