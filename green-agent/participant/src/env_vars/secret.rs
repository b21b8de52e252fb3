//! Decides whether the values of variables are secrets.

use std::collections::BTreeSet;

use percent_encoding::percent_decode_str;

/// The minimum length of a secret. Shorter values are words such as `1` or `yes`, whose masking would make
/// output unreadable.
const SHORTEST_SECRET: usize = 4;

/// What is written where a program demands a key and needs none, as servers of models on one's own machine do, in databases for
/// tests, and in settings such as `AUTH_ENABLED` and `AUTH_TYPE`. To mask these would make answers unreadable.
const PLACEHOLDERS: &str = "\
    admin basic bearer changeme disabled dummy empty enabled fake false local none not-needed not_needed null ollama placeholder \
    postgres root sk-dummy sk-fake sk-none sk-test test true unused";

/// Adds a value if it is a secret, and the secrets in it.
pub(super) fn add(secrets: &mut BTreeSet<String>, name: &str, value: &str) {
    if is_secret(name, value) {
        add_lines(secrets, value);
    }
    for (name, value) in named_values(value) {
        if is_secret(name, value) {
            add_lines(secrets, value);
        }
    }
    add_passwords(secrets, value);
}

/// Returns the named values of a connection string, such as `Server=db;Password=hunter2`, of a command line, or of a query.
fn named_values(value: &str) -> impl Iterator<Item = (&str, &str)> {
    let separators: &[char] = if value.contains(';') { &[';'] } else { &[' ', '&', '?'] };
    value.split(separators).filter_map(|piece| piece.split_once('='))
}

/// Adds the secrets of a command: passwords of URLs, and what options and parameters with telling names say, also in a command
/// within a word, as `sh -c` has it.
pub(super) fn add_command(secrets: &mut BTreeSet<String>, words: &[String]) {
    for (at, word) in words.iter().enumerate() {
        add_passwords(secrets, word);
        let parameters = named_values(word).filter(|(name, _)| says_secret(name));
        let joined = word.split_once('=').filter(|(option, _)| is_secret_option(option));
        let next =
            words.get(at + 1).filter(|next| is_secret_option(word) && !next.starts_with('-'));
        let next = next.map(|next| (word.as_str(), next.as_str()));
        for (_, value) in parameters.chain(joined).chain(next) {
            // `{ROLE}` and `$NAME` stand for other values.
            if !is_placeholder(value) && !value.starts_with(['{', '$']) {
                add_lines(secrets, value);
            }
        }
        // Other whitespace does not end a word: splitting this one would never end.
        if word.contains([' ', '\t', '\n']) {
            add_command(secrets, &shlex::split(word).unwrap_or_default());
        }
    }
}

/// Returns whether a word is an option whose value is a secret. `--key` is not, after which there is mostly the name of a file.
fn is_secret_option(word: &str) -> bool {
    /// How the names of options begin that switch something on or off, or limit it.
    const OTHERS: &str = "max min no require skip use";
    let Some(option) = word.strip_prefix('-').map(|rest| rest.trim_start_matches('-')) else {
        return false;
    };
    let first = option.split(['-', '_']).next().unwrap_or_default();
    let name: String = option.chars().filter(|one| !matches!(one, '-' | '_')).collect();
    !OTHERS.split(' ').any(|other| other == first) && name != "key" && says_secret(&name)
}

/// Adds a secret, and its lines: output is masked line by line, and a key file has several.
fn add_lines(secrets: &mut BTreeSet<String>, value: &str) {
    let pieces = std::iter::once(value).chain(value.lines().map(str::trim));
    let long_enough = pieces.filter(|piece| is_long_enough(piece));
    secrets.extend(long_enough.map(str::to_owned));
}

fn is_long_enough(secret: &str) -> bool {
    secret.chars().count() >= SHORTEST_SECRET
}

/// Adds the passwords of URLs as they are written and as programs read them. The URLs of databases may have several hosts.
pub(super) fn add_passwords(secrets: &mut BTreeSet<String>, value: &str) {
    for url in value.split("://").skip(1) {
        let authority = url.split(['/', '?', '#', ' ', '"', '\'']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':'));
        // A password that repeats the user's name, as in `postgres:postgres`, is a default and no secret.
        let Some((_, written)) = user.filter(|(name, password)| name != password) else {
            continue;
        };
        let decoded = percent_decode_str(written).decode_utf8_lossy().into_owned();
        let forms = [written.to_owned(), decoded];
        secrets.extend(forms.into_iter().filter(|password| is_long_enough(password)));
    }
}

/// Returns whether a variable's name suggests that its value is secret.
pub(super) fn says_secret(name: &str) -> bool {
    const WORDS: &str = "AUTH COOKIE CREDENTIAL CREDENTIALS CREDS KEY PASS PAT";
    // Before these there may be more of the word, as in PGPASSWORD.
    const ENDINGS: &str = "\
        ACCESSKEY ACCOUNTKEY APIKEY AUTHKEY PASSPHRASE PASSWD PASSWORD PRIVATEKEY PWD SECRET SECRETKEY TOKEN";
    // The folders of shells; `Pwd` is a password in connection strings.
    const FOLDERS: [&str; 2] = ["OLDPWD", "PWD"];
    let upper = name.to_ascii_uppercase();
    let says_so = |word: &str| {
        WORDS.split(' ').any(|one| one == word) || ENDINGS.split(' ').any(|end| word.ends_with(end))
    };
    let mut words = upper.split(|one: char| !one.is_ascii_alphanumeric());
    !FOLDERS.contains(&name) && words.any(says_so)
}

fn is_secret(name: &str, value: &str) -> bool {
    (says_secret(name) && !is_placeholder(value)) || looks_random(value)
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

    fn secrets_of(name: &str, value: &str) -> Vec<String> {
        let mut secrets = BTreeSet::new();
        add(&mut secrets, name, value);
        Vec::from_iter(secrets)
    }

    #[test]
    fn other_values_are_secrets_only_if_they_look_random() {
        for readable in
            ["text", "gemini-2.5-flash", "claude-sonnet-4-5-20250929", "http://127.0.0.1:9009/x"]
        {
            assert!(secrets_of("MODE", readable).is_empty(), "{readable}");
        }
        assert_eq!(secrets_of("MODE", "sk-proj-4fT7xQ9bZr2LmN8w"), ["sk-proj-4fT7xQ9bZr2LmN8w"]);
        assert_eq!(secrets_of("DATABASE", "postgres://me:hunter2@db/x"), ["hunter2"]);
        for name in [
            "OPENAI_API_KEY",
            "PGPASSWORD",
            "NGROK_AUTHTOKEN",
            "ssh_passphrase",
            "DB_PASS",
            "MYSQL_PWD",
            "GITHUB_PAT",
            "TS_AUTHKEY",
            "secretKey",
        ] {
            assert_eq!(secrets_of(name, "text"), ["text"], "{name}");
        }
        for setting in ["true", "False", "Bearer"] {
            assert!(secrets_of("USE_AUTH", setting).is_empty(), "{setting}");
        }
        for name in ["MAX_TOKENS", "PWD", "OLDPWD", "PATH", "BYPASS"] {
            assert!(secrets_of(name, "text").is_empty(), "{name}");
        }
        for placeholder in ["none", "EMPTY", "not-needed"] {
            assert!(secrets_of("OPENAI_API_KEY", placeholder).is_empty(), "{placeholder}");
        }
    }

    #[test]
    fn secrets_in_a_value_are_secrets() {
        for (value, expected) in [
            ("mongodb://me:hunter2@one:27017,two:27017/x", &["hunter2"][..]),
            ("postgres://me:p%40ss%2fw+rd@db/x", &["p%40ss%2fw+rd", "p@ss/w+rd"]),
            ("postgres://me:pi|pe^@db/x", &["pi|pe^"]),
            (
                "serve --db=redis://:hunter2@db --other='amqp://b:hunter3@mq'",
                &["hunter2", "hunter3"],
            ),
            ("Server=db;User Id=me;Password=hun ter2;Pwd=hunter3", &["hun ter2", "hunter3"]),
            ("http://h/in?token=hunter2&n=1 --api-key=hunter3", &["hunter2", "hunter3"]),
            ("host=db user=me password=hunter2", &["hunter2"]),
            ("AccountName=me;AccountKey=ab/cd+ef==;EndpointSuffix=x", &["ab/cd+ef=="]),
            ("http://postgres:postgres@db/x http://h/?a=b:c@d https://me@h:80/x", &[]),
        ] {
            assert_eq!(secrets_of("DATABASE", value), expected, "{value}");
        }
    }

    #[test]
    fn secrets_in_a_command_are_secrets() {
        for (command, expected) in [
            ("serve --password hunter2 --port 9500", &["hunter2"][..]),
            (
                "serve --password 'hunter2 x' --api-key=\"hunter3 y\"",
                &["hunter2 x", "hunter3", "hunter3 y"],
            ),
            ("serve --db_password hunter2 -token hunter3", &["hunter2", "hunter3"]),
            (
                "serve postgres://me:hunter2@db/x http://h/mcp?token=hunter3",
                &["hunter2", "hunter3"],
            ),
            ("sh -c 'TOKEN=hunter2 serve --notion-token hunter3'", &["hunter2", "hunter3"]),
            ("mcp-tools serve --command \"sh -c 'serve --secret hunter2'\"", &["hunter2"]),
            (
                "serve --token --verbose --key server.key --sort-key name --token-file token.txt",
                &[],
            ),
            (
                "serve --no-token stdio --max-token 4096 --api-key none --api-key-env OPENAI_API_KEY",
                &[],
            ),
            ("serve --token {trial.seed} --token $TOKEN --password", &[]),
            ("serve --name 'a\u{a0}b' --title 'a\rb' --token hunter2", &["hunter2"]),
        ] {
            let mut secrets = BTreeSet::new();
            add_command(&mut secrets, &shlex::split(command).unwrap());
            assert_eq!(Vec::from_iter(secrets), expected, "{command}");
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
