//! Catalogues: documents that list all agents of a host.

use bridge_protocol::wire::{self, FieldError};
use serde_json::Value;
use url::Url;

use super::{
    Discovered, DiscoveryError, DiscoveryOptions, Result, fetch::Fetcher, fetch_card, in_time,
};

/// The path of the catalogue of this project's servers.
const CATALOGUE: &str = "/a2a/catalog";

/// Finds all agents at `target`. If a catalogue, `{"agents": [CARD, ...]}`, is there, returns its agents;
/// otherwise the agent that [`discover`](super::discover) finds; if there is none, the agents of the catalogue at the origin.
///
/// # Errors
/// The errors of [`discover`](super::discover). A card of the catalogue that cannot be read is an error too, which names the
/// card.
pub async fn discover_all(target: &Url, options: &DiscoveryOptions) -> Result<Vec<Discovered>> {
    in_time(target, options, fetch_all(target, options)).await
}

async fn fetch_all(target: &Url, options: &DiscoveryOptions) -> Result<Vec<Discovered>> {
    let is_site = target.path() == "/" && target.query().is_none();
    if !is_site && let Some(agents) = listed(target, options).await? {
        return Ok(agents);
    }
    let missing = match fetch_card(target, options).await {
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

/// Returns the agents of the catalogue at this address, or `None` if there is no catalogue. Other documents and most
/// errors give `None` too, because the address is then searched for a card.
async fn listed(place: &Url, options: &DiscoveryOptions) -> Result<Option<Vec<Discovered>>> {
    let fetcher = Fetcher::new(place, options)?;
    let body = match fetcher.get(place).await {
        Ok(Some((_, body))) => body,
        Err(error) if error.is_final() => return Err(error),
        Ok(None) | Err(_) => return Ok(None),
    };
    let document: Value = wire::from_slice(&body).unwrap_or_default();
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

/// Adds the card's index in the list to the error.
fn named(error: DiscoveryError, index: usize) -> DiscoveryError {
    match error {
        DiscoveryError::NotACard { url, why } => {
            DiscoveryError::NotACard { url, why: FieldError::at(why, index).inside("agents") }
        }
        other => other,
    }
}
