//! The addresses on which the program listens, and those at which clients and bots reach it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use url::Url;

use bridge_client::is_loopback;

use super::{Result, own_address};
use crate::{
    config::{AgentConfig, Config, GrpcForm, HttpUrl},
    host::{Grpc, GrpcAddress},
};

/// The default listening address.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 3978);

/// The TLS certificate, if connections are encrypted.
#[cfg(feature = "tls")]
pub(in crate::cli) type Encryption = Option<crate::tls::Certificate>;
/// The TLS certificate, which this build does not support.
#[cfg(not(feature = "tls"))]
pub(in crate::cli) type Encryption = Option<std::convert::Infallible>;

/// The addresses at which the program is reached.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Addresses {
    /// The address on this machine.
    pub(super) here: String,
    /// The URL for clients.
    pub(super) public_url: Url,
    /// The default URL for bots.
    pub(in crate::cli) callback_url: Url,
    /// The URL for bots on this machine, if they have their own listener.
    pub(super) local: Option<Url>,
}

pub(in crate::cli) fn listen(config: &Config) -> SocketAddr {
    config.listen.unwrap_or(LISTEN)
}

/// Returns the address to listen on for gRPC only, if any.
pub(super) fn grpc_listen(config: &Config) -> Option<SocketAddr> {
    let is_spoken = cfg!(feature = "grpc") && config.grpc.enabled != Some(false);
    config.grpc.listen.filter(|_| is_spoken)
}

/// Returns the address to listen on for plain http from bots on this machine. It is needed beside TLS, because the
/// certificate is for public names and not for loopback addresses.
pub(super) fn callback_listen(config: &Config, listening: SocketAddr) -> Option<SocketAddr> {
    let is_needed = |agent: &AgentConfig| is_local(agent) && agent.callback_url.is_none();
    let is_needed = config.tls.is_some()
        && config.callback_url.is_none()
        && config.agents.iter().any(is_needed);
    // The port stays the same after a restart, because bots remember their callback URL.
    let port = match listen(config).port() {
        0 => 0,
        _ => listening.port().checked_add(1).unwrap_or_default(),
    };
    let usual = is_needed.then_some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    config.callback_listen.or(usual)
}

/// Returns whether an agent's bot is on this machine.
fn is_local(agent: &AgentConfig) -> bool {
    agent.bot.as_ref().is_some_and(|bot| is_loopback(&bot.0))
}

/// Refuses a configuration that would expose the program to others without an explicit setting, or send its own messages to
/// itself.
pub(in crate::cli) fn check(config: &Config) -> Result<(), String> {
    if let Some(listen) = config.callback_listen
        && !listen.ip().is_loopback()
    {
        return Err(format!(
            "callback_listen: expected a loopback address, found {listen}: connections there are not encrypted"
        ));
    }
    own_address::check(config)?;
    let Some(listen) = beyond(config) else {
        return Ok(());
    };
    if config.tls.is_none() && !config.allow_plain_http {
        return Err(format!(
            "others could read along on {listen}: expected a loopback address, a certificate (the table tls \
             of the configuration), or --allow-plain-http (allow_plain_http = true), as behind a proxy \
             that speaks https"
        ));
    }
    let mut bots = config.agents.iter().filter(|agent| agent.bot.is_some());
    match bots.find(|agent| agent.accept.is_none()) {
        None => Ok(()),
        Some(agent) => Err(format!(
            "others could call the bridge in the name of the bot {}: expected the key accept of its \
             configuration, or --allow-anonymous-bots (accept = \"anyone\")",
            agent.name.text
        )),
    }
}

/// Returns whether only this machine can connect.
pub(super) fn is_only_here(config: &Config) -> bool {
    beyond(config).is_none()
}

/// Returns an address on which other machines can connect, if there is one.
fn beyond(config: &Config) -> Option<SocketAddr> {
    let all = [Some(listen(config)), grpc_listen(config)];
    let is_open = |listen: &SocketAddr| !listen.ip().is_loopback();
    all.into_iter().flatten().find(is_open)
}

impl Addresses {
    /// Returns the addresses of a program that listens where the configuration says.
    pub(in crate::cli) fn configured(config: &Config) -> Result<Self, url::ParseError> {
        let listening = listen(config);
        Self::of(config, listening, callback_listen(config, listening))
    }

    /// Returns the addresses of a program that listens here, and there for the bots on this machine.
    pub(super) fn of(
        config: &Config,
        listening: SocketAddr,
        callbacks: Option<SocketAddr>,
    ) -> Result<Self, url::ParseError> {
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let port = listening.port();
        let near = match listening.ip() {
            ip if !ip.is_unspecified() => listening.to_string(),
            IpAddr::V4(_) => format!("127.0.0.1:{port}"),
            IpAddr::V6(_) => format!("[::1]:{port}"),
        };
        let near = Url::parse(&format!("{scheme}://{near}"))?;
        let local = callbacks.map(|listening| Url::parse(&format!("http://{listening}")));
        let local = local.transpose()?;
        let mut bots = config.agents.iter().filter(|agent| agent.bot.is_some());
        let for_bots = local.as_ref().filter(|_| bots.all(is_local)).unwrap_or(&near);
        let configured = |url: &Option<HttpUrl>, usual: &Url| {
            url.as_ref().map_or_else(|| usual.clone(), |url| url.0.clone())
        };
        Ok(Self {
            here: format!("{scheme}://{listening}"),
            public_url: configured(&config.public_url, &near),
            callback_url: configured(&config.callback_url, for_bots),
            local,
        })
    }

    /// Returns the callback URL of an agent's bot, if it is not the default.
    pub(in crate::cli) fn callback(&self, config: &Config, agent: &AgentConfig) -> Option<Url> {
        let configured = agent.callback_url.as_ref().map(|url| url.0.clone());
        let is_open = config.callback_url.is_none();
        let own = match is_local(agent) {
            true => self.local.clone(),
            // A loopback address would lead a bot on another machine to itself.
            false => config.public_url.as_ref().map(|url| url.0.clone()),
        };
        configured.or(own.filter(|_| is_open))
    }

    /// Returns the gRPC settings; `listening` is the address of the separate gRPC listener, if any.
    pub(super) fn grpc(&self, config: &Config, listening: Option<SocketAddr>) -> Grpc {
        let configured = config.grpc.address.as_ref().map(|address| address.0.clone());
        let own = listening.and_then(|own| {
            let host = self.public_url.host()?;
            Some(format!("{host}:{}", own.port()))
        });
        let is_listed = config.grpc.card.unwrap_or(configured.is_some());
        match (config.grpc.enabled, configured.or(own)) {
            (Some(false), _) => Grpc::Nowhere,
            (Some(true) | None, _) if !is_listed => Grpc::default(),
            (Some(true) | None, address) => Grpc::Listed {
                address,
                form: match config.grpc.form {
                    None | Some(GrpcForm::HostPort) => GrpcAddress::HostPort,
                    Some(GrpcForm::Url) => GrpcAddress::Url,
                },
            },
        }
    }
}

/// Returns the certificate of the configuration.
#[cfg(feature = "tls")]
pub(in crate::cli) fn encryption(config: &Config) -> Result<Encryption> {
    let read = |tls: &crate::config::TlsConfig| {
        crate::tls::Certificate::read(crate::tls::Files {
            certificate: &tls.certificate,
            key: &tls.key,
            client_ca: tls.client_ca.as_deref(),
        })
    };
    Ok(config.tls.as_ref().map(read).transpose()?)
}

/// Always `None`, because this program was built without TLS.
#[cfg(not(feature = "tls"))]
pub(in crate::cli) fn encryption(config: &Config) -> Result<Encryption> {
    match config.tls {
        None => Ok(None),
        Some(_) => Err("this program was built without the feature tls".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;
    use std::path::Path;

    #[test]
    fn the_program_is_reached_where_it_listens() {
        for (listening, expected) in [
            ("127.0.0.1:3978", "http://127.0.0.1:3978/"),
            ("0.0.0.0:3978", "http://127.0.0.1:3978/"),
            ("[::]:3978", "http://[::1]:3978/"),
            ("192.0.2.1:80", "http://192.0.2.1/"),
        ] {
            let listening = listening.parse().unwrap();
            let place = Addresses::of(&Config::default(), listening, None).unwrap();
            assert_eq!(place.public_url.as_str(), expected);
            assert_eq!(place.callback_url.as_str(), expected);
        }
    }

    #[test]
    fn bots_of_this_machine_call_back_without_tls() {
        let tls = "tls = { certificate = 'c', key = 'k' }\n";
        let public = "public_url = 'https://agents.example'\n";
        let told = "callback_url = 'https://told.example'\n";
        let one = |host: &str| format!("[[agents]]\nname = 'a'\nbot = 'http://{host}:1/'\n");
        let (here, there) = (one("localhost"), one("bot.example"));
        let local = Some("http://127.0.0.1:444/");
        for (top, bot, is_needed, expected) in [
            (tls, &here, true, local),
            (&format!("{tls}{public}"), &here, true, local),
            (&format!("{tls}{public}"), &there, false, Some("https://agents.example/")),
            (tls, &there, false, None),
            (&format!("{tls}{told}"), &here, false, None),
            (public, &here, false, None),
            ("callback_listen = '127.0.0.1:444'\n", &here, true, local),
        ] {
            let text = format!("listen = '0.0.0.0:443'\n{top}{bot}");
            let config = parse(Path::new("a.toml"), &text, &[]).unwrap();
            let listening = listen(&config);
            let own = callback_listen(&config, listening);
            assert_eq!(own.is_some(), is_needed, "{text}");
            let place = Addresses::configured(&config).unwrap();
            let callback = place.callback(&config, &config.agents[0]);
            assert_eq!(callback.as_ref().map(Url::as_str), expected, "{text}");
        }
        let text = format!("callback_listen = '0.0.0.0:444'\n{here}");
        let config = parse(Path::new("a.toml"), &text, &[]).unwrap();
        assert!(check(&config).unwrap_err().contains("expected a loopback address"));
    }

    #[test]
    fn public_addresses_need_an_explicit_option() {
        let bot = "[[agents]]\nname = 'a'\nbot = 'http://h/'\n";
        let builtin = "[[agents]]\nname = 'a'\nbuiltin = 'echo'\n";
        for (top, agent, expected) in [
            ("", bot, None),
            ("listen = '[::1]:1'\n", bot, None),
            ("listen = '0.0.0.0:1'\n", builtin, Some("--allow-plain-http")),
            ("listen = '0.0.0.0:1'\nallow_plain_http = true\n", builtin, None),
            ("listen = '10.0.0.1:1'\nallow_plain_http = true\n", bot, Some("accept")),
            ("listen = '10.0.0.1:1'\ntls = { certificate = 'c', key = 'k' }\n", builtin, None),
        ] {
            let text = format!("{top}{agent}");
            let config = parse(Path::new("a.toml"), &text, &["echo"]).unwrap();
            match (check(&config), expected) {
                (Ok(()), None) => {}
                (Err(error), Some(expected)) => assert!(error.contains(expected), "{error}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }
}
