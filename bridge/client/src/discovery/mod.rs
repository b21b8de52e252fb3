//! Discovery finds an agent from an address that a person knows: a site, an agent, or a card.
//!
//! - [`discover`]: finds the agent at an address
//! - [`discover_all`]: finds the agents of a catalogue
//! - [`fetch_document`]: returns a document, such as a card, as it is
//! - [`Discovered`]: the agent's card, where it was found, the agent's endpoints and skills
//! - [`Skill`]: a capability of the agent, with the schema of its parameters
//! - [`DiscoveryOptions`]: limits and permissions
//! - [`DiscoveryError`]: why there is no agent; [`DiscoveryError::NotFound`] if nothing failed

mod catalogue;
mod discovered;
mod error;
mod fetch;
mod locations;
mod options;
mod skill;

use bridge_protocol::wire;
use url::Url;

pub use catalogue::discover_all;
pub use discovered::{AgentEndpoint, Discovered};
pub use error::{DiscoveryError, Result};
pub use options::DiscoveryOptions;
pub use skill::Skill;

use crate::interface::without_user;
use fetch::Fetcher;

/// Finds the agent at `target`: a site, an agent's address, or the address of a card itself.
///
/// The locations searched are `.well-known/agent-card.json`, `.well-known/agent.json`, `agent.json` and
/// `agent-card`, below the path of `target` and then at its origin. The first card is used, whatever its
/// generation.
///
/// # Errors
/// [`DiscoveryError::NotFound`] if every location answers that it has no card. If no location has a card and
/// some failed, the error of the first that failed.
pub async fn discover(target: &Url, options: &DiscoveryOptions) -> Result<Discovered> {
    in_time(target, options, fetch_card(target, options)).await
}

/// Limits the time of a discovery.
async fn in_time<T>(
    target: &Url,
    options: &DiscoveryOptions,
    looking: impl Future<Output = Result<T>>,
) -> Result<T> {
    let looked = tokio::time::timeout(options.total, looking).await;
    looked.unwrap_or_else(|_| {
        Err(DiscoveryError::Timeout { url: without_user(target), limit: options.total })
    })
}

/// Returns the bytes of the document at `url`, or `None` if there is nothing.
///
/// # Errors
/// If the document cannot be fetched within the limits of `options`.
pub async fn fetch_document(url: &Url, options: &DiscoveryOptions) -> Result<Option<Vec<u8>>> {
    let found = Fetcher::new(url, options)?.get(url).await?;
    Ok(found.map(|(_, body)| body))
}

async fn fetch_card(target: &Url, options: &DiscoveryOptions) -> Result<Discovered> {
    let fetcher = Fetcher::new(target, options)?;
    let mut broken = None;
    let tried = locations::of(target);
    for place in &tried {
        match card_at(&fetcher, place).await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            // The other locations would give the same error.
            Err(error) if error.is_final() => return Err(error),
            Err(error) => broken = broken.or(Some(error)),
        }
    }
    let target = without_user(target);
    Err(broken.unwrap_or(DiscoveryError::NotFound { target, tried }))
}

async fn card_at(fetcher: &Fetcher<'_>, place: &Url) -> Result<Option<Discovered>> {
    let Some((url, body)) = fetcher.get(place).await? else {
        return Ok(None);
    };
    let document = wire::from_slice(&body)
        .map_err(|why| DiscoveryError::NotACard { url: without_user(&url), why })?;
    let found = Discovered::from_card(document, url)?;
    fetcher.allowed(found).await.map(Some)
}
