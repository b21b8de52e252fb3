//! Recognises details that are only an example or contain a placeholder.

use std::sync::LazyLock;

use regex::Regex;
use url::Host;

use super::{ConnectionDetails, Transport, names};

/// Words that mark the details after them as an example, unless `not` precedes the words.
static LEAD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"(?i)\b(not\s+(?:an?\s+|the\s+)?)?(?:examples?|e\.g|for instance|samples?|templates?|looks? like|placeholders?|old|older|previous|previously|former|formerly|outdated|expired|no longer)\b";
    Regex::new(words).ok()
});

/// Domains that are reserved for documentation (RFC 2606).
const RESERVED: [&str; 5] = ["example", "invalid", "example.com", "example.net", "example.org"];

/// Returns whether the words before details say that they are an example.
pub(super) fn is_lead(words: &str) -> bool {
    let Some(lead) = &*LEAD else {
        return false;
    };
    lead.captures_iter(words).any(|found| found.get(1).is_none())
}

/// Returns whether the name of a member says that its value is an example.
pub(super) fn is_name(name: &str) -> bool {
    names::words(name).any(|word| is_lead(&word))
}

/// Returns whether details contain a value that must be replaced before use: a documentation host, `<token>`,
/// `YOUR_KEY`, `${TOKEN}`.
pub(super) fn is_placeholder(details: &ConnectionDetails) -> bool {
    let is_reserved = match &details.transport {
        Transport::Http { url, .. } => match url.host() {
            Some(Host::Domain(host)) => {
                RESERVED.iter().any(|reserved| host.strip_suffix(reserved).is_some_and(is_boundary))
            }
            Some(Host::Ipv4(_) | Host::Ipv6(_)) | None => false,
        },
        Transport::Stdio { .. } => false,
    };
    is_reserved || details.secrets().iter().any(|secret| is_blank(secret.expose()))
}

/// Returns whether the text before a domain ends at a label boundary, so that the domain matches whole labels.
fn is_boundary(rest: &str) -> bool {
    rest.is_empty() || rest.ends_with('.')
}

/// Returns whether a value is a placeholder to be filled in.
fn is_blank(value: &str) -> bool {
    let value = value.trim_start_matches("Bearer ").trim();
    let bracketed = |open, close| value.starts_with(open) && value.ends_with(close);
    let word = value.to_ascii_lowercase();
    bracketed('<', '>')
        || bracketed('{', '}')
        || value.contains("${")
        || value.ends_with("...")
        || ["your_", "your-"].iter().any(|start| word.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_lead_to_examples() {
        for words in ["For example:", "it looks like this:", "the old server was at", "e.g. "] {
            assert!(is_lead(words), "{words}");
        }
        for words in
            ["Connect to", "this is not an example:", "in JSON:", "as told", "for exampleness"]
        {
            assert!(!is_lead(words), "{words}");
        }
        for value in ["${TOKEN}", "Bearer ${input:token}", "<key>", "YOUR_KEY", "sk-..."] {
            assert!(is_blank(value), "{value}");
        }
        assert!(!is_blank("Bearer a-$b-c"));
        assert!(is_name("example") && is_name("oldServer") && is_name("sample_details"));
        assert!(!is_name("holder") && !is_name("mcp_server"));
    }
}
