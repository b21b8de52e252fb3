//! An agent's card: where it lies, and which of its interfaces to use.

use bridge_protocol::{
    a2a::{AgentCard, AgentInterface},
    dialect::{Version, card},
};
use url::Url;

use crate::{
    ClientError, Fault, Limits,
    rpc::{beginning, read_body, within},
};

/// Where cards lie: 0.3 and 1.0, then 0.2 and before.
const PATHS: [&str; 2] = [".well-known/agent-card.json", ".well-known/agent.json"];

/// Fetches the card of the agent at `base`.
///
/// # Errors
/// The error of the first place looked at, unless a later one holds a card.
pub async fn fetch_card(
    http: &reqwest::Client,
    base: &Url,
    limits: &Limits,
) -> Result<AgentCard, ClientError> {
    let mut first = None;
    for path in PATHS {
        match within(limits.card, fetch(http, base, path, limits)).await {
            Ok(card) => return Ok(card),
            // Nobody there, or something that took all the time: the next place would only repeat it.
            Err(fault @ (Fault::Unreachable(_) | Fault::Timeout(_))) => {
                return Err(fault.of(base.as_str(), "card"));
            }
            Err(fault) => first = first.or(Some(fault)),
        }
    }
    let fault = first.unwrap_or_else(|| Fault::Unreachable("there is no place to look".into()));
    Err(fault.of(base.as_str(), "card"))
}

async fn fetch(
    http: &reqwest::Client,
    base: &Url,
    path: &str,
    limits: &Limits,
) -> Result<AgentCard, Fault> {
    let sent = http.get(below(base, path)).send().await;
    let reply = sent.map_err(|error| Fault::transport(&error, limits.card))?;
    let status = reply.status();
    let body = read_body(reply, limits).await?;
    if !status.is_success() {
        return Err(Fault::Http {
            status: status.as_u16(),
            body: beginning(&body),
        });
    }
    let (card, _) = bridge_protocol::wire::from_slice(&body)
        .and_then(card::read)
        .map_err(Fault::Invalid)?;
    Ok(card)
}

/// `path` below `base`, whether or not `base` ends with a slash.
fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url
}

/// The interface to use: JSON-RPC, the wanted version or else the newest.
pub(crate) fn choose(
    card: &AgentCard,
    wanted: Option<Version>,
) -> Result<(&AgentInterface, Version), Fault> {
    let versions = match wanted {
        Some(version) => vec![version],
        None => vec![Version::V1_0, Version::V0_3],
    };
    let find = |version| {
        let interface = card
            .supported_interfaces
            .iter()
            .find(|one| speaks(one, version));
        interface.map(|interface| (interface, version))
    };
    versions
        .iter()
        .copied()
        .find_map(find)
        .ok_or_else(|| Fault::NoInterface {
            offered: offered(card),
            needed: needed(&versions),
        })
}

fn speaks(interface: &AgentInterface, version: Version) -> bool {
    let json_rpc = interface.protocol_binding.eq_ignore_ascii_case("JSONRPC");
    let spoken = match version {
        // Cards had no place for it yet, so whoever wants 0.1 tries it at the address there is.
        Version::V0_1 => true,
        Version::V0_3 | Version::V1_0 => Version::of(&interface.protocol_version) == Some(version),
    };
    json_rpc && spoken
}

fn offered(card: &AgentCard) -> String {
    let shown: Vec<_> = card
        .supported_interfaces
        .iter()
        .map(|one| format!("{} {}", one.protocol_binding, one.protocol_version))
        .collect();
    match shown.is_empty() {
        true => "no interface".to_owned(),
        false => shown.join(", "),
    }
}

fn needed(versions: &[Version]) -> String {
    let shown: Vec<_> = versions
        .iter()
        .map(|version| format!("JSONRPC {}", version.as_str()))
        .collect();
    shown.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_put_below_the_base() {
        for (base, url) in [
            ("http://h:1", "http://h:1/.well-known/agent.json"),
            ("http://h:1/", "http://h:1/.well-known/agent.json"),
            (
                "http://h:1/a2a?x=1",
                "http://h:1/a2a/.well-known/agent.json",
            ),
        ] {
            let base = Url::parse(base).unwrap();
            assert_eq!(below(&base, ".well-known/agent.json").as_str(), url);
        }
    }
}
