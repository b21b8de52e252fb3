//! Reads the configuration file.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use super::{
    Config, ConfigError, ConfigErrors, Problem,
    check::{Found, check, find_secrets},
    locate::{key, position},
    secret::SecretSources,
};
use crate::auth::not_private;

/// Reads a file, with the secrets that it refers to. Relative paths start at the file.
///
/// # Errors
/// Returns all mistakes in it, or that the file cannot be read.
pub fn read(path: &Path, builtins: &[&'static str]) -> Result<Config, ConfigErrors> {
    let unreadable = |error: io::Error| {
        let problem = Problem::Unreadable(error.to_string());
        ConfigErrors(vec![ConfigError {
            path: path.to_owned(),
            line: 1,
            column: 1,
            key: String::new(),
            problem,
        }])
    };
    let file = File::open(path).map_err(unreadable)?;
    let is_private = not_private(&file).map_err(unreadable)?.is_none();
    let text = io::read_to_string(file).map_err(unreadable)?;
    let mut config = parse(path, &text, builtins)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let places = SecretSources {
        folder,
        is_private,
        environment: &|name| std::env::var(name).ok(),
    };
    let found = find_secrets(&mut config, &places);
    resolve_paths(&mut config, folder);
    located(path, &text, found, config)
}

/// Parses the text of a file; `path` is for error messages. Secrets are not looked up.
///
/// # Errors
/// Returns the first syntax error, unknown key or wrong type; if there is none, all other mistakes.
pub fn parse(path: &Path, text: &str, builtins: &[&'static str]) -> Result<Config, ConfigErrors> {
    match toml::from_str::<Config>(text) {
        Ok(config) => {
            let found = check(&config, text, builtins);
            located(path, text, found, config)
        }
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let lines: Vec<&str> = error.message().lines().map(str::trim).collect();
            let problem = Problem::Rejected(lines.join("; "));
            Err(errors(path, text, vec![(at, problem)]))
        }
    }
}

fn located(path: &Path, text: &str, found: Found, config: Config) -> Result<Config, ConfigErrors> {
    match found.is_empty() {
        true => Ok(config),
        false => Err(errors(path, text, found)),
    }
}

fn errors(path: &Path, text: &str, mut found: Found) -> ConfigErrors {
    found.sort_by_key(|(at, _)| *at);
    let error = |(at, problem): (usize, Problem)| {
        let (line, column) = position(text, at);
        let key = match problem {
            Problem::NoAgent => String::new(),
            _ => key(text, at),
        };
        ConfigError {
            path: path.to_owned(),
            line,
            column,
            key,
            problem,
        }
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
        let tokens = agent
            .access
            .values_mut()
            .filter_map(|check| check.token.as_mut());
        tokens
            .filter_map(|token| token.jwks_file.as_mut())
            .for_each(beside);
        agent.card_file.iter_mut().for_each(beside);
        if let Some(super::Auth::Federated(federated)) = &mut agent.auth
            && let super::Assertion::File(path) = &mut federated.assertion
        {
            beside(path);
        }
    }
}
