//! Which hosts and commands an agent may connect to, whoever tells it to.
//!
//! Connection details come from another agent. Following them blindly would let that agent reach whatever
//! this machine reaches, and run programs on it. So an operator says what is allowed: by default HTTP to
//! this machine, and no program at all.

use std::{collections::BTreeSet, net::IpAddr};

use serde::Deserialize;
use url::{Host, Url};

use crate::connection::{ConnectionDetails, Transport};

/// What may be connected to. In JSON: `{"loopback": true, "hosts": ["green.example"], "commands": ["mcp-tools"]}`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Allowed {
    /// Whether HTTP to this machine is: `localhost` and names below it, 127.0.0.0/8, `::1`, however they
    /// are written.
    pub loopback: bool,
    /// Further hosts over HTTP, each a name or an address without a port.
    pub hosts: BTreeSet<String>,
    /// Programs that may be started, each exactly as details name them; their arguments are free.
    pub commands: BTreeSet<String>,
}

impl Default for Allowed {
    fn default() -> Self {
        Self {
            loopback: true,
            hosts: BTreeSet::new(),
            commands: BTreeSet::new(),
        }
    }
}

/// Why a connection is not allowed, and which setting would allow it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The host is not among those that are.
    #[error(
        "refused to connect to host {host:?}: add it to the allowed hosts if it may be reached"
    )]
    Host {
        /// The host, as it was understood.
        host: String,
    },
    /// This machine, while `loopback` is off.
    #[error("refused to connect to {host:?} on this machine: loopback is not allowed")]
    Loopback {
        /// The host, as it was understood.
        host: String,
    },
    /// Another scheme than `http` and `https`.
    #[error("refused to connect by {scheme:?}: expected http or https")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// The program is not among those that may be started.
    #[error(
        "refused to start command {command:?}: add it to the allowed commands if it may be run"
    )]
    Command {
        /// The program, as the details name it.
        command: String,
    },
    /// The details would change which program it is that runs.
    #[error(
        "refused to start command {command:?}: its details set {variable}, which could make another program of it"
    )]
    Environment {
        /// The program, as the details name it.
        command: String,
        /// The variable.
        variable: String,
    },
}

impl Allowed {
    /// Whether these details may be followed. What a name resolves to is judged when the connection is made.
    pub fn check(&self, details: &ConnectionDetails) -> Result<(), Refused> {
        match &details.transport {
            Transport::Http { url, .. } => self.check_url(url),
            Transport::Stdio { command, env, .. } => self.check_command(command, env.keys()),
        }
    }

    /// Whether a name may be taken for an address: this machine's names only for its own addresses, and names
    /// that an operator gave for any.
    pub(crate) fn may_resolve(&self, name: &str, address: IpAddr) -> bool {
        let host = Host::Domain(name);
        let is_loopback = address.to_canonical().is_loopback();
        self.names(&host) || (self.loopback && self::is_loopback(&host) && is_loopback)
    }

    fn check_url(&self, url: &Url) -> Result<(), Refused> {
        let scheme = url.scheme();
        let (true, Some(host)) = (matches!(scheme, "http" | "https"), url.host()) else {
            let scheme = scheme.to_owned();
            return Err(Refused::Scheme { scheme });
        };
        let (named, name) = (self.names(&host), host.to_string());
        match (named, is_loopback(&host)) {
            (true, _) => Ok(()),
            (false, true) if self.loopback => Ok(()),
            (false, true) => Err(Refused::Loopback { host: name }),
            (false, false) => Err(Refused::Host { host: name }),
        }
    }

    fn check_command<'a>(
        &self,
        command: &str,
        mut variables: impl Iterator<Item = &'a String>,
    ) -> Result<(), Refused> {
        let command = command.to_owned();
        if !self.commands.contains(&command) {
            return Err(Refused::Command { command });
        }
        match variables.find(|variable| changes_the_program(variable)) {
            None => Ok(()),
            Some(variable) => {
                let variable = variable.clone();
                Err(Refused::Environment { command, variable })
            }
        }
    }

    /// Whether a host is one of those named. Both are compared as URLs understand them, so that no other
    /// spelling of an address passes or is missed.
    fn names(&self, host: &Host<&str>) -> bool {
        let host = canonical(host);
        self.hosts
            .iter()
            .filter_map(|named| parse(named))
            .any(|named| canonical(&named) == host)
    }
}

/// A host as an operator writes it: IPv6 addresses may come without brackets.
fn parse(host: &str) -> Option<Host> {
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => Some(Host::Ipv4(address)),
        Ok(IpAddr::V6(address)) => Some(Host::Ipv6(address)),
        Err(_) => Host::parse(host).ok(),
    }
}

/// The same host, however it is spelled: IPv4 addresses in IPv6 clothes are IPv4 addresses, and a name's
/// dot at the end says nothing.
fn canonical<S: AsRef<str>>(host: &Host<S>) -> Host {
    match host {
        Host::Domain(name) => Host::Domain(name.as_ref().trim_end_matches('.').to_owned()),
        Host::Ipv4(address) => Host::Ipv4(*address),
        Host::Ipv6(address) => match address.to_canonical() {
            IpAddr::V4(address) => Host::Ipv4(address),
            IpAddr::V6(address) => Host::Ipv6(address),
        },
    }
}

/// Names below `localhost` are this machine (RFC 6761, 6.3); that they resolve to it is seen to when the
/// connection is made.
fn is_loopback(host: &Host<&str>) -> bool {
    match canonical(host) {
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

/// Whether a variable decides which code a program of a given name is: where it is looked for, and what
/// the system's loader puts into it.
fn changes_the_program(variable: &str) -> bool {
    let variable = variable.to_ascii_uppercase();
    variable == "PATH" || variable.starts_with("LD_") || variable.starts_with("DYLD_")
}
