//! The authentication of callers: names of schemes, and sometimes credentials (`AgentAuthentication`).
//!
//! Upwards the HTTP schemes become alternative schemes of 1.0, and `authentication` stays unchanged in
//! `extra`, since much of its content has no meaning in 1.0.

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::{Value, json};

use crate::{
    a2a::{AgentCard, HttpAuthSecurityScheme, SecurityRequirement, SecurityScheme, StringList},
    dialect::Losses,
};

/// The HTTP schemes that a card can name. Clients cannot use other names.
const HTTP_SCHEMES: [&str; 3] = ["basic", "bearer", "digest"];

type Security = (BTreeMap<String, SecurityScheme>, Vec<SecurityRequirement>);

/// Reads the HTTP schemes of a card's `authentication`.
pub(super) fn to_v1(authentication: Option<&Value>) -> Security {
    let names = http_names(authentication);
    let requirements = names.iter().map(|name| requirement(name)).collect();
    (names.into_iter().map(scheme).collect(), requirements)
}

/// Returns the names of HTTP schemes in `authentication`.
fn http_names(authentication: Option<&Value>) -> Vec<String> {
    let schemes = authentication.and_then(|authentication| authentication.get("schemes"));
    let names = schemes.and_then(Value::as_array).into_iter().flatten();
    let is_http = |name: &&str| HTTP_SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(name));
    let mut names: Vec<String> =
        names.filter_map(Value::as_str).filter(is_http).map(String::from).collect();
    names.dedup();
    names
}

fn scheme(name: String) -> (String, SecurityScheme) {
    let scheme = SecurityScheme::HttpAuth(HttpAuthSecurityScheme {
        scheme: name.clone(),
        ..HttpAuthSecurityScheme::default()
    });
    (name, scheme)
}

/// Returns a requirement of this scheme alone.
fn requirement(name: &str) -> SecurityRequirement {
    SecurityRequirement {
        schemes: BTreeMap::from_iter([(name.to_string(), StringList::default())]),
        ..SecurityRequirement::default()
    }
}

/// Returns the original `authentication` if it still agrees with the card, or else the names of the HTTP schemes.
pub(super) fn from_v1(card: &AgentCard, losses: &mut Losses) -> Option<Value> {
    const HTTP_ONLY: &str = "0.1 has only names of HTTP schemes";
    let says = |authentication: &Value| {
        let (schemes, requirements) = to_v1(Some(authentication));
        schemes == card.security_schemes && requirements == card.security_requirements
    };
    let own = card.extra.get("authentication").filter(|own| says(own));
    if own.is_some() {
        return own.cloned();
    }
    let schemes = required_http(card);
    let authentication = json!({"schemes": schemes});
    if !says(&authentication) {
        losses.add("securitySchemes", HTTP_ONLY);
    }
    Some(authentication).filter(|_| !schemes.is_empty())
}

/// Returns the required HTTP schemes.
fn required_http(card: &AgentCard) -> Vec<String> {
    let required = card.security_requirements.iter();
    let required = required.flat_map(|requirement| requirement.schemes.keys());
    let http = required.filter_map(|name| match card.security_schemes.get(name)? {
        SecurityScheme::HttpAuth(scheme) => Some(scheme.scheme.clone()),
        SecurityScheme::ApiKey(_)
        | SecurityScheme::OAuth2(_)
        | SecurityScheme::OpenIdConnect(_)
        | SecurityScheme::MutualTls(_) => None,
    });
    http.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::v0_1::card;

    #[test]
    fn schemes_of_http_are_understood_and_others_are_kept() {
        for (authentication, schemes) in [
            (json!({"schemes": ["Bearer", "basic"]}), ["Bearer", "basic"].as_slice()),
            (json!({"schemes": ["apiKey"], "credentials": "k"}), &[]),
            (json!({"type": "none"}), &[]),
            (json!("none"), &[]),
        ] {
            let card = json!({"name": "n", "url": "u", "authentication": authentication});
            let card = card::to_v1(card).unwrap();
            let names: Vec<&str> = card.security_schemes.keys().map(String::as_str).collect();
            assert_eq!(names, schemes);
            assert_eq!(card.security_requirements.len(), schemes.len());
            let mut losses = Losses::new();
            assert_eq!(from_v1(&card, &mut losses), Some(authentication));
            assert!(losses.is_empty());
        }
    }
}
