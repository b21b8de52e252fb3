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

#[cfg(test)]
mod tests {
    use super::*;

    fn http(url: &str) -> ConnectionDetails {
        ConnectionDetails::http("e", url.parse().unwrap())
    }

    fn allowing(hosts: &[&str]) -> Allowed {
        Allowed {
            hosts: hosts.iter().map(ToString::to_string).collect(),
            ..Allowed::default()
        }
    }

    #[test]
    fn loopback_however_it_is_spelled() {
        let nothing = Allowed {
            loopback: false,
            ..Allowed::default()
        };
        for host in [
            "localhost",
            "LOCALHOST",
            "localhost.",
            "a.localhost",
            "127.0.0.1",
            "127.9.9.9",
            "2130706433",
            "0x7f.1",
            "0177.0.0.1",
            "127.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[0:0:0:0:0:ffff:7f00:1]",
            "127。0。0。1",
            "%31%32%37.0.0.1",
        ] {
            let details = http(&format!("http://{host}:1234/mcp"));
            assert_eq!(Allowed::default().check(&details), Ok(()), "{host}");
            let refused = nothing.check(&details).unwrap_err();
            assert!(
                matches!(refused, Refused::Loopback { .. }),
                "{host}: {refused}"
            );
        }
    }

    #[test]
    fn other_hosts_are_refused_unless_named() {
        for (host, name) in [
            ("green.example", "green.example"),
            ("GREEN.example.", "green.EXAMPLE"),
            ("192.0.2.7", "192.0.2.7"),
            ("3221225991", "192.0.2.7"),
            ("[::ffff:192.0.2.7]", "192.0.2.7"),
            ("[2001:db8::7]", "2001:db8:0::7"),
            ("[2001:db8::7]", "[2001:db8::7]"),
            ("0.0.0.0", "0.0.0.0"),
            ("[::]", "::"),
            ("localhost.example", "localhost.example"),
            ("127.0.0.1.example", "127.0.0.1.example"),
            ("169.254.169.254", "169.254.169.254"),
        ] {
            let details = http(&format!("https://{host}/mcp"));
            let refused = Allowed::default().check(&details).unwrap_err();
            assert!(matches!(refused, Refused::Host { .. }), "{host}: {refused}");
            assert_eq!(
                allowing(&[name]).check(&details),
                Ok(()),
                "{host} as {name}"
            );
            assert!(allowing(&["other.example"]).check(&details).is_err());
        }
    }

    #[test]
    fn commands_are_refused_unless_named_exactly() {
        let allowed = Allowed {
            commands: ["mcp-tools", "/opt/server"].map(str::to_owned).into(),
            ..Allowed::default()
        };
        for (command, expected) in [
            ("mcp-tools", true),
            ("/opt/server", true),
            ("./mcp-tools", false),
            ("/tmp/mcp-tools", false),
            ("MCP-TOOLS", false),
            ("sh", false),
            ("mcp-tools relay", false),
        ] {
            let details = ConnectionDetails::stdio("e", command, ["--any"]);
            assert_eq!(allowed.check(&details).is_ok(), expected, "{command}");
            assert!(Allowed::default().check(&details).is_err(), "{command}");
        }
    }

    #[test]
    fn a_command_stays_the_program_that_was_named() {
        let allowed = Allowed {
            commands: BTreeSet::from(["mcp-tools".to_owned()]),
            ..Allowed::default()
        };
        for (variable, expected) in [
            ("MCP_TOKEN", true),
            ("PATH", false),
            ("Path", false),
            ("LD_PRELOAD", false),
        ] {
            let mut details = ConnectionDetails::stdio("e", "mcp-tools", ["relay"]);
            let Transport::Stdio { env, .. } = &mut details.transport else {
                unreachable!()
            };
            env.insert(variable.to_owned(), crate::secret::Secret::new("x"));
            assert_eq!(allowed.check(&details).is_ok(), expected, "{variable}");
        }
    }

    #[test]
    fn other_schemes_are_no_http() {
        let refused = allowing(&["localhost"]).check(&http("ftp://localhost/mcp"));
        assert_eq!(
            refused,
            Err(Refused::Scheme {
                scheme: "ftp".to_owned()
            })
        );
    }

    #[test]
    fn settings_are_read_and_mistakes_in_them_found() {
        let read = |text| serde_json::from_str::<Allowed>(text);
        assert_eq!(read("{}").unwrap(), Allowed::default());
        assert_eq!(read(r#"{"hosts": ["a"]}"#).unwrap(), allowing(&["a"]));
        assert!(read(r#"{"host": ["a"]}"#).is_err());
    }
}
