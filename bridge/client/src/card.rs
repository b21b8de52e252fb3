//! Finds and fetches an agent's card.

use bridge_http::Connections;
use bridge_protocol::{
    a2a::AgentCard,
    dialect::{Version, places},
    wire,
};
use reqwest::{Method, header::IF_NONE_MATCH};
use url::Url;

use crate::{
    CardCache, Fault, Options, Result, card_url,
    http::{HttpResponse, within},
    lenient_card, without_user,
};

/// Finds the card of the agent at `base`, which may be the address of the card itself. If there is none, the error has the
/// locations that were tried, and the fault of the first of them.
pub(crate) async fn find(http: &Connections, base: &Url, options: &Options) -> Result<AgentCard> {
    let limit = options.limits.card;
    let mut first = None;
    let mut tried = Vec::new();
    for url in places_of(base) {
        let fetched = within(limit, fetch(http, &url, options)).await;
        tried.push(url);
        match fetched {
            Ok(card) => return Ok(card),
            Err(fault) => {
                let is_final = is_final(&fault);
                first = first.or(Some(fault));
                if is_final {
                    break;
                }
            }
        }
    }
    let fault = first.unwrap_or_else(|| {
        Fault::Unreachable("no address of a card can be derived from it".into())
    });
    if matches!(fault, Fault::Http { status: 404, .. })
        && let Some(card) = at_origin(http, base, options).await
    {
        return Ok(card);
    }
    Err(options.credentials.mask_fault(fault).of_card_at(&tried))
}

/// Returns the card at the origin of an address with a path, if it names that path: many servers accept messages below a
/// path, and show their only card at the origin. A card of another path is that of another agent.
async fn at_origin(http: &Connections, base: &Url, options: &Options) -> Option<AgentCard> {
    let path = card_url::path(base);
    if path.is_empty() || card_url::is_card(base) {
        return None;
    }
    for place in places::SPECIFIED {
        let url = card_url::with_path(base, &places::below("", place));
        if let Ok(card) = within(options.limits.card, fetch(http, &url, options)).await {
            let names = |url: Url| card_url::path(&url) == path;
            let mut interfaces = card.supported_interfaces.iter();
            let is_named = interfaces.any(|one| Url::parse(&one.url).is_ok_and(names));
            return is_named.then_some(card);
        }
    }
    None
}

/// Returns the addresses to search for the card.
fn places_of(base: &Url) -> Vec<Url> {
    match card_url::is_card(base) {
        true => vec![card_url::without_fragment(base)],
        false => places::SPECIFIED.map(|path| below(base, path)).into(),
    }
}

/// Returns whether the error would be the same at the next location: the server cannot be reached, is not trusted or
/// did not answer in time.
fn is_final(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::Unconnected(_)
            | Fault::Unreachable(_)
            | Fault::Private { .. }
            | Fault::Certificate(_)
            | Fault::Timeout(_)
    )
}

async fn fetch(http: &Connections, url: &Url, options: &Options) -> Result<AgentCard, Fault> {
    let limits = &options.limits;
    let kept = options.cards.get(url.as_str());
    let request = http.request(Method::GET, url.clone());
    let request = match options.credentials.check(url, url) {
        Ok(()) => options.credentials.apply_to(request),
        // The credentials belong to another server, and most cards are public.
        Err(_) => request,
    };
    // A server of 1.0 answers a request of 1.0 with the card of 1.0, which is the signed one (3.6, 8.4).
    let request = match options.version {
        None | Some(Version::V1_0) => request.header("A2A-Version", Version::V1_0.as_str()),
        Some(Version::V0_1 | Version::V0_3) => request,
    };
    let request = match &kept {
        Some(kept) => request.header(IF_NONE_MATCH, &kept.etag),
        None => request,
    };
    let sent = http.send(request).await;
    let reply = sent.map_err(|error| Fault::transport(&error, limits.card))?;
    let answer = HttpResponse::read(reply, limits).await?;
    match (answer.status, kept) {
        (304, Some(kept)) => Ok(kept.card),
        _ if !answer.is_success() => Err(answer.refused()),
        _ => read(answer, url, &options.cards),
    }
}

fn read(answer: HttpResponse, url: &Url, cards: &CardCache) -> Result<AgentCard, Fault> {
    let document = wire::from_slice(&answer.body);
    let read = document.and_then(|document| lenient_card::read(document, without_user(url)));
    let (card, _) = read.map_err(Fault::Invalid)?;
    if let Some(etag) = answer.etag {
        cards.keep(url.as_str(), etag, card.clone());
    }
    Ok(card)
}

/// Appends `path` to the path of `base`, whether or not `base` ends with a slash.
fn below(base: &Url, path: &str) -> Url {
    card_url::with_path(base, &places::below(base.path(), path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_put_below_the_base() {
        for (base, url) in [
            ("http://h:1", "http://h:1/.well-known/agent.json"),
            ("http://h:1/", "http://h:1/.well-known/agent.json"),
            ("http://h:1/a2a?x=1", "http://h:1/a2a/.well-known/agent.json"),
        ] {
            let base = Url::parse(base).unwrap();
            assert_eq!(below(&base, ".well-known/agent.json").as_str(), url);
        }
    }
}
