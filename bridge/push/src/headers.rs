//! Creates the headers that a setting adds to its deliveries.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bridge_protocol::{
    a2a::{AuthenticationInfo, TaskPushNotificationConfig},
    wire::FieldError,
};

/// The header for the setting's token (specification 0.3.0, 9.5, and the SDKs of both versions).
const TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");

/// The longest token, in bytes.
const TOKEN_LIMIT: usize = 4 * 1024;

/// The longest scheme, in bytes.
const SCHEME_LIMIT: usize = 64;

/// The longest credentials, in bytes: the size of one header that servers commonly accept.
const CREDENTIALS_LIMIT: usize = 8 * 1024;

/// Returns the headers with a setting's token and credentials; their values are marked as sensitive.
pub(super) fn of(config: &TaskPushNotificationConfig) -> Result<HeaderMap, FieldError> {
    let mut headers = HeaderMap::new();
    if let Some(token) = &config.token {
        let value = secret(token, TOKEN_LIMIT).map_err(|error| error.inside("token"))?;
        headers.insert(TOKEN, value);
    }
    if let Some(info) = &config.authentication {
        let value = authorization(info).map_err(|error| error.inside("authentication"))?;
        value.map(|value| headers.insert(AUTHORIZATION, value));
    }
    Ok(headers)
}

/// Returns `SCHEME CREDENTIALS`; `None` without credentials, so that the bridge's signature can be sent instead.
fn authorization(info: &AuthenticationInfo) -> Result<Option<HeaderValue>, FieldError> {
    let scheme = &info.scheme;
    let Some(credentials) = info.credentials.as_ref().filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    if !is_token(scheme) || scheme.len() > SCHEME_LIMIT {
        let error = FieldError::new("an HTTP scheme such as Bearer or Basic", "something else");
        return Err(error.inside("scheme"));
    }
    let credentials = match scheme.eq_ignore_ascii_case("basic") && credentials.contains(':') {
        // Encoded Basic credentials contain no colon (RFC 7617), so these are the user and the password.
        true => STANDARD.encode(credentials),
        false => credentials.clone(),
    };
    secret(&credentials, CREDENTIALS_LIMIT).map_err(|error| error.inside("credentials"))?;
    secret(&format!("{scheme} {credentials}"), usize::MAX).map(Some)
}

/// Returns whether a text is a token as in RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.chars().all(plain)
}

/// Checks the size of a text in bytes.
pub(super) fn check_size(size: usize, limit: usize) -> Result<(), FieldError> {
    match size > limit {
        true => Err(FieldError::new(format!("at most {limit} bytes"), format!("{size} bytes"))),
        false => Ok(()),
    }
}

fn secret(text: &str, limit: usize) -> Result<HeaderValue, FieldError> {
    check_size(text.len(), limit)?;
    let is_visible = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let value = HeaderValue::from_str(text).ok().filter(|_| is_visible);
    let mut value = value.ok_or_else(|| FieldError::new("visible ASCII characters", "others"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridge_protocol::wire::Wire as _;
    use serde_json::{Value, json};

    fn headers(config: Value) -> Result<Vec<(String, String)>, String> {
        let config = TaskPushNotificationConfig::read(config).unwrap();
        let headers = of(&config).map_err(|error| error.to_string())?;
        assert!(headers.values().all(HeaderValue::is_sensitive));
        let pair = |(name, value): (&HeaderName, &HeaderValue)| {
            (name.to_string(), value.to_str().unwrap().to_owned())
        };
        Ok(headers.iter().map(pair).collect())
    }

    #[test]
    fn credentials_are_sent_in_the_headers_that_receivers_read() {
        let auth = |scheme: &str, credentials: &str| json!({"url": "u", "authentication": {"scheme": scheme, "credentials": credentials}});
        for (config, expected) in [
            (json!({"url": "u"}), None),
            (json!({"url": "u", "token": "t-1"}), Some(("x-a2a-notification-token", "t-1"))),
            (json!({"url": "u", "authentication": {"scheme": "Bearer"}}), None),
            (auth("Bearer", ""), None),
            (auth("Bearer", "abc"), Some(("authorization", "Bearer abc"))),
            (auth("Basic", "bWU6d29yZA=="), Some(("authorization", "Basic bWU6d29yZA=="))),
            (auth("basic", "me:word"), Some(("authorization", "basic bWU6d29yZA=="))),
            (auth("Basic", "me:word"), Some(("authorization", "Basic bWU6d29yZA=="))),
            (auth("X-Own", "a=\"b\", c=d"), Some(("authorization", "X-Own a=\"b\", c=d"))),
        ] {
            let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(headers(config.clone()).unwrap(), Vec::from_iter(expected), "{config}");
        }
    }

    #[test]
    fn values_of_the_largest_size_are_accepted() {
        let (token, scheme) = ("x".repeat(TOKEN_LIMIT), "x".repeat(SCHEME_LIMIT));
        let authentication =
            json!({"scheme": scheme, "credentials": "x".repeat(CREDENTIALS_LIMIT)});
        let config = json!({"url": "u", "token": token, "authentication": authentication});
        assert_eq!(headers(config).unwrap().len(), 2);
    }

    #[test]
    fn values_that_headers_cannot_carry_are_refused() {
        let long = "x".repeat(CREDENTIALS_LIMIT + 1);
        let scheme = "x".repeat(SCHEME_LIMIT + 1);
        for (config, expected) in [
            (
                json!({"url": "u", "token": "a\r\nX: y"}),
                "token: expected visible ASCII characters, found others",
            ),
            (
                json!({"url": "u", "token": "ä"}),
                "token: expected visible ASCII characters, found others",
            ),
            (
                json!({"url": "u", "token": long}),
                "token: expected at most 4096 bytes, found 8193 bytes",
            ),
            (
                json!({"url": "u", "authentication": {"scheme": "a b", "credentials": "c"}}),
                "authentication.scheme: expected an HTTP scheme such as Bearer or Basic, found something else",
            ),
            (
                json!({"url": "u", "authentication": {"scheme": scheme, "credentials": "c"}}),
                "authentication.scheme: expected an HTTP scheme such as Bearer or Basic, found something else",
            ),
            (
                json!({"url": "u", "authentication": {"scheme": "Bearer", "credentials": "a\nb"}}),
                "authentication.credentials: expected visible ASCII characters, found others",
            ),
            (
                json!({"url": "u", "authentication": {"scheme": "Bearer", "credentials": long}}),
                "authentication.credentials: expected at most 8192 bytes, found 8193 bytes",
            ),
        ] {
            assert_eq!(headers(config).unwrap_err(), expected);
        }
    }
}
