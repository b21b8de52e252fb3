//! Parses addresses on the command line.

use bridge_client::is_loopback;
pub(super) use bridge_client::without_user as shown;
use url::Url;

/// Parses a web address. Without a scheme an address of this machine is taken to be http.
pub(super) fn parse(text: &str) -> Result<Url, String> {
    let expected =
        "expected an address such as http://localhost:3978 or https://agents.example/a2a";
    if text.contains("://") {
        let url = Url::parse(text).map_err(|error| format!("{expected}: {error}"))?;
        return match url.scheme() {
            "http" | "https" => Ok(url),
            other => Err(format!("{expected}, found one of {other:?}")),
        };
    }
    let bare = format!("http://{text}");
    let url = Url::parse(&bare).map_err(|error| format!("{expected}: {error}"))?;
    match is_loopback(&url) || url.domain().is_some_and(|name| name.ends_with(".localhost")) {
        true => Ok(url),
        false => Err(format!("{expected}; is it https://{text} or {bare}?")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_needs_no_scheme() {
        for (text, expected) in [
            ("localhost:4413", Ok("http://localhost:4413/")),
            ("127.0.0.1:1/a2a", Ok("http://127.0.0.1:1/a2a")),
            ("[::1]:1", Ok("http://[::1]:1/")),
            ("https://h.test/a?b=c", Ok("https://h.test/a?b=c")),
            ("h.test/a", Err("is it https://h.test/a or http://h.test/a?")),
            ("ftp://h.test", Err("found one of \"ftp\"")),
            ("http://", Err("expected an address such as")),
            ("", Err("expected an address such as")),
        ] {
            match (parse(text), expected) {
                (Ok(url), Ok(expected)) => assert_eq!(url.as_str(), expected),
                (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }
}
