//! Checks the declared authentication (specification 4.5, 7; 0.3, 5.5.3).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Level, Linter};
use bridge_protocol::{
    a2a::{SecurityRequirement, SecurityScheme},
    dialect::{card::Generation, v0_3::security},
    wire::{FieldError, Wire as _},
};

impl Linter<'_> {
    pub(super) fn security(&mut self) {
        if self.generation == Generation::V0_1 {
            return;
        }
        let declared = self.declared();
        for (name, (path, scheme)) in &declared {
            match self.read(scheme) {
                Ok(scheme) => self.scheme(path, &scheme),
                Err(error) => {
                    let error = error.inside(path);
                    let message = format!("expected {}, found {}", error.expected, error.found);
                    let fix =
                        format!("write {name} as the specification defines it, or leave it out");
                    self.add(Level::Error, "security-scheme", error.path, message, fix);
                }
            }
        }
        let required = self.requirements(&declared);
        for (name, (path, _)) in &declared {
            if !required.contains(name) {
                let message = "is declared, but nothing requires it";
                let fix = format!("name it in {}, or leave it out", self.requirement_field());
                self.add(Level::Note, "security-unused", path.as_str(), message, fix);
            }
        }
        self.extended_card(declared.is_empty());
    }

    fn requirement_field(&self) -> &'static str {
        match self.is_1_0() {
            true => "securityRequirements",
            false => "security",
        }
    }

    /// Returns the declared schemes by name, with their paths.
    fn declared(&mut self) -> BTreeMap<String, (String, Value)> {
        let at = "securitySchemes";
        match self.card.get(at) {
            Some(Value::Object(schemes)) => {
                let named = |(name, scheme): (&String, &Value)| {
                    (name.clone(), (format!("{at}.{name}"), scheme.clone()))
                };
                schemes.iter().map(named).collect()
            }
            Some(Value::Array(schemes)) => {
                let message =
                    "is a list: clients that follow the specification cannot read the card";
                let fix = "write an object, each scheme under its name, such as \"bearer\": {\"type\": \"http\", ..}";
                let named = |(place, scheme): (usize, &Value)| {
                    let name = scheme.get("name").and_then(Value::as_str);
                    let name = name.map_or_else(|| place.to_string(), ToString::to_string);
                    (name, (format!("{at}[{place}]"), scheme.clone()))
                };
                let found = schemes.iter().enumerate().map(named).collect();
                self.add(Level::Error, "security-scheme", at, message, fix);
                found
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => {
                BTreeMap::new()
            }
        }
    }

    fn read(&self, scheme: &Value) -> Result<SecurityScheme, FieldError> {
        match self.is_1_0() {
            true => SecurityScheme::read(scheme.clone()),
            false => security::scheme_to_v1(scheme.clone()),
        }
    }

    fn scheme(&mut self, path: &str, scheme: &SecurityScheme) {
        match scheme {
            SecurityScheme::ApiKey(key) => {
                if !["header", "query", "cookie"].contains(&key.location.as_str()) {
                    let message = format!("a key cannot stand in {:?}", key.location);
                    let fix = "write header, query or cookie";
                    self.add(Level::Error, "security-scheme", path, message, fix);
                }
                if key.location == "query" {
                    let message = "keys in queries end up in the logs of servers and proxies";
                    let fix = "put the key in a header";
                    self.add(Level::Warning, "security-key-in-query", path, message, fix);
                }
            }
            SecurityScheme::OpenIdConnect(scheme) => {
                self.encrypted(path, "openIdConnectUrl", &scheme.open_id_connect_url);
            }
            SecurityScheme::OAuth2(scheme) => {
                let url = scheme.oauth2_metadata_url.clone().unwrap_or_default();
                self.encrypted(path, "oauth2MetadataUrl", &url);
                if scheme.flows.implicit.is_some() || scheme.flows.password.is_some() {
                    let message = "the flows implicit and password are deprecated";
                    let fix = "offer authorizationCode or clientCredentials";
                    self.add(Level::Warning, "security-flow", path, message, fix);
                }
            }
            SecurityScheme::HttpAuth(_) | SecurityScheme::MutualTls(_) => {}
        }
    }

    fn encrypted(&mut self, path: &str, name: &str, url: &str) {
        if !url.is_empty() {
            let one: Map<String, Value> = [(name.to_string(), url.into())].into_iter().collect();
            self.url(&one, path, name);
        }
    }

    /// Returns the names of all schemes that are required anywhere.
    fn requirements(&mut self, declared: &BTreeMap<String, (String, Value)>) -> BTreeSet<String> {
        let field = self.requirement_field();
        let skills = self.card.get("skills").and_then(Value::as_array);
        let of_skills = skills.into_iter().flatten().enumerate();
        let of_skills = of_skills.filter_map(|(index, skill)| {
            Some((format!("skills[{index}].{field}"), skill.get(field)?))
        });
        let own = self.card.get(field).map(|own| (field.to_string(), own));
        let all: Vec<(String, &Value)> = own.into_iter().chain(of_skills).collect();
        let mut required = BTreeSet::new();
        for (path, list) in all {
            for (index, one) in list.as_array().into_iter().flatten().enumerate() {
                let path = format!("{path}[{index}]");
                for name in self.names(one) {
                    if !declared.contains_key(&name) {
                        let message = format!("there is no security scheme {name:?}");
                        let fix = "add it to securitySchemes, or name a declared one";
                        self.add(Level::Error, "security-unknown", path.as_str(), message, fix);
                    }
                    required.insert(name);
                }
            }
        }
        required
    }

    /// Returns the schemes of one requirement; empty if it cannot be read.
    fn names(&self, requirement: &Value) -> Vec<String> {
        let read = match self.is_1_0() {
            true => SecurityRequirement::read(requirement.clone()),
            false => security::requirement_to_v1(requirement.clone()),
        };
        read.map_or_else(|_| Vec::new(), |read| read.schemes.into_keys().collect())
    }

    fn extended_card(&mut self, is_open: bool) {
        let new = self.card.get("capabilities").and_then(|one| one.get("extendedAgentCard"));
        let old = self.card.get("supportsAuthenticatedExtendedCard");
        let is_said = [new, old].contains(&Some(&Value::Bool(true)));
        if is_said && is_open {
            let message = "there is an extended card, but no way to authenticate for it";
            let fix = "declare the scheme in securitySchemes";
            self.add(Level::Warning, "extended-card", "securitySchemes", message, fix);
        }
    }
}
