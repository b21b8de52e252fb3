//! What is looked at, wherever it is.

use std::{
    convert::Infallible,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use bridge_client::Signers;
use bridge_protocol::{
    dialect::places,
    lint::{Finding, Level, lint},
};
use serde_json::Value;
use url::Url;

use super::{CheckError, show::Report, signed};
use crate::{
    auth, bot,
    cli::card_file,
    config::{self, Config, ConfigError, ConfigErrors},
};

/// Something that can be looked at.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// A card in a file.
    File(PathBuf),
    /// A configuration.
    Configuration(PathBuf),
    /// A card, or an agent that has one.
    Address(Url),
}

impl FromStr for Subject {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let is_web = text.starts_with("http://") || text.starts_with("https://");
        let path = PathBuf::from(text);
        Ok(match Url::parse(text) {
            Ok(url) if is_web => Self::Address(url),
            Ok(_) | Err(_) => match path.extension().is_some_and(|ending| ending == "toml") {
                true => Self::Configuration(path),
                false => Self::File(path),
            },
        })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) | Self::Configuration(path) => path.display().fmt(f),
            Self::Address(url) => url.fmt(f),
        }
    }
}

impl Subject {
    /// What is wrong with it. With signers somebody of them has to have signed it, if it is a card.
    pub(super) async fn check(&self, signers: Option<&Signers>) -> Result<Report, CheckError> {
        let document = match self {
            Self::Configuration(path) => return configuration(path),
            Self::File(path) => card_file::document(path).map_err(CheckError::Unreadable)?,
            Self::Address(url) => fetch(url).await?,
        };
        let (generation, mut findings) = lint(&document);
        let mut signed = None;
        if let Some(signers) = signers {
            match signed::check(signers, &document).await {
                Ok(by) => signed = Some(by),
                Err(finding) => findings.insert(0, finding),
            }
        }
        Ok(Report {
            generation,
            signed,
            findings,
        })
    }
}

/// The card at an address: there if it says that it is JSON, else where cards lie.
async fn fetch(url: &Url) -> Result<Value, CheckError> {
    let unreachable = |error: auth::FetchError| CheckError::Unreachable(error.to_string());
    if url.path().ends_with(".json") {
        return auth::document(url).await.map_err(unreachable);
    }
    let mut first = None;
    for path in places::SPECIFIED {
        let mut place = url.clone();
        place.set_query(None);
        place.set_path(&places::below(url.path(), path));
        match auth::document(&place).await {
            Ok(document) => return Ok(document),
            Err(error) => first = first.or(Some(error)),
        }
    }
    let nowhere = || CheckError::Unreachable(format!("{url}: there is no place to look"));
    Err(first.map_or_else(nowhere, unreachable))
}

/// What is wrong with a configuration, and with the cards that it names.
fn configuration(path: &Path) -> Result<Report, CheckError> {
    let builtins = bot::BUILTINS.map(|(name, _)| name);
    let mut report = Report::default();
    match config::read(path, &builtins) {
        Err(ConfigErrors(errors)) => {
            report.findings.extend(errors.iter().map(mistake));
        }
        Ok(config) => {
            report.findings.extend(in_the_clear(&config));
            for file in config
                .agents
                .iter()
                .filter_map(|agent| agent.card_file.as_deref())
            {
                let document = card_file::document(file).map_err(CheckError::Unreadable)?;
                let (_, found) = lint(&document);
                let name = file.display();
                report.findings.extend(found.into_iter().map(|one| Finding {
                    path: format!("{name}: {}", one.path),
                    ..one
                }));
            }
        }
    }
    Ok(report)
}

/// What webhooks are shown is kept as it came, unless there is a key.
fn in_the_clear(config: &Config) -> Option<Finding> {
    let is_on = config.push.enabled.unwrap_or(true) && config.push.seal.is_empty();
    let is_kept = config
        .store
        .as_ref()
        .is_none_or(|store| store.get_ref() != "memory");
    (is_on && is_kept).then(|| Finding {
        level: Level::Note,
        rule: "configuration",
        path: "push.seal".to_owned(),
        message: "the tokens and credentials of webhooks are kept in the clear, in files of the bridge's user \
                  alone"
            .to_owned(),
        fix: "write a key with `openssl rand -base64 32` and name it: seal = [{ file = \"push.key\" }]".to_owned(),
    })
}

fn mistake(error: &ConfigError) -> Finding {
    Finding {
        level: Level::Error,
        rule: "configuration",
        path: format!("{}:{} {}", error.line, error.column, error.key),
        message: error.problem.to_string(),
        fix: "see `bridge config schema`, which editors complete keys by".to_owned(),
    }
}
