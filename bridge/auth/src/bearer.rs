//! Reads the bearer token of a request (RFC 6750, section 2.1).

use axum::http::{HeaderMap, header::AUTHORIZATION};

use super::Refusal;

/// Returns the token in the `Authorization` header.
///
/// # Errors
/// [`Refusal::Missing`] if there is no token, another scheme, or several headers, of which other readers of
/// the request might use another one.
pub fn bearer(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(Refusal::Missing);
    };
    let value = value.to_str().map_err(|_| Refusal::Missing)?;
    let (scheme, token) = value.split_once(' ').ok_or(Refusal::Missing)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err(Refusal::Missing) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn only_one_bearer_token_is_a_token() {
        for (values, expected) in [
            (vec!["Bearer abc"], Some("abc")),
            (vec!["bearer  abc"], Some("abc")),
            (vec![], None),
            (vec!["Basic abc"], None),
            (vec!["abc"], None),
            (vec!["Bearer a", "Bearer b"], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in &values {
                headers.append(AUTHORIZATION, HeaderValue::from_static(value));
            }
            assert_eq!(bearer(&headers).ok(), expected, "{values:?}");
        }
    }
}
