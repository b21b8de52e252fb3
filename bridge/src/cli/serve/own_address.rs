//! Finds bots whose URL leads to the bridge itself, which would get its own activities and refuse them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::{Host, Url};

use super::addresses;
use crate::config::Config;

/// Refuses the URL of a bot if only the bridge can answer there, and warns of one where another program might answer, too.
/// The public URL is not compared: a proxy may lead other paths of it to bots.
pub(super) fn check(config: &Config) -> Result<(), String> {
    let listening = addresses::listen(config);
    let callbacks = addresses::callback_listen(config, listening);
    let grpc = addresses::grpc_listen(config);
    let own: Vec<SocketAddr> = [Some(listening), grpc, callbacks].into_iter().flatten().collect();
    for agent in &config.agents {
        let Some(bot) = &agent.bot else {
            continue;
        };
        let name = &agent.name.text;
        // The rest of the URL may be secret.
        let url = bot.0.origin().ascii_serialization();
        match leads_to(&bot.0, &own) {
            Destination::Elsewhere => {}
            Destination::Here(address) => {
                return Err(format!(
                    "the bot {name}: {url} is the bridge's own address {address}: start the bot at another port, or the \
                     bridge with another --listen (listen)"
                ));
            }
            Destination::MaybeHere(address) => tracing::warn!(
                "the bot {name}: {url} leads to the bridge's own address {address}, unless the bot listens at the same \
                 port of another address"
            ),
        }
    }
    Ok(())
}

/// Where a URL leads.
#[derive(Debug, PartialEq, Eq)]
enum Destination {
    Elsewhere,
    Here(SocketAddr),
    MaybeHere(SocketAddr),
}

/// Returns where a URL leads, if the bridge listens at these addresses. A port that the system chooses is in no URL.
fn leads_to(url: &Url, own: &[SocketAddr]) -> Destination {
    let own = own.iter().filter(|own| Some(own.port()) == url.port_or_known_default());
    let targets = targets(url);
    let reached = |own: &SocketAddr, target: &IpAddr| is_at(own.ip(), *target);
    if let Some(first) = own.clone().next()
        && !targets.is_empty()
        && targets.iter().all(|target| own.clone().any(|own| reached(own, target)))
    {
        return Destination::Here(*first);
    }
    // On some systems a listener for all addresses of IPv6 gets those of IPv4, too.
    let may_reach = |own: &SocketAddr, target: &IpAddr| {
        own.ip() == Ipv6Addr::UNSPECIFIED && target.is_loopback() || reached(own, target)
    };
    let found = own.clone().find(|own| targets.iter().any(|target| may_reach(own, target)));
    found.map_or(Destination::Elsewhere, |own| Destination::MaybeHere(*own))
}

/// Returns the addresses to which a URL leads for certain, without a query of names: none for a name other than localhost,
/// which has two.
fn targets(url: &Url) -> Vec<IpAddr> {
    let loopback = [Ipv4Addr::LOCALHOST.into(), IpAddr::from(Ipv6Addr::LOCALHOST)];
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::from(address),
        Some(Host::Ipv6(address)) => IpAddr::from(address).to_canonical(),
        Some(Host::Domain("localhost")) => return loopback.to_vec(),
        Some(Host::Domain(_)) | None => return Vec::new(),
    };
    // A connection to the unspecified address is one to this machine.
    let is_of_its_kind = |one: &IpAddr| one.is_ipv4() == address.is_ipv4();
    match address.is_unspecified() {
        true => loopback.into_iter().filter(is_of_its_kind).collect(),
        false => vec![address],
    }
}

/// Returns whether a listener at `own` gets all connections to `target`.
fn is_at(own: IpAddr, target: IpAddr) -> bool {
    let is_any = own.is_unspecified() && own.is_ipv4() == target.is_ipv4() && target.is_loopback();
    own.to_canonical() == target || is_any
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::parse;

    #[test]
    fn only_the_own_addresses_lead_here() {
        let here = |own: &str, url: &str| match leads_to(
            &Url::parse(url).unwrap(),
            &[own.parse().unwrap()],
        ) {
            Destination::Elsewhere => "no",
            Destination::Here(_) => "yes",
            Destination::MaybeHere(_) => "maybe",
        };
        for (own, url, expected) in [
            ("127.0.0.1:3978", "http://127.0.0.1:3978/api/messages", "yes"),
            ("127.0.0.1:3978", "https://127.0.0.1:3978/", "yes"),
            ("127.0.0.1:80", "http://127.0.0.1/", "yes"),
            ("127.0.0.1:3978", "http://0.0.0.0:3978/", "yes"),
            ("127.0.0.1:3978", "http://[::ffff:127.0.0.1]:3978/", "yes"),
            ("127.0.0.1:3978", "http://127.0.0.1:3979/", "no"),
            ("127.0.0.1:3978", "http://127.0.0.2:3978/", "no"),
            ("127.0.0.1:3978", "http://[::1]:3978/", "no"),
            ("127.0.0.1:3978", "http://localhost:3978/", "maybe"),
            ("127.0.0.1:3978", "http://bridge.example:3978/", "no"),
            ("0.0.0.0:3978", "http://127.0.0.2:3978/", "yes"),
            ("0.0.0.0:3978", "http://192.0.2.1:3978/", "no"),
            ("192.0.2.1:3978", "http://192.0.2.1:3978/", "yes"),
            ("[::]:3978", "http://[::1]:3978/", "yes"),
            ("[::]:3978", "http://127.0.0.1:3978/", "maybe"),
            ("[::]:3978", "http://localhost:3978/", "maybe"),
            ("127.0.0.1:0", "http://127.0.0.1:3978/", "no"),
        ] {
            assert_eq!(here(own, url), expected, "{own} {url}");
        }
    }

    #[test]
    fn a_bot_at_the_bridges_own_address_is_refused() {
        for (top, bot, is_refused) in [
            ("", "http://127.0.0.1:3978/a2a/other", true),
            ("", "http://127.0.0.1:3979/api/messages", false),
            ("grpc = { listen = '127.0.0.1:9' }", "http://127.0.0.1:9/", true),
            ("public_url = 'https://agents.example'", "https://agents.example/bot", false),
            ("tls = { certificate = 'c', key = 'k' }", "http://127.0.0.1:3979/", true),
        ] {
            let text = format!("{top}\n[[agents]]\nname = 'a'\nbot = '{bot}'\n");
            let config = parse(Path::new("a.toml"), &text, &[]).unwrap();
            let checked = check(&config);
            assert_eq!(checked.is_err(), is_refused, "{text}");
            if let Err(error) = checked {
                assert!(error.starts_with("the bot a: http://127.0.0.1:"), "{error}");
            }
        }
    }
}
