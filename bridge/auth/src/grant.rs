//! Requests tokens from token endpoints.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::Value;
use url::Url;

use super::{
    Issuer, Secret, Subject, TokenError,
    fetch::{Fetcher, unexpected},
};

/// The lifetime of a token without one.
const LIFETIME: Duration = Duration::from_secs(300);

/// The type of client assertions (RFC 7523, section 2.2).
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The largest assertion that is read from a file, in bytes.
const ASSERTION_LIMIT: usize = 64 * 1024;

/// A way to get a token.
#[derive(Clone, Debug)]
pub enum Grant {
    /// A client's id and secret (RFC 6749, section 4.4).
    ClientSecret {
        /// The token endpoint.
        endpoint: Url,
        /// The client's id.
        client_id: String,
        /// The client's secret.
        secret: Secret,
        /// The scope of the token, such as `APP/.default`.
        scope: String,
    },
    /// A token of another trusted issuer in place of a secret (RFC 7523, section 2.2).
    Federated {
        /// The token endpoint.
        endpoint: Url,
        /// The client's id.
        client_id: String,
        /// The other issuer's token.
        assertion: Assertion,
        /// The scope of the token, such as `APP/.default`.
        scope: String,
    },
    /// The identity of the cloud machine that the bridge runs on.
    ManagedIdentity {
        /// The token endpoint of the machine.
        endpoint: Url,
        /// The version of its interface.
        api_version: String,
        /// The header that the endpoint requires.
        header: (String, Secret),
        /// The identity to use, if the machine has several.
        client_id: Option<String>,
        /// The resource that the token is for.
        resource: String,
    },
}

/// The source of a client assertion.
#[derive(Clone, Debug)]
pub enum Assertion {
    /// A file, read for each request, because it is renewed by other programs.
    File(PathBuf),
    /// The bridge's own issuer.
    Own {
        /// The issuer.
        issuer: Arc<Issuer>,
        /// The audience and subject of its tokens.
        subject: Subject,
    },
}

/// A token with its expiry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) secret: Secret,
    pub(super) got: Timestamp,
    pub(super) expires: Timestamp,
}

impl Grant {
    /// Returns the token endpoint.
    pub fn endpoint(&self) -> &Url {
        match self {
            Self::ClientSecret { endpoint, .. }
            | Self::Federated { endpoint, .. }
            | Self::ManagedIdentity { endpoint, .. } => endpoint,
        }
    }

    /// Requests a token.
    pub(super) async fn ask(&self, fetcher: &Fetcher, now: Timestamp) -> Result<Token, TokenError> {
        let answer = self.answer(fetcher, now).await?;
        read(&answer, now)
            .map_err(|expected| TokenError::Endpoint(unexpected(self.endpoint(), expected)))
    }

    async fn answer(&self, fetcher: &Fetcher, now: Timestamp) -> Result<Value, TokenError> {
        let answer = match self {
            Self::ClientSecret { endpoint, client_id, secret, scope } => {
                let with = [("client_secret", secret.expose())];
                let form = form(client_id, scope, &with);
                fetcher.post(endpoint, &form, secret).await
            }
            Self::Federated { endpoint, client_id, assertion, scope } => {
                let assertion = assertion.token(now).await?;
                let with = [
                    ("client_assertion_type", ASSERTION_TYPE),
                    ("client_assertion", assertion.expose()),
                ];
                let form = form(client_id, scope, &with);
                fetcher.post(endpoint, &form, &assertion).await
            }
            Self::ManagedIdentity {
                endpoint,
                api_version,
                header: (name, value),
                client_id,
                resource,
            } => {
                let mut query = vec![("api-version", api_version.as_str()), ("resource", resource)];
                query.extend(client_id.iter().map(|id| ("client_id", id.as_str())));
                fetcher.ask(endpoint, &query, (name, value)).await
            }
        };
        answer.map_err(TokenError::Endpoint)
    }
}

fn form<'a>(
    client_id: &'a str,
    scope: &'a str,
    with: &[(&'static str, &'a str)],
) -> Vec<(&'static str, &'a str)> {
    let mut form =
        vec![("grant_type", "client_credentials"), ("client_id", client_id), ("scope", scope)];
    form.extend(with);
    form
}

impl Assertion {
    async fn token(&self, now: Timestamp) -> Result<Secret, TokenError> {
        match self {
            Self::File(path) => read_file(path)
                .map_err(|reason| TokenError::Assertion { path: path.clone(), reason }),
            Self::Own { issuer, subject } => {
                issuer.token(subject, now).await.map_err(TokenError::Own)
            }
        }
    }
}

/// Reads a small file, for which a blocking thread is not worth it.
fn read_file(path: &PathBuf) -> Result<Secret, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    match text.trim() {
        "" => Err("expected a token, found an empty file".to_owned()),
        long if long.len() > ASSERTION_LIMIT => {
            Err(format!("expected a token, found more than {ASSERTION_LIMIT} bytes"))
        }
        token => Ok(Secret::new(token)),
    }
}

/// Reads the token in an answer (RFC 6749, section 5.1); the error is what was expected. Some endpoints write
/// numbers as text, and some have the time of expiry in place of a duration.
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
    use crate::testing::moment;
    use serde_json::json;

    #[test]
    fn answers_of_all_kinds_are_read() {
        for (answer, expires) in [
            (json!({"access_token": "t", "token_type": "Bearer", "expires_in": 60}), 160),
            (json!({"access_token": "t", "token_type": "bearer", "expires_in": "60"}), 160),
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
