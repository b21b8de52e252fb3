//! Discovery: what is known of a site or an agent's address becomes an agent that can be asked for
//! something.
//!
//! - [`discover`]: the agent at an address
//! - [`discover_all`]: the agents of a catalogue
//! - [`Discovered`]: its card, where that was, how to speak to it, and its skills
//! - [`Skill`]: something that it can be asked for, with the schema of what it takes
//! - [`DiscoveryOptions`]: limits, and what is allowed
//! - [`DiscoveryError`]: why there is none; [`DiscoveryError::NotFound`] if nothing broke

mod catalogue;
mod discovered;
mod error;
mod fetch;
mod options;
mod places;
mod skill;

use bridge_protocol::wire::FieldError;
use url::Url;

pub use catalogue::discover_all;
pub use discovered::{Discovered, Reach};
pub use error::DiscoveryError;
pub use options::DiscoveryOptions;
pub use skill::Skill;

use fetch::Fetcher;

/// Finds the agent at `target`: a site, an agent's address, or the address of a card itself.
///
/// Looked at are `.well-known/agent-card.json`, `.well-known/agent.json`, `agent.json` and `agent-card`, below
/// the path of `target` and then at its origin; the first card wins, whatever its generation.
///
/// # Errors
/// [`DiscoveryError::NotFound`] if every place answers that nothing is there. If no place has a card and
/// one of them broke, what broke first.
pub async fn discover(
    target: &Url,
    options: &DiscoveryOptions,
) -> Result<Discovered, DiscoveryError> {
    let looked = look(target, options);
    let looked = tokio::time::timeout(options.total, looked).await;
    looked.unwrap_or_else(|_| {
        Err(DiscoveryError::Timeout {
            url: target.to_string(),
            limit: options.total,
        })
    })
}

async fn look(target: &Url, options: &DiscoveryOptions) -> Result<Discovered, DiscoveryError> {
    let fetcher = Fetcher::new(target, options)?;
    let mut broken = None;
    let tried = places::of(target);
    for place in &tried {
        match card_at(&fetcher, place).await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            // Nobody is there, or must not be asked: the other places would only repeat it.
            Err(error) if error.is_final() => return Err(error),
            Err(error) => broken = broken.or(Some(error)),
        }
    }
    let target = target.to_string();
    Err(broken.unwrap_or(DiscoveryError::NotFound { target, tried }))
}

async fn card_at(fetcher: &Fetcher<'_>, place: &Url) -> Result<Option<Discovered>, DiscoveryError> {
    let Some((url, body)) = fetcher.get(place).await? else {
        return Ok(None);
    };
    let document = serde_json::from_slice(&body).map_err(|error| DiscoveryError::NotACard {
        url: url.to_string(),
        why: FieldError::new("JSON", error.to_string()),
    })?;
    let found = Discovered::from_card(document, url)?;
    fetcher.allowed(found).await.map(Some)
}
