//! Several agents at one address: the catalogue of whoever hosts them.

use bridge_protocol::wire::FieldError;
use serde_json::Value;
use url::Url;

use super::{Discovered, DiscoveryError, DiscoveryOptions, discover, fetch::Fetcher};

/// Where this project's hosts have theirs.
const CATALOGUE: &str = "/a2a/catalog";

/// Finds all agents at `target`: those of a catalogue, `{"agents": [CARD, ...]}`, if that is what is there,
/// or else the one that [`discover`] finds; if there is none, those of the catalogue at the origin.
///
/// # Errors
/// As [`discover`]. A card of the catalogue that cannot be read is an error too: it names the card.
pub async fn discover_all(
    target: &Url,
    options: &DiscoveryOptions,
) -> Result<Vec<Discovered>, DiscoveryError> {
    let is_site = target.path() == "/" && target.query().is_none();
    if !is_site && let Some(agents) = listed(target, options).await? {
        return Ok(agents);
    }
    let missing = match discover(target, options).await {
        Ok(agent) => return Ok(vec![agent]),
        Err(error) => error,
    };
    let mut catalogue = target.clone();
    catalogue.set_path(CATALOGUE);
    match missing.is_not_found() {
        true => listed(&catalogue, options).await?.ok_or(missing),
        false => Err(missing),
    }
}

/// The agents of the catalogue at an address, if one is there. Whatever else is there, or broken, is left to
/// those who look for cards.
async fn listed(
    place: &Url,
    options: &DiscoveryOptions,
) -> Result<Option<Vec<Discovered>>, DiscoveryError> {
    let fetcher = Fetcher::new(place, options)?;
    let body = match fetcher.get(place).await {
        Ok(Some((_, body))) => body,
        Err(error) if error.is_final() => return Err(error),
        Ok(None) | Err(_) => return Ok(None),
    };
    let document: Value = serde_json::from_slice(&body).unwrap_or_default();
    let Some(cards) = document.get("agents").and_then(Value::as_array) else {
        return Ok(None);
    };
    let mut agents = Vec::new();
    for (index, card) in cards.iter().enumerate() {
        let agent = Discovered::from_card(card.clone(), place.clone());
        let agent = agent.map_err(|error| named(error, index))?;
        agents.push(fetcher.allowed(agent).await?);
    }
    Ok(Some(agents))
}

/// The error with the card's place in the list.
fn named(error: DiscoveryError, index: usize) -> DiscoveryError {
    match error {
        DiscoveryError::NotACard { url, why } => DiscoveryError::NotACard {
            url,
            why: FieldError::at(why, index).inside("agents"),
        },
        other => other,
    }
}
