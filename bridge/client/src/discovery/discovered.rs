//! An agent found by discovery.

#[cfg(feature = "legacy")]
use bridge_protocol::dialect::{execute, places};
use bridge_protocol::{
    a2a::{AgentCard, AgentInterface, Binding},
    dialect::{Generation, Version, skill::EXECUTE_BINDING},
    wire::FieldError,
};
use serde_json::{Value, json};
use url::Url;

use super::{DiscoveryError, Result, Skill};
use crate::{
    card_url,
    interface::{self, without_user},
    lenient_card,
};

/// An agent found by discovery: its card, how to call it, and its skills.
#[derive(Clone, Debug, PartialEq)]
pub struct Discovered {
    /// Its card, in the types of 1.0 whatever its original form.
    pub card: AgentCard,
    /// The generation of cards whose form it has.
    pub generation: Generation,
    /// The address of the card, after redirects.
    pub found_at: Url,
    /// The endpoint to use first.
    pub endpoint: AgentEndpoint,
    /// The other endpoints, in the card's order.
    pub others: Vec<AgentEndpoint>,
    /// Its skills, in the card's order.
    pub skills: Vec<Skill>,
    /// Whether calls may connect to addresses that are not public. Copied from
    /// [`DiscoveryOptions::allow_private`](super::DiscoveryOptions::allow_private), because a name may
    /// resolve to another address when the agent is called.
    pub allow_private: bool,
}

/// An address of an agent with the protocol that it speaks there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentEndpoint {
    /// An interface of the card: A2A in this binding and version (specification 8.3.2). gRPC needs the
    /// feature `grpc`.
    Interface {
        /// The address that messages are sent to.
        url: Url,
        /// The binding.
        binding: Binding,
        /// The version.
        version: Version,
    },
    /// A2A 0.1 with a path for each method: tasks are posted to `{base}/tasks/send`.
    TasksSend {
        /// The agent's address, without a slash at the end.
        base: Url,
    },
    /// Each skill is a method, called at `{base}/execute`.
    Execute {
        /// The agent's address.
        base: Url,
    },
}

impl AgentEndpoint {
    /// Returns the address that messages are sent to, or the base of their addresses.
    pub fn url(&self) -> &Url {
        match self {
            Self::Interface { url, .. } => url,
            Self::TasksSend { base } | Self::Execute { base } => base,
        }
    }

    /// Mutable access to the address, for a proxy that replaces it by its own.
    pub fn url_mut(&mut self) -> &mut Url {
        match self {
            Self::Interface { url, .. } => url,
            Self::TasksSend { base } | Self::Execute { base } => base,
        }
    }

    /// Returns the protocol in a word or two: `JSONRPC 1.0`, `tasks/send 0.1`, `execute`.
    pub fn name(&self) -> String {
        match self {
            Self::Interface { binding, version, .. } => format!("{binding} {version}"),
            Self::TasksSend { .. } => format!("tasks/send {}", Version::V0_1),
            Self::Execute { .. } => "execute".to_owned(),
        }
    }
}

impl Discovered {
    /// Reads a card that was found at this address, fetched by the caller: from a registry, a catalogue or a
    /// file. It may name private addresses.
    ///
    /// # Errors
    /// [`DiscoveryError::NotACard`] and [`DiscoveryError::NoWayToSpeak`].
    pub fn from_card(document: Value, found_at: Url) -> Result<Self> {
        let (card, generation) = read(document, &found_at).map_err(|why| {
            let url = without_user(&found_at);
            DiscoveryError::NotACard { url, why }
        })?;
        let (endpoint, others) = endpoints(&card, &found_at)?;
        let skills = card.skills.iter().map(Skill::from).collect();
        Ok(Self { card, generation, found_at, endpoint, others, skills, allow_private: true })
    }

    /// Returns the agent's base address, by the address of its card. Relative addresses in the card are resolved
    /// against it.
    #[cfg(feature = "skills")]
    pub(crate) fn home(&self) -> Url {
        card_url::agent_base(&self.found_at)
    }

    /// Returns the skill of this id, or else of this name, because language models confuse the two.
    pub fn skill(&self, id: &str) -> Option<&Skill> {
        let named = |skill: &&Skill| skill.name == id;
        let by_id = self.skills.iter().find(|skill| skill.id == id);
        by_id.or_else(|| self.skills.iter().find(named))
    }

    /// Returns the extensions that the agent requires; a client must support all of them (specification 4.4.4).
    pub fn required_extensions(&self) -> impl Iterator<Item = &str> {
        let extensions = self.card.capabilities.extensions.iter();
        extensions.filter(|one| one.required).map(|one| one.uri.as_str())
    }

    /// Returns the agent as JSON: name, description, version, the addresses of card and agent, protocol, skills. User
    /// names and passwords in addresses are left out.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.card.name,
            "description": self.card.description,
            "version": self.card.version,
            "card": without_user(&self.found_at),
            "url": without_user(self.endpoint.url()),
            "speaks": self.endpoint.name(),
            "skills": self.skills.iter().map(Skill::to_json).collect::<Value>(),
        })
    }
}

/// Reads a card. One at the path of cards of the `/execute` protocol that does not name its protocol is read
/// as such.
fn read(document: Value, found_at: &Url) -> Result<(AgentCard, Generation), FieldError> {
    #[cfg(feature = "legacy")]
    if found_at.path().ends_with(&format!("/{}", places::EXECUTE))
        && let Some(card) = execute::card::read_if_bare(&document)
    {
        return Ok((card?, Generation::Execute));
    }
    lenient_card::read(document, without_user(found_at))
}

/// Returns the endpoints that this client can use: those of A2A first, each group in the card's order. An invalid
/// address is skipped if there is another endpoint.
fn endpoints(card: &AgentCard, found_at: &Url) -> Result<(AgentEndpoint, Vec<AgentEndpoint>)> {
    let home = card_url::agent_base(found_at);
    let mut usable = usable(card, |interface| endpoint(card, interface, &home));
    if usable.is_empty() {
        usable = self::usable(card, |interface| presumed_endpoint(interface, &home));
    }
    let mut all = Vec::new();
    let mut wrong = None;
    for found in usable {
        match found {
            Ok(endpoint) => all.push(endpoint),
            Err(error) => wrong = wrong.or(Some(error)),
        }
    }
    all.sort_by_key(|endpoint| !matches!(endpoint, AgentEndpoint::Interface { .. }));
    let mut all = all.into_iter();
    let url = without_user(found_at);
    match (all.next(), wrong) {
        (Some(first), _) => Ok((first, all.collect())),
        (None, Some(why)) => Err(DiscoveryError::NotACard { url, why }),
        (None, None) => {
            Err(DiscoveryError::NoWayToSpeak { url, offered: interface::offered(card) })
        }
    }
}

/// An endpoint, or the mistake in its address.
type Found = Result<AgentEndpoint, FieldError>;

/// Returns the endpoints that `read` finds at the interfaces of a card.
fn usable(card: &AgentCard, read: impl Fn(&AgentInterface) -> Option<Found>) -> Vec<Found> {
    let interfaces = card.supported_interfaces.iter().enumerate();
    let found = interfaces.filter_map(|(index, interface)| {
        let found = read(interface)?;
        Some(found.map_err(|why| why.at(index).inside("supportedInterfaces")))
    });
    found.collect()
}

/// Returns the endpoint at an interface, whose address may be relative to `home`; `None` if this client does not speak
/// its protocol.
fn endpoint(card: &AgentCard, interface: &AgentInterface, home: &Url) -> Option<Found> {
    let at = |binding| interface::address(binding, home, &interface.url);
    if interface.protocol_binding == EXECUTE_BINDING {
        let base = at(Binding::JsonRpc);
        return cfg!(feature = "legacy").then(|| base.map(|base| AgentEndpoint::Execute { base }));
    }
    let version = Version::of(&interface.protocol_version)?;
    if version.has_paths(card) {
        return Some(at(Binding::JsonRpc).map(|base| AgentEndpoint::TasksSend { base }));
    }
    let binding = Binding::of(&interface.protocol_binding)?;
    let is_spoken = interface::carries(binding, version);
    is_spoken.then(|| at(binding).map(|url| AgentEndpoint::Interface { url, binding, version }))
}

/// Returns the endpoint to try at an interface whose version is unknown.
fn presumed_endpoint(interface: &AgentInterface, home: &Url) -> Option<Found> {
    let version = interface::presumed_version(interface)?;
    let binding = Binding::JsonRpc;
    let url = interface::address(binding, home, &interface.url);
    Some(url.map(|url| AgentEndpoint::Interface { url, binding, version }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(card: Value) -> Discovered {
        let card_url = "http://h/.well-known/agent-card.json";
        Discovered::from_card(card, Url::parse(card_url).unwrap()).unwrap()
    }

    #[test]
    fn the_card_says_how_to_speak() {
        for (card, name, url) in [
            (json!({"name": "n", "url": "http://a/x"}), "JSONRPC 0.3", "http://a/x"),
            (json!({"name": "n", "url": "/x"}), "JSONRPC 0.3", "http://h/x"),
            (json!({"name": "n", "base_url": "https://club"}), "tasks/send 0.1", "https://club/"),
            (
                json!({"name": "n", "url": "http://a", "authentication": {"schemes": []}}),
                "JSONRPC 0.1",
                "http://a/",
            ),
            (
                json!({"name": "n", "url": "http://a", "skills": [{"id": "s", "input_schema": {}}]}),
                "execute",
                "http://a/",
            ),
            (
                json!({"name": "n", "supportedInterfaces": [
                    {"url": "http://a/0", "protocolBinding": EXECUTE_BINDING, "protocolVersion": "1.0"},
                    {"url": "http://a/1", "protocolBinding": "JSONRPC", "protocolVersion": "2.0"},
                    {"url": "http://a/2", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"},
                    {"url": "http://a/3", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
                ]}),
                "HTTP+JSON 0.3",
                "http://a/2",
            ),
            (
                json!({"name": "n", "supportedInterfaces": [
                    {"url": "http://a/0", "protocolBinding": "jsonrpc", "protocolVersion": "2.0"},
                ]}),
                "JSONRPC 1.0",
                "http://a/0",
            ),
        ] {
            let found = found(card);
            assert_eq!(
                (found.endpoint.name().as_str(), found.endpoint.url().as_str()),
                (name, url)
            );
        }
    }

    #[cfg(feature = "grpc")]
    #[test]
    fn grpc_is_spoken_where_it_comes_first() {
        let grpc =
            |url: &str| json!({"url": url, "protocolBinding": "GRPC", "protocolVersion": "1.0"});
        let older = json!({"url": "h:2", "protocolBinding": "GRPC", "protocolVersion": "0.3"});
        let json_rpc = |version: &str| json!({"url": "http://a/1", "protocolBinding": "JSONRPC", "protocolVersion": version});
        let execute = json!({"url": "http://a/2", "protocolBinding": EXECUTE_BINDING, "protocolVersion": "1.0"});
        for (interfaces, name, url) in [
            (json!([grpc("h:50051")]), "GRPC 1.0", "http://h:50051/"),
            (json!([grpc("grpcs://h:50051/x")]), "GRPC 1.0", "https://h:50051/"),
            (json!([json_rpc("0.3"), grpc("h:1")]), "JSONRPC 0.3", "http://a/1"),
            (json!([grpc("h:1"), json_rpc("1.0")]), "GRPC 1.0", "http://h:1/"),
            (json!([execute, grpc("h:1")]), "GRPC 1.0", "http://h:1/"),
            (json!([older, json_rpc("1.0")]), "GRPC 0.3", "http://h:2/"),
        ] {
            let found = found(json!({"name": "n", "supportedInterfaces": interfaces}));
            let reach = (found.endpoint.name(), found.endpoint.url().to_string());
            assert_eq!(reach, (name.to_owned(), url.to_owned()));
        }
        let card = json!({"name": "n", "supportedInterfaces": [grpc("unix:///tmp/a")]});
        let error = Discovered::from_card(card, Url::parse("http://h/card.json").unwrap());
        let told = error.unwrap_err().to_string();
        assert!(told.contains("supportedInterfaces[0].url: expected HOST:PORT or a URL"), "{told}");
    }

    #[test]
    fn a_card_without_a_usable_interface_is_reported() {
        let card = json!({"name": "n", "supportedInterfaces": [
            {"url": "h:1", "protocolBinding": "GRPC", "protocolVersion": "0.1"},
        ]});
        let error = Discovered::from_card(card, Url::parse("http://h/card.json").unwrap());
        let told = error.unwrap_err().to_string();
        let expected =
            "the card at http://h/card.json offers GRPC 0.1: expected JSONRPC, HTTP+JSON";
        assert!(told.starts_with(expected), "{told}");
    }

    #[test]
    fn a_skill_is_found_by_id_and_else_by_name() {
        let found = found(json!({"name": "n", "base_url": "http://a", "skills": [
            {"id": "one", "name": "two", "parameters": {"type": "object"}},
            {"id": "two", "description": "d"},
        ]}));
        assert_eq!(found.skill("two").unwrap().description, "d");
        assert_eq!(found.skill("one").unwrap().parameters_schema, Some(json!({"type": "object"})));
        assert_eq!(found.skills[1].name, "two");
        assert_eq!(found.skill("three"), None);
    }
}
