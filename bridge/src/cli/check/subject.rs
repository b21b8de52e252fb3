//! Reads the subjects of the check: files, addresses and configurations.

use std::{
    convert::Infallible,
    error::Error,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use bridge_client::{
    Signers,
    discovery::{DiscoveryOptions, fetch_document},
};
use bridge_program::Exit;
use bridge_protocol::{dialect::places, wire};
use bridge_verify::lint::{Finding, Level, duplicates, lint};
use url::Url;

use super::{Result, show::Report, signed};
use crate::{
    builtin,
    cli::{
        address::{self, shown},
        card_file,
        exit_code::{self, failure},
        serve,
    },
    config::{self, AgentConfig, Config, ConfigError},
};
use serde_json::Value;

/// A subject of the check.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// A card in a file.
    File(PathBuf),
    /// A configuration file.
    Configuration(PathBuf),
    /// A card, or an agent with a card.
    Address(Url),
}

impl FromStr for Subject {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let path = PathBuf::from(text);
        if path.extension().is_some_and(|ending| ending == "toml") && !text.contains("://") {
            return Ok(Self::Configuration(path));
        }
        Ok(match address::parse(text) {
            Ok(url) if !path.exists() => Self::Address(url),
            Ok(_) | Err(_) => Self::File(path),
        })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) | Self::Configuration(path) => path.display().fmt(f),
            Self::Address(url) => shown(url).fmt(f),
        }
    }
}

impl Subject {
    /// Checks the subject. With `signers`, a card must be signed by one of them.
    pub(super) async fn check(
        &self,
        signers: Option<&Signers>,
        options: &DiscoveryOptions,
    ) -> Result<Report> {
        let (document, text) = match self {
            Self::Configuration(path) => return configuration(path).await,
            Self::File(path) => {
                let text = card_file::text(path)?;
                (card_file::parsed(path, &text)?, text)
            }
            Self::Address(url) => fetch(url, options).await?,
        };
        let (generation, mut findings) = lint(&document);
        findings.splice(0..0, duplicates(&text));
        let mut signed = None;
        if let Some(signers) = signers {
            match signed::check(signers, &document, options).await {
                Ok(by) => signed = Some(by),
                Err(finding) => findings.insert(0, finding),
            }
        }
        Ok(Report { generation, signed, findings, ..Report::default() })
    }
}

/// Fetches the card at an address: the document itself if the path ends with .json, else the card at the
/// usual locations.
async fn fetch(url: &Url, options: &DiscoveryOptions) -> Result<(Value, Vec<u8>)> {
    if url.path().ends_with(".json") {
        return document(url, options).await;
    }
    let mut first = None;
    for path in places::SPECIFIED {
        let mut place = url.clone();
        place.set_query(None);
        place.set_path(&places::below(url.path(), path));
        match document(&place, options).await {
            Ok(found) => return Ok(found),
            Err(error) => first = first.or(Some(error)),
        }
    }
    let nowhere = || format!("{url}: no address of a card can be derived from it");
    Err(first.unwrap_or_else(|| failure(Exit::Infrastructure)(nowhere()).into()))
}

/// Fetches a JSON document, and returns it with its text.
pub(super) async fn document(url: &Url, options: &DiscoveryOptions) -> Result<(Value, Vec<u8>)> {
    let fetched = fetch_document(url, options).await;
    let text = fetched.map_err(failure(Exit::Infrastructure))?;
    let missing = |found| failure(Exit::Infrastructure)(format!("{}: {found}", shown(url)));
    let text = text.ok_or_else(|| missing("there is nothing (HTTP status 404)".to_owned()))?;
    let document = wire::from_slice(&text);
    let document = document.map_err(|error| missing(error.to_string()))?;
    Ok((document, text))
}

/// Checks a configuration and the cards that it names.
async fn configuration(path: &Path) -> Result<Report> {
    let mut report = Report { is_configuration: true, ..Report::default() };
    match config::read(path, &builtin::names()) {
        Err(errors) => {
            if let Some(unreadable) = errors.0.iter().find(|error| error.is_unreadable()) {
                return Err(failure(Exit::Unreadable)(unreadable.problem.to_string()).into());
            }
            report.is_unreadable = exit_code::of(&errors) == Exit::Unreadable;
            report.findings.extend(errors.0.iter().map(mistake));
        }
        Ok(config) => {
            if let Err(error) = serve::judge(&config).await {
                report.is_unreadable = exit_code::of(&*error) == Exit::Unreadable;
                report.findings.push(refused(&*error));
            }
            report.findings.extend(config.agents.iter().filter_map(waits));
            report.findings.extend(in_the_clear(&config));
            report.findings.extend(certificate(&config));
            for file in config.agents.iter().filter_map(|agent| agent.card_file.as_deref()) {
                let document = card_file::document(file)?;
                let (_, found) = lint(&document);
                let name = file.display();
                let named = |one: Finding| Finding { path: format!("{name}: {}", one.path), ..one };
                report.findings.extend(found.into_iter().map(named));
            }
        }
    }
    Ok(report)
}

/// Reports why the configuration could not be served.
fn refused(error: &dyn Error) -> Finding {
    let fix = "correct it: bridge serve refuses to start with this configuration";
    finding(Level::Error, "bridge serve", error.to_string(), fix)
}

fn finding(level: Level, path: impl Into<String>, message: String, fix: &str) -> Finding {
    let (path, fix) = (path.into(), fix.to_owned());
    Finding { level, rule: "configuration", path, message, fix }
}

/// Warns about a bot whose turns do not end with its HTTP answer, because clients have to wait longer.
fn waits(agent: &AgentConfig) -> Option<Finding> {
    let serve::WaitNotice { key, message, is_endless } = serve::awaited(agent)?;
    let (level, fix) = match is_endless {
        true => (
            Level::Warning,
            "leave it out, unless the bot ends its conversations (endOfConversation)",
        ),
        false => (Level::Note, "leave it out, unless the bot answers after its turn"),
    };
    Some(finding(level, format!("agents.{}.{key}", agent.name.text), message, fix))
}

/// Warns of a certificate that clients refuse, now or soon.
fn certificate(config: &Config) -> Option<Finding> {
    let fix = "put a new certificate and key into the files";
    Some(finding(Level::Warning, "tls.certificate", serve::concern(config)?, fix))
}

/// Warns that webhook secrets are stored unencrypted without a key.
fn in_the_clear(config: &Config) -> Option<Finding> {
    let is_on = config.push.enabled.unwrap_or(true) && config.push.seal.is_empty();
    let is_kept = config.store.as_ref().is_none_or(|store| {
        store.get_ref().0.place.as_ref().is_none_or(|place| place.0 != "memory")
    });
    let message = "the tokens and credentials of webhooks are kept in the clear: \
                   in files of the bridge's user alone, or in the database";
    let fix =
        "write a key with `openssl rand -base64 32` and name it: seal = [{ file = \"push.key\" }]";
    (is_on && is_kept).then(|| finding(Level::Note, "push.seal", message.to_owned(), fix))
}

fn mistake(error: &ConfigError) -> Finding {
    let path = format!("{}:{} {}", error.line, error.column, error.key);
    let fix = "`bridge config schema` prints the schema, with which editors complete keys";
    finding(Level::Error, path, error.problem.to_string(), fix)
}
