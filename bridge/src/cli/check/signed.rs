//! Verifies the signatures of cards.

use std::{collections::BTreeMap, path::Path};

use bridge_client::{Credentials, Signers, discovery::DiscoveryOptions};
use bridge_program::Exit;
use bridge_protocol::jose::{Jwk, Jwks};
use bridge_verify::lint::{Finding, Level};
use serde_json::Value;
use url::Url;

use super::{Result, subject};
use crate::cli::{card_file, exit_code::failure};

/// Returns the trusted signers, if a signature is required.
pub(super) fn signers(keys: Option<&Path>, places: &[Url]) -> Result<Option<Signers>> {
    if keys.is_none() && places.is_empty() {
        return Ok(None);
    }
    let known = keys.map_or(Ok(Vec::new()), read)?;
    let signers = places.iter().cloned();
    Ok(Some(signers.fold(Signers::keys(known), Signers::and_sets_below)))
}

fn read(path: &Path) -> Result<Vec<Jwk>> {
    let document = card_file::document(path)?;
    let wrong = || format!("{}: expected a set of keys: {{\"keys\": [..]}}", path.display());
    let set = Jwks::read(document).ok_or_else(wrong).map_err(failure(Exit::Unreadable))?;
    Ok(set.keys)
}

/// Returns the id of the key that has signed a card, or else the finding that no key has. Keys are fetched without
/// the credentials for the agent.
pub(super) async fn check(
    signers: &Signers,
    card: &Value,
    options: &DiscoveryOptions,
) -> Result<String, Finding> {
    let options = DiscoveryOptions { credentials: Credentials::default(), ..options.clone() };
    let (mut fetched, mut missing) = (BTreeMap::new(), Vec::new());
    for url in signers.key_sets(card) {
        let document = subject::document(&url, &options).await;
        match document.map(|(document, _)| Jwks::read(document)) {
            Ok(Some(keys)) => drop(fetched.insert(url, keys)),
            Ok(None) => missing.push(format!("{url} is no set of keys")),
            Err(error) => missing.push(error.to_string()),
        }
    }
    let verified = signers.verify(card, &fetched);
    verified.map(|signed| signed.key_id).map_err(|error| Finding {
        level: Level::Error,
        rule: "signature",
        path: "signatures".to_owned(),
        message: [&[error.to_string()], missing.as_slice()].concat().join("; "),
        fix: "have the card signed by a key that is trusted here, or trust its key".to_owned(),
    })
}
