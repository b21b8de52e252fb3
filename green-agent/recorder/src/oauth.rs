//! Rewrites what a protected server says of its authorization: a client that connects to the recorder refuses metadata of
//! another address.
//!
//! Tokens are not rewritten. A server that accepts only tokens for its own address does not accept those that a client
//! requests for the recorder's.

use serde_json::Value;

use super::origin::Origins;

/// The paths of metadata: of the resource (RFC 9728), and of the authorization server (RFC 8414, OpenID Connect Discovery).
/// The path of the resource or of the issuer may come before or after them.
const METADATA: [&str; 3] = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
];

/// The parameter of a challenge that has the address of the resource's metadata (RFC 9728, section 5.1).
const RESOURCE_METADATA: &str = "resource_metadata=\"";

/// Returns whether metadata is served at `path`, which has no query.
pub(super) fn is_metadata_path(path: &str) -> bool {
    METADATA.iter().any(|one| path.contains(one))
}

/// Replaces the upstream's origin in metadata with the recorder's; returns whether anything was changed.
pub(super) fn rewrite(metadata: &mut Value, origins: &Origins) -> bool {
    let members = metadata.as_object_mut().into_iter().flat_map(|all| all.values_mut());
    let mut is_changed = false;
    for member in members {
        // Lists, such as that of the authorization servers, have no lists in them.
        let texts = match member {
            Value::Array(items) => items.as_mut_slice(),
            one => std::slice::from_mut(one),
        };
        for text in texts {
            if let Some(ours) = text.as_str().and_then(|text| origins.replaced(text)) {
                *text = Value::from(ours);
                is_changed = true;
            }
        }
    }
    is_changed
}

/// Returns a challenge (`WWW-Authenticate`) with the recorder's address of the metadata; `None` if it has none of the
/// upstream.
pub(super) fn rewrite_challenge(challenge: &str, origins: &Origins) -> Option<String> {
    let (before, rest) = challenge.split_once(RESOURCE_METADATA)?;
    let (url, after) = rest.split_once('"')?;
    let ours = origins.replaced(url)?;
    Some(format!("{before}{RESOURCE_METADATA}{ours}\"{after}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn origins() -> Origins {
        Origins::new(&"http://127.0.0.1:9109/mcp".parse().unwrap(), 4000).unwrap()
    }

    #[test]
    fn metadata_leads_to_the_recorder_letter_by_letter() {
        let mut metadata = json!({
            "resource": "http://127.0.0.1:9109/mcp",
            "issuer": "http://localhost:9109",
            "authorization_servers": ["http://127.0.0.1:9109/", "https://login.example/"],
            "token_endpoint": "http://127.0.0.1:9109/token?a=b",
            "scopes_supported": ["read"],
            "bearer_methods_supported": null,
        });
        let expected = json!({
            "resource": "http://127.0.0.1:4000/mcp",
            "issuer": "http://127.0.0.1:4000",
            "authorization_servers": ["http://127.0.0.1:4000/", "https://login.example/"],
            "token_endpoint": "http://127.0.0.1:4000/token?a=b",
            "scopes_supported": ["read"],
            "bearer_methods_supported": null,
        });
        assert!(rewrite(&mut metadata, &origins()));
        assert_eq!(metadata, expected);
        assert!(!rewrite(&mut metadata, &origins()), "nothing is left to change");
        assert!(!rewrite(&mut json!("http://127.0.0.1:9109/"), &origins()));
    }

    #[test]
    fn only_the_address_in_a_challenge_is_changed() {
        let challenge = |host: &str| {
            format!(
                "Bearer realm=\"http://127.0.0.1:9109\", resource_metadata=\"http://{host}/.well-known/x\", error=\"e\""
            )
        };
        let ours = rewrite_challenge(&challenge("127.0.0.1:9109"), &origins());
        assert_eq!(ours, Some(challenge("127.0.0.1:4000")));
        for other in
            [&challenge("login.example"), "Bearer", "Basic realm=\"http://127.0.0.1:9109\""]
        {
            assert_eq!(rewrite_challenge(other, &origins()), None);
        }
    }

    #[test]
    fn metadata_of_a_path_is_found_before_and_after_it() {
        for (path, expected) in [
            ("/.well-known/oauth-protected-resource/mcp", true),
            ("/tenant/.well-known/openid-configuration", true),
            ("/.well-known/agent-card.json", false),
        ] {
            assert_eq!(is_metadata_path(path), expected, "{path}");
        }
    }
}
