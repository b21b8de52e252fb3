//! Finds secrets by their own shape: keys of well-known services, codes of OAuth, and ids of sessions in URLs and logs.

use std::{borrow::Cow, sync::LazyLock};

use regex::{Captures, Regex};

use super::{
    MASK,
    places::{pattern, replace},
};

/// The shortest key or session id, in bytes, with what identifies it. Most texts of messages are shorter.
const SHORTEST: usize = 19;

/// The shortest run of letters and digits that is random rather than a word or a version.
const RANDOM: usize = 16;

/// Matches keys of OpenAI and those who write keys like it, GitHub, GitLab, Slack, Google, Hugging Face, Groq and xAI.
static KEY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?-u:\b)(?:sk-|gh[oprsu]_|github_pat_|glpat-|xox[abeoprs]-|AIza|hf_|gsk_|xai-)[A-Za-z0-9_-]{16,}",
    )
});

/// Matches the id of a session in a URL, as the older HTTP transport of MCP has it, and in what servers print about it: with it,
/// anyone can use the session. The check whether a server is ready may begin a session, too, of which nobody else learns.
static SESSION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)([?&]session_?id=|(?-u:\b)session(?: (?:with |for )?id)?:? )([a-z0-9_-]{16,})")
});

/// Matches a UUID.
static UUID: LazyLock<Regex> =
    LazyLock::new(|| pattern("[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"));

/// Matches at least two parameters of a form or of a query, which may stand in JSON or HTML.
static PARAMETERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"[A-Za-z0-9_.-]+=[^\s&"'<>\\]*(?:(?:&amp;|\\u0026|&)[A-Za-z0-9_.-]+=[^\s&"'<>\\]*)+"#)
});

/// The parameters with which tokens are requested.
const GRANTS: [&str; 2] = ["code=", "assertion="];

/// Matches one of [`GRANTS`].
static GRANT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(^|[&;]|\\u0026)((?:code|assertion)=)[^\s&"'<>\\]+"#));

/// The parameters that stand beside a code of OAuth only.
const BESIDE_CODE: [&str; 4] = ["grant_type=", "code_verifier=", "state=", "iss="];

/// Masks keys of well-known services, OAuth codes, and session ids.
pub(super) fn mask_shapes(text: Cow<'_, str>) -> Cow<'_, str> {
    let text = if text.len() < SHORTEST { text } else { mask_ids(text) };
    if !GRANTS.iter().any(|name| text.contains(name)) {
        return text;
    }
    replace(text, &PARAMETERS, |found| {
        let is_grant = BESIDE_CODE.iter().any(|name| found[0].contains(name));
        let masked = |found: &Captures<'_>| format!("{}{}{MASK}", &found[1], &found[2]);
        let masked = is_grant.then(|| GRANT.replace_all(&found[0], masked))?;
        matches!(masked, Cow::Owned(_)).then(|| masked.into_owned())
    })
}

/// Masks keys of well-known services and session ids.
fn mask_ids(text: Cow<'_, str>) -> Cow<'_, str> {
    let text = replace(text, &KEY, |found| has_random(&found[0]).then(|| MASK.to_owned()));
    replace(text, &SESSION, |found| {
        let is_random = has_random(&found[2]) || UUID.is_match(&found[2]);
        is_random.then(|| format!("{}{MASK}", &found[1]))
    })
}

/// Returns whether a text has a long run of letters and digits with both in it.
fn has_random(text: &str) -> bool {
    let mut runs = text.split(|one: char| !one.is_ascii_alphanumeric());
    let has = |run: &str, kind: fn(&u8) -> bool| run.bytes().any(|byte| kind(&byte));
    runs.any(|run| {
        run.len() >= RANDOM && has(run, u8::is_ascii_digit) && has(run, u8::is_ascii_alphabetic)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_well_known_services_are_found_in_prose() {
        for (text, expected) in [
            ("my key is sk-proj-4fT7xQ9bZr2LmN8wA1, ok?", "my key is [masked], ok?"),
            ("use sk-ant-api03-Zr2LmN8w4fT7xQ9bZr2LmN8w-x_yAA.", "use [masked]."),
            ("sk-4fT7xQ9bZr2LmN8w", "[masked]"),
            ("sk-4fT7xQ9bZr2LmN8", "sk-4fT7xQ9bZr2LmN8"),
            ("(ghp_16C7e42F292c6912E7710c838347Ae178B4a)", "([masked])"),
            (
                "glpat-4fT7xQ9bZr2LmN8wA1bc AIzaSyA1bC4fT7xQ9bZr2LmN8wA1bc4fT7xQ9b",
                "[masked] [masked]",
            ),
            ("xoxb-123456789012-4fT7xQ9bZr2LmN8wA1bc hf_4fT7xQ9bZr2LmN8wA1bc", "[masked] [masked]"),
            (
                "sk-learn-based-classifiers-of-2026 task-4fT7xQ9bZr2LmN8wA1bc",
                "sk-learn-based-classifiers-of-2026 task-4fT7xQ9bZr2LmN8wA1bc",
            ),
            (
                "sk-1234 ghp_short gsk_the_name_of_a_variable_here",
                "sk-1234 ghp_short gsk_the_name_of_a_variable_here",
            ),
        ] {
            assert_eq!(mask_shapes(text.into()), expected);
        }
    }

    #[test]
    fn codes_of_oauth_are_found_by_what_stands_beside_them() {
        for (text, expected) in [
            (
                "grant_type=authorization_code&code=c-1&redirect_uri=http%3A%2F%2Fh%2Fcode%3D1",
                "grant_type=authorization_code&code=[masked]&redirect_uri=http%3A%2F%2Fh%2Fcode%3D1",
            ),
            (
                "code=c-1&grant_type=authorization_code",
                "code=[masked]&grant_type=authorization_code",
            ),
            (
                "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=ey.x.y",
                "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=[masked]",
            ),
            (
                "go to http://h/callback?state=s&code=c-1 now",
                "go to http://h/callback?state=s&code=[masked] now",
            ),
            (
                r#"{"url": "http://h/?code=c-1\u0026state=s"}"#,
                r#"{"url": "http://h/?code=[masked]\u0026state=s"}"#,
            ),
            (
                r#"<a href="http://h/?iss=i&amp;code=c-1">"#,
                r#"<a href="http://h/?iss=i&amp;code=[masked]">"#,
            ),
            (
                "GET /coupons?code=SUMMER&n=1 exit code=7",
                "GET /coupons?code=SUMMER&n=1 exit code=7",
            ),
            ("?zip_code=12345&state=NY", "?zip_code=12345&state=NY"),
        ] {
            assert_eq!(mask_shapes(text.into()), expected);
        }
    }

    #[test]
    fn sessions_of_mcp_are_found_in_urls_and_logs() {
        for (text, expected) in [
            (
                "/messages/?session_id=0f1e2d3c4b5a69788796a5b4c3d2e1f0",
                "/messages/?session_id=[masked]",
            ),
            (
                "/message?sessionId=0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f00f1e2d3c",
                "/message?sessionId=[masked]",
            ),
            (
                "/message?sessionId=0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
                "/message?sessionId=[masked]",
            ),
            (
                "Created new transport with session ID: 0f1e2d3c4b5a69788796a5b4c3d2e1f0",
                "Created new transport with session ID: [masked]",
            ),
            (
                "Terminating session: 8d5c3f71f2e7424a9a2b411e06af95be",
                "Terminating session: [masked]",
            ),
            (
                "Session 8d5c3f71f2e7424a9a2b411e06af95be idle timeout",
                "Session [masked] idle timeout",
            ),
            (
                "Created new session with ID: 0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
                "Created new session with ID: [masked]",
            ),
            ("session of-2026-11-26-in-room-4", "session of-2026-11-26-in-room-4"),
            (
                "/chat?session_id=main-2026-11-26-of-me&n=1",
                "/chat?session_id=main-2026-11-26-of-me&n=1",
            ),
        ] {
            assert_eq!(mask_shapes(text.into()), expected);
        }
    }
}
