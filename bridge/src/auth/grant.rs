//! How token endpoints are asked for tokens, and what they answer.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::Value;
use url::Url;

use super::{
    FetchError, Issuer, Secret, Subject,
    fetch::{Fetcher, unexpected},
    tokens::TokenError,
};

/// How long a token is taken to be valid whose endpoint does not say so.
const LIFETIME: Duration = Duration::from_secs(300);

/// What a client assertion is (RFC 7523, section 2.2).
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The largest assertion that is read from a file, in bytes.
const ASSERTION_LIMIT: usize = 64 * 1024;

/// How a token is asked for, and where.
#[derive(Clone, Debug)]
pub enum Grant {
    /// With a client's id and secret (RFC 6749, section 4.4).
    ClientSecret {
        /// The token endpoint.
        endpoint: Url,
        /// The client's id.
        client_id: String,
        /// The client's secret.
        secret: Secret,
        /// What the token is for, such as `APP/.default`.
        scope: String,
    },
    /// With a token of somebody whom the endpoint trusts, in place of a secret (RFC 7523, section 2.2).
    Federated {
        /// The token endpoint.
        endpoint: Url,
        /// The client's id.
        client_id: String,
        /// That token.
        assertion: Assertion,
        /// What the token is for, such as `APP/.default`.
        scope: String,
    },
    /// From the cloud's machine that the bridge runs on.
    ManagedIdentity {
        /// Where that machine gives out tokens.
        endpoint: Url,
        /// The version of its interface, as it wants to be told.
        api_version: String,
        /// The header that it wants to see.
        header: (String, Secret),
        /// Which identity, if the machine has several.
        client_id: Option<String>,
        /// What the token is for.
        resource: String,
    },
}

/// Where a client assertion comes from.
#[derive(Clone, Debug)]
pub enum Assertion {
    /// A file, read each time: others renew it.
    File(PathBuf),
    /// The bridge's own issuer.
    Own {
        /// The issuer.
        issuer: Arc<Issuer>,
        /// What it says: for whom, and of whom.
        subject: Subject,
    },
}

/// A token and until when it is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) secret: Secret,
    pub(super) got: Timestamp,
    pub(super) expires: Timestamp,
}

impl Grant {
    /// Where tokens are asked for.
    pub fn endpoint(&self) -> &Url {
        match self {
            Self::ClientSecret { endpoint, .. }
            | Self::Federated { endpoint, .. }
            | Self::ManagedIdentity { endpoint, .. } => endpoint,
        }
    }

    /// Asks for a token.
    pub(super) async fn ask(&self, fetcher: &Fetcher, now: Timestamp) -> Result<Token, TokenError> {
        let answer = self.answer(fetcher, now).await?;
        Ok(read(&answer, now).map_err(|expected| unexpected(self.endpoint(), expected))?)
    }

    async fn answer(&self, fetcher: &Fetcher, now: Timestamp) -> Result<Value, TokenError> {
        match self {
            Self::ClientSecret {
                endpoint,
                client_id,
                secret,
                scope,
            } => {
                let with = [("client_secret", secret.expose())];
                let form = form(client_id, scope, &with);
                masked(fetcher.post(endpoint, &form).await, secret)
            }
            Self::Federated {
                endpoint,
                client_id,
                assertion,
                scope,
            } => {
                let assertion = assertion.token(now).await?;
                let with = [
                    ("client_assertion_type", ASSERTION_TYPE),
                    ("client_assertion", assertion.expose()),
                ];
                let form = form(client_id, scope, &with);
                masked(fetcher.post(endpoint, &form).await, &assertion)
            }
            Self::ManagedIdentity {
                endpoint,
                api_version,
                header: (name, value),
                client_id,
                resource,
            } => {
                let mut query = vec![
                    ("api-version", api_version.as_str()),
                    ("resource", resource),
                ];
                query.extend(client_id.iter().map(|id| ("client_id", id.as_str())));
                let header = (name.as_str(), value.expose());
                masked(fetcher.ask(endpoint, &query, header).await, value)
            }
        }
    }
}

fn form<'a>(
    client_id: &'a str,
    scope: &'a str,
    with: &[(&'static str, &'a str)],
) -> Vec<(&'static str, &'a str)> {
    let mut form = vec![
        ("grant_type", "client_credentials"),
        ("client_id", client_id),
        ("scope", scope),
    ];
    form.extend(with);
    form
}

/// What an endpoint said, without the secret that it may have repeated.
fn masked(answer: Result<Value, FetchError>, secret: &Secret) -> Result<Value, TokenError> {
    let mask = |error| match error {
        FetchError::Refused {
            endpoint,
            status,
            said,
        } => FetchError::Refused {
            endpoint,
            status,
            said: secret.mask_in(&said),
        },
        other @ (FetchError::Plain { .. }
        | FetchError::Unreachable { .. }
        | FetchError::Timeout { .. }
        | FetchError::Unexpected { .. }) => other,
    };
    Ok(answer.map_err(mask)?)
}

impl Assertion {
    async fn token(&self, now: Timestamp) -> Result<Secret, TokenError> {
        match self {
            Self::File(path) => read_file(path).map_err(|reason| TokenError::Assertion {
                path: path.clone(),
                reason,
            }),
            Self::Own { issuer, subject } => Ok(issuer.token(subject, now).await?),
        }
    }
}

/// A file of a few kilobytes, which is not worth a thread of its own.
fn read_file(path: &PathBuf) -> Result<Secret, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    match text.trim() {
        "" => Err("expected a token, found an empty file".to_owned()),
        long if long.len() > ASSERTION_LIMIT => Err(format!(
            "expected a token, found more than {ASSERTION_LIMIT} bytes"
        )),
        token => Ok(Secret::new(token)),
    }
}

/// The token in an answer (RFC 6749, section 5.1); else what was expected. Some endpoints write numbers
/// as texts, and some say when it expires in place of how soon.
fn read(answer: &Value, now: Timestamp) -> Result<Token, &'static str> {
    let text = |name: &str| answer.get(name).and_then(Value::as_str);
    let token = text("access_token").filter(|token| !token.is_empty());
    let token = token.ok_or("an object with an access_token")?;
    if text("token_type").is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err("a token of the type Bearer");
    }
    let lifetime = match (number(answer, "expires_in"), number(answer, "expires_on")) {
        (Some(seconds), _) => seconds,
        (None, Some(at)) => at.saturating_sub(now.as_second()),
        (None, None) => LIFETIME.as_secs().cast_signed(),
    };
    let lifetime = Duration::from_secs(u64::try_from(lifetime).unwrap_or_default());
    Ok(Token {
        secret: Secret::new(token),
        got: now,
        expires: now.saturating_add(lifetime).unwrap_or(Timestamp::MAX),
    })
}

fn number(answer: &Value, name: &str) -> Option<i64> {
    match answer.get(name)? {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::testing::moment;
    use serde_json::json;

    #[test]
    fn answers_of_all_kinds_are_read() {
        for (answer, expires) in [
            (
                json!({"access_token": "t", "token_type": "Bearer", "expires_in": 60}),
                160,
            ),
            (
                json!({"access_token": "t", "token_type": "bearer", "expires_in": "60"}),
                160,
            ),
            (json!({"access_token": "t", "expires_on": "130"}), 130),
            (json!({"access_token": "t", "expires_on": 7}), 100),
            (json!({"access_token": "t"}), 400),
        ] {
            let token = read(&answer, moment(100)).unwrap();
            assert_eq!(token.expires, moment(expires), "{answer}");
            assert_eq!(token.secret.expose(), "t");
        }
        for answer in [
            json!({}),
            json!({"access_token": ""}),
            json!({"access_token": 7}),
            json!({"access_token": "t", "token_type": "pop"}),
            json!([]),
        ] {
            assert!(read(&answer, moment(100)).is_err(), "{answer}");
        }
    }
}
