//! The hosts and commands that an agent may connect to.
//!
//! Connection details come from another agent. An agent that followed them without a check would let that other
//! agent reach every host that this machine can reach, and run programs on this machine. Therefore the operator
//! lists the allowed targets. The default allows HTTP to this machine and no program at all.

use std::{collections::BTreeSet, net::IpAddr};

use serde::Deserialize;
use url::{Host, Url};

use crate::connection::{ConnectionDetails, Transport};

/// The hosts and commands that may be connected to. In JSON: `{"loopback": true, "hosts": ["green.example"],
/// "commands": ["mcp-tools"]}`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AllowList {
    /// Whether HTTP to this machine is allowed: to `localhost` and names below it, 127.0.0.0/8 and `::1`, in any
    /// spelling.
    pub loopback: bool,
    /// Further hosts that are allowed over HTTP, each a name or an address without a port.
    pub hosts: BTreeSet<String>,
    /// Programs that may be started, each spelled exactly as in the connection details. Their arguments are not
    /// restricted.
    pub commands: BTreeSet<String>,
}

impl Default for AllowList {
    fn default() -> Self {
        Self { loopback: true, hosts: BTreeSet::new(), commands: BTreeSet::new() }
    }
}

/// The reason why a connection is not allowed, and the setting that would allow it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum NotAllowed {
    /// The host is not in the list of allowed hosts.
    #[error("refused to connect to host {0:?}: add it to the allowed hosts if it may be reached")]
    Host(String),
    /// The host is this machine, and `loopback` is off.
    #[error("refused to connect to {0:?} on this machine: loopback is not allowed")]
    Loopback(String),
    /// The URL's scheme is neither `http` nor `https`.
    #[error("refused to connect with scheme {0:?}: expected http or https")]
    Scheme(String),
    /// The program is not in the list of allowed commands.
    #[error("refused to start command {0:?}: add it to the allowed commands if it may be run")]
    Command(String),
    /// The details set an environment variable that could make another program run under this name.
    #[error(
        "refused to start command {command:?}: its details set {variable}, which could make another program run"
    )]
    Environment { command: String, variable: String },
}

impl AllowList {
    /// Checks that these details may be followed. The addresses that a host name resolves to are checked later,
    /// when the connection is made.
    ///
    /// # Errors
    /// [`NotAllowed`]
    pub fn check(&self, details: &ConnectionDetails) -> Result<(), NotAllowed> {
        match &details.transport {
            Transport::Http { url, .. } => self.check_url(url),
            Transport::Stdio { command, .. } if !self.commands.contains(command) => {
                Err(NotAllowed::Command(command.clone()))
            }
            Transport::Stdio { command, env, .. } => {
                match env.keys().find(|variable| changes_the_program(variable)).cloned() {
                    None => Ok(()),
                    Some(variable) => {
                        Err(NotAllowed::Environment { command: command.clone(), variable })
                    }
                }
            }
        }
    }

    /// Returns whether a host name may resolve to an address. Names of this machine may resolve only to loopback
    /// addresses; names that an operator allowed may resolve to any address.
    pub(crate) fn may_resolve(&self, name: &str, address: IpAddr) -> bool {
        let host = Host::Domain(name);
        let is_loopback = address.to_canonical().is_loopback();
        self.names(&host) || (self.loopback && self::is_loopback(&host) && is_loopback)
    }

    fn check_url(&self, url: &Url) -> Result<(), NotAllowed> {
        let scheme = url.scheme();
        let (true, Some(host)) = (matches!(scheme, "http" | "https"), url.host()) else {
            return Err(NotAllowed::Scheme(scheme.to_owned()));
        };
        let (named, name) = (self.names(&host), host.to_string());
        match (named, is_loopback(&host)) {
            (true, _) => Ok(()),
            (false, true) if self.loopback => Ok(()),
            (false, true) => Err(NotAllowed::Loopback(name)),
            (false, false) => Err(NotAllowed::Host(name)),
        }
    }

    /// Returns whether a host is in the operator's list. Both are compared after URL parsing, so that a different
    /// spelling of an address neither evades nor misses an entry.
    fn names(&self, host: &Host<&str>) -> bool {
        let host = canonical(host);
        self.hosts.iter().filter_map(|named| parse(named)).any(|named| canonical(&named) == host)
    }
}

/// Parses a host as an operator writes it: IPv6 addresses may be without brackets.
fn parse(host: &str) -> Option<Host> {
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => Some(Host::Ipv4(address)),
        Ok(IpAddr::V6(address)) => Some(Host::Ipv6(address)),
        Err(_) => Host::parse(host).ok(),
    }
}

/// Returns the host in its canonical spelling: IPv4-mapped IPv6 addresses become IPv4 addresses, and a trailing
/// dot is removed from names.
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

/// Returns whether a host is this machine. That includes names below `localhost` (RFC 6761, 6.3); the resolver
/// checks that they resolve to loopback addresses.
fn is_loopback(host: &Host<&str>) -> bool {
    match canonical(host) {
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

/// Returns whether an environment variable decides which code runs as the program: where the program is searched,
/// or what the system's loader loads into it.
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

    fn allowing(hosts: &[&str]) -> AllowList {
        AllowList { hosts: hosts.iter().map(ToString::to_string).collect(), ..AllowList::default() }
    }

    #[test]
    fn loopback_however_it_is_spelled() {
        let nothing = AllowList { loopback: false, ..AllowList::default() };
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
            assert_eq!(AllowList::default().check(&details), Ok(()), "{host}");
            let refused = nothing.check(&details).unwrap_err();
            assert!(matches!(refused, NotAllowed::Loopback(_)), "{host}: {refused}");
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
            let refused = AllowList::default().check(&details).unwrap_err();
            assert!(matches!(refused, NotAllowed::Host(_)), "{host}: {refused}");
            assert_eq!(allowing(&[name]).check(&details), Ok(()), "{host} as {name}");
            assert!(allowing(&["other.example"]).check(&details).is_err());
        }
    }

    #[test]
    fn commands_are_refused_unless_named_exactly() {
        let allowed = AllowList {
            commands: ["mcp-tools", "/opt/server"].map(str::to_owned).into(),
            ..AllowList::default()
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
            assert!(AllowList::default().check(&details).is_err(), "{command}");
        }
    }

    #[test]
    fn a_command_stays_the_program_that_was_named() {
        let allowed = AllowList {
            commands: BTreeSet::from(["mcp-tools".to_owned()]),
            ..AllowList::default()
        };
        for (variable, expected) in
            [("MCP_TOKEN", true), ("PATH", false), ("Path", false), ("LD_PRELOAD", false)]
        {
            let mut details = ConnectionDetails::stdio("e", "mcp-tools", ["relay"]);
            let Transport::Stdio { env, .. } = &mut details.transport else { unreachable!() };
            env.insert(variable.to_owned(), crate::secret::Secret::new("x"));
            assert_eq!(allowed.check(&details).is_ok(), expected, "{variable}");
        }
    }

    #[test]
    fn other_schemes_are_no_http() {
        let refused = allowing(&["localhost"]).check(&http("ftp://localhost/mcp"));
        assert_eq!(refused, Err(NotAllowed::Scheme("ftp".to_owned())));
    }

    #[test]
    fn settings_are_read_and_mistakes_in_them_found() {
        let read = |text| serde_json::from_str::<AllowList>(text);
        assert_eq!(read("{}").unwrap(), AllowList::default());
        assert_eq!(read(r#"{"hosts": ["a"]}"#).unwrap(), allowing(&["a"]));
        assert!(read(r#"{"host": ["a"]}"#).is_err());
    }
}
