//! Chooses credentials by the card's security schemes (specification 4.5, 7.3).

use bridge_protocol::a2a::{AgentCard, SecurityRequirement, SecurityScheme};

use super::{CredentialError, Credentials, basic};
use crate::Fault;

impl Credentials {
    /// Chooses the credentials for the agent with this card: those that are always sent, and those named for the first
    /// security requirement that can be met, of which an empty one, which makes credentials optional, counts as the last. If
    /// the card has no requirement, all named ones whose scheme it declares are chosen.
    pub(crate) fn chosen(&self, card: &AgentCard) -> Result<Self, Fault> {
        if self.named.is_empty() {
            return Ok(self.clone());
        }
        let met = |requirement: &&SecurityRequirement| {
            let mut schemes = requirement.schemes.keys();
            schemes.all(|scheme| self.named.contains_key(scheme))
        };
        let requirements = &card.security_requirements;
        let first = requirements.iter().filter(met).min_by_key(|one| one.schemes.is_empty());
        let names: Vec<&String> = match first {
            Some(requirement) => requirement.schemes.keys().collect(),
            None if requirements.is_empty() => self.named.keys().collect(),
            // The credentials that are always sent may satisfy the agent.
            None if !self.shown.is_empty() => Vec::new(),
            None => return Err(self.none_fits(requirements)),
        };
        let mut chosen = self.clone();
        for name in names {
            if let (Some(scheme), Some(secret)) =
                (card.security_schemes.get(name), self.named.get(name))
            {
                chosen = chosen.by(scheme, secret).map_err(|error| unfit(name, &error))?;
            }
        }
        Ok(chosen)
    }

    fn by(self, scheme: &SecurityScheme, secret: &str) -> Result<Self, CredentialError> {
        match scheme {
            SecurityScheme::ApiKey(key) => match key.location.as_str() {
                "query" => self.query(&key.name, secret),
                "cookie" => self.cookie(&key.name, secret),
                _ => self.header(&key.name, secret),
            },
            SecurityScheme::HttpAuth(http) if http.scheme.eq_ignore_ascii_case("basic") => {
                self.header("authorization", &basic(secret))
            }
            SecurityScheme::HttpAuth(http) if !http.scheme.eq_ignore_ascii_case("bearer") => {
                self.header("authorization", &format!("{} {secret}", http.scheme))
            }
            SecurityScheme::HttpAuth(_)
            | SecurityScheme::OAuth2(_)
            | SecurityScheme::OpenIdConnect(_) => self.bearer(secret),
            // mTLS authenticates the connection, so the request carries nothing.
            SecurityScheme::MutualTls(_) => Ok(self),
        }
    }

    fn none_fits(&self, requirements: &[SecurityRequirement]) -> Fault {
        let together = |requirement: &SecurityRequirement| {
            let schemes: Vec<_> = requirement.schemes.keys().map(String::as_str).collect();
            schemes.join(" and ")
        };
        let asked: Vec<_> = requirements.iter().map(together).collect();
        let held: Vec<_> = self.named.keys().map(String::as_str).collect();
        Fault::NoCredentials { asked: asked.join(", or "), held: held.join(", ") }
    }
}

fn unfit(scheme: &str, error: &CredentialError) -> Fault {
    Fault::NoCredentials {
        asked: scheme.to_owned(),
        held: format!("one that cannot be sent ({error})"),
    }
}
