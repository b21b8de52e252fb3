//! Reads the configuration file.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use toml::de::DeTable;

use super::{
    Config, ConfigError, ConfigErrors, Problem,
    check::{Found, check, find_secrets},
    locate::{key, lines_of, position},
    secret::SecretSources,
    unknown_keys::unknown_keys,
};
use crate::auth::not_private;

/// Reads a file, with the secrets that it refers to. Relative paths start at the file.
///
/// # Errors
/// Returns all mistakes in it, or that the file cannot be read.
pub fn read(path: &Path, builtins: &[&'static str]) -> Result<Config, ConfigErrors> {
    read_changed(path, builtins, |_| {})
}

/// Reads a file as [`read`] does. `change` changes the configuration before it is checked, as flags do.
pub(crate) fn read_changed(
    path: &Path,
    builtins: &[&'static str],
    change: impl FnOnce(&mut Config),
) -> Result<Config, ConfigErrors> {
    let wrong = |(line, column), problem| {
        let (path, key) = (path.to_owned(), String::new());
        ConfigErrors(vec![ConfigError { path, line, column, key, problem }])
    };
    let unreadable = |error: io::Error| wrong((1, 1), Problem::Unreadable(error.to_string()));
    let mut file = File::open(path).map_err(unreadable)?;
    let is_private = not_private(&file).map_err(unreadable)?.is_none();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let (valid, rest) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let byte = rest.first().copied().unwrap_or_default();
        let place = position(&String::from_utf8_lossy(valid), valid.len());
        wrong(place, Problem::NotUtf8(byte))
    })?;
    let mut config = parse_changed(path, &text, builtins, change)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let found = find_secrets(&mut config, &SecretSources { folder, is_private });
    resolve_paths(&mut config, folder);
    located(path, &text, found, config)
}

/// Parses the text of a file; `path` is for error messages. Secrets are not looked up.
///
/// # Errors
/// Returns the first syntax error, or unknown keys and wrong types; if there is none of these, all other mistakes.
pub fn parse(path: &Path, text: &str, builtins: &[&'static str]) -> Result<Config, ConfigErrors> {
    parse_changed(path, text, builtins, |_| {})
}

fn parse_changed(
    path: &Path,
    text: &str,
    builtins: &[&'static str],
    change: impl FnOnce(&mut Config),
) -> Result<Config, ConfigErrors> {
    match toml::from_str::<Config>(text) {
        Ok(mut config) => {
            change(&mut config);
            let found = check(&config, text, builtins);
            located(path, text, found, config)
        }
        Err(error) => Err(errors(path, text, rejections(text, error))),
    }
}

/// All that is no configuration. The reader stops at the first mistake, so its lines are emptied and the rest is read
/// again, for as long as that is TOML. What is missing then may have stood in these lines.
fn rejections(text: &str, first: toml::de::Error) -> Found {
    let unknown = unknown_keys(text);
    let is_known = |error: &toml::de::Error| {
        let at = |key: &(usize, Problem)| error.span().is_some_and(|span| span.start == key.0);
        let is_of_key = error.message().starts_with("unknown field");
        is_of_key && !unknown.is_empty() || unknown.iter().any(at)
    };
    let (mut rest, mut last) = (text.to_owned(), first.clone());
    let mut found = vec![first];
    while let Some(emptied) = without(&rest, &last)
        && let Err(next) = toml::from_str::<Config>(&emptied)
        && !next.message().starts_with("missing field")
        && DeTable::parse(&emptied).is_ok()
    {
        found.push(next.clone());
        (rest, last) = (emptied, next);
    }
    let others: Found = found.iter().filter(|error| !is_known(error)).map(rejected).collect();
    [unknown, others].concat()
}

fn rejected(error: &toml::de::Error) -> (usize, Problem) {
    let lines: Vec<&str> = error.message().lines().map(str::trim).collect();
    let at = error.span().map_or(0, |span| span.start);
    (at, Problem::Rejected(in_words_of_toml(&lines.join("; "))))
}

/// Names tables and lists as TOML does, not as serde.
fn in_words_of_toml(message: &str) -> String {
    let mut text = message.to_owned();
    for before in ["invalid type: ", "expected a "] {
        for (kind, word) in [("map", "table"), ("sequence", "list")] {
            text = text.replace(&format!("{before}{kind}"), &format!("{before}{word}"));
        }
    }
    text
}

/// The text with empty lines in place of those with the mistake; `None` if it is in the name of a table, without which the
/// keys below it would belong to another one.
fn without(text: &str, mistake: &toml::de::Error) -> Option<String> {
    let lines = lines_of(text, mistake.span()?);
    let removed = text.get(lines.clone())?;
    if removed.trim().is_empty() || removed.trim_start().starts_with('[') {
        return None;
    }
    let gap = removed.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' });
    Some(text[..lines.start].chars().chain(gap).chain(text[lines.end..].chars()).collect())
}

fn located(path: &Path, text: &str, found: Found, config: Config) -> Result<Config, ConfigErrors> {
    if found.is_empty() { Ok(config) } else { Err(errors(path, text, found)) }
}

fn errors(path: &Path, text: &str, mut found: Found) -> ConfigErrors {
    found.sort_by_key(|(at, _)| *at);
    let error = |(at, problem): (usize, Problem)| {
        let (line, column) = position(text, at);
        let key = match problem {
            Problem::NoAgent => String::new(),
            _ => key(text, at),
        };
        let problem = match problem {
            // The agents are a list: the key of a setting has a number.
            Problem::Rejected(why) if key == "agents" || key.starts_with("agents.") => {
                Problem::Rejected(format!(
                    "{why}; write [[agents]] before the settings of each agent"
                ))
            }
            problem => problem,
        };
        ConfigError { path: path.to_owned(), line, column, key, problem }
    };
    ConfigErrors(found.into_iter().map(error).collect())
}

/// Resolves relative paths against the file's folder.
fn resolve_paths(config: &mut Config, folder: &Path) {
    let beside = |path: &mut PathBuf| *path = folder.join(&*path);
    if let Some(tls) = &mut config.tls {
        beside(&mut tls.certificate);
        beside(&mut tls.key);
        tls.client_ca.iter_mut().for_each(beside);
    }
    config.issuer.keys.iter_mut().for_each(beside);
    let keys = config.card_key.iter_mut().chain(&mut config.push.key);
    keys.map(|key| &mut key.file).for_each(beside);
    for agent in &mut config.agents {
        let tokens = agent.access.values_mut().filter_map(|check| check.token.as_mut());
        tokens.filter_map(|token| token.jwks_file.as_mut()).for_each(beside);
        agent.card_file.iter_mut().for_each(beside);
        if let Some(super::Auth::Federated(federated)) = &mut agent.auth
            && let super::Assertion::File(path) = &mut federated.assertion
        {
            beside(path);
        }
    }
}
