//! Decides whether the values of variables are secrets.

use std::collections::BTreeSet;

/// The minimum length of a secret. Shorter values are words such as `1` or `yes`, whose masking would make
/// output unreadable.
const SHORTEST_SECRET: usize = 4;

/// What is written where a program demands a key and needs none, as servers of models on one's own machine do, and in settings
/// such as `AUTH_ENABLED` and `AUTH_TYPE`. To mask these would make answers unreadable.
const PLACEHOLDERS: &str = "\
    basic bearer disabled dummy empty enabled fake false local none not-needed not_needed null ollama placeholder sk-dummy \
    sk-fake sk-none sk-test test true unused";

/// Adds the lines of a value if it is a secret. Output is masked line by line, so each line of a longer
/// secret, such as a key file, counts.
pub(super) fn add(secrets: &mut BTreeSet<String>, name: &str, value: &str) {
    if (says_secret(name) && !is_placeholder(value)) || looks_random(value) {
        let pieces = std::iter::once(value).chain(value.lines().map(str::trim));
        let long_enough = pieces.filter(|piece| piece.chars().count() >= SHORTEST_SECRET);
        secrets.extend(long_enough.map(str::to_owned));
    }
    add_password(secrets, value);
}

/// Adds the password of a URL.
pub(super) fn add_password(secrets: &mut BTreeSet<String>, value: &str) {
    let Ok(url) = url::Url::parse(value) else {
        return;
    };
    // A password that repeats the user's name, as in `postgres:postgres`, is a default and no secret.
    let is_secret = |password: &&str| {
        password.chars().count() >= SHORTEST_SECRET && *password != url.username()
    };
    secrets.extend(url.password().filter(is_secret).map(str::to_owned));
}

/// Returns whether a variable's name suggests that its value is secret.
pub(super) fn says_secret(name: &str) -> bool {
    const WORDS: &str = "AUTH COOKIE CREDENTIAL CREDENTIALS KEY";
    // Before these there may be more of the word, as in PGPASSWORD.
    const ENDINGS: &str = "APIKEY PASSPHRASE PASSWD PASSWORD SECRET TOKEN";
    let name = name.to_ascii_uppercase();
    name.split('_').any(|word| {
        WORDS.split(' ').any(|one| one == word) || ENDINGS.split(' ').any(|end| word.ends_with(end))
    })
}

fn is_placeholder(value: &str) -> bool {
    PLACEHOLDERS.split(' ').any(|one| one.eq_ignore_ascii_case(value))
}

/// Returns whether a value looks like a key: a long run of letters and digits, which words and names do not
/// have. Names of models, modes and hosts stay readable.
fn looks_random(value: &str) -> bool {
    const LONG: usize = 16;
    let runs = value.split(|c: char| !c.is_ascii_alphanumeric());
    let has = |run: &str, kind: fn(&u8) -> bool| run.bytes().any(|byte| kind(&byte));
    runs.filter(|run| run.len() >= LONG)
        .any(|run| has(run, u8::is_ascii_digit) && has(run, u8::is_ascii_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_values_are_secrets_only_if_they_look_random() {
        let secrets_of = |name: &str, value: &str| {
            let mut secrets = BTreeSet::new();
            add(&mut secrets, name, value);
            Vec::from_iter(secrets)
        };
        for readable in
            ["text", "gemini-2.5-flash", "claude-sonnet-4-5-20250929", "http://127.0.0.1:9009/x"]
        {
            assert!(secrets_of("MODE", readable).is_empty(), "{readable}");
        }
        assert_eq!(secrets_of("MODE", "sk-proj-4fT7xQ9bZr2LmN8w"), ["sk-proj-4fT7xQ9bZr2LmN8w"]);
        assert_eq!(secrets_of("DATABASE", "postgres://me:hunter2@db/x"), ["hunter2"]);
        for name in ["OPENAI_API_KEY", "PGPASSWORD", "NGROK_AUTHTOKEN", "ssh_passphrase"] {
            assert_eq!(secrets_of(name, "text"), ["text"], "{name}");
        }
        for setting in ["true", "False", "Bearer"] {
            assert!(secrets_of("USE_AUTH", setting).is_empty(), "{setting}");
        }
        assert!(secrets_of("MAX_TOKENS", "text").is_empty());
        for placeholder in ["none", "EMPTY", "not-needed"] {
            assert!(secrets_of("OPENAI_API_KEY", placeholder).is_empty(), "{placeholder}");
        }
    }

    #[test]
    fn every_line_of_a_long_secret_is_one() {
        let mut secrets = BTreeSet::new();
        let key = "-----BEGIN-----\n  MIIEvQ\n-----END-----";
        add(&mut secrets, "SIGNING_KEY", key);
        let lines = [key, "-----BEGIN-----", "MIIEvQ", "-----END-----"].map(str::to_owned);
        assert_eq!(secrets, BTreeSet::from(lines));
    }
}
