//! Agent cards: who an agent is and how it is reached (specification 4.4).
//!
//! Cards in the field leave out much that the specification requires, and a reader who refuses them
//! cannot talk to those agents. So only the name and the interfaces must be there; the rest is read as
//! empty, and always written.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use super::{Metadata, SecurityRequirement, SecurityScheme};
use crate::wire::object;

object! {
    /// An agent's description of itself.
    pub struct AgentCard {
        /// Its name.
        required name: String = "name",
        /// What it does.
        always description: String = "description",
        /// Where it is reached, the preferred way first.
        required supported_interfaces: Vec<AgentInterface> = "supportedInterfaces",
        /// Who runs it.
        optional provider: Option<AgentProvider> = "provider",
        /// Its own version.
        always version: String = "version",
        /// Where people read about it.
        optional documentation_url: Option<String> = "documentationUrl",
        /// What of the protocol it can do.
        always capabilities: AgentCapabilities = "capabilities",
        /// Ways to authenticate, by name.
        optional security_schemes: BTreeMap<String, SecurityScheme> = "securitySchemes",
        /// Which of them are needed: any one of these.
        optional security_requirements: Vec<SecurityRequirement> = "securityRequirements",
        /// Media types that it takes.
        always default_input_modes: Vec<String> = "defaultInputModes",
        /// Media types that it gives.
        always default_output_modes: Vec<String> = "defaultOutputModes",
        /// What it is good at.
        always skills: Vec<AgentSkill> = "skills",
        /// JSON Web Signatures over the card.
        optional signatures: Vec<AgentCardSignature> = "signatures",
        /// A picture of it.
        optional icon_url: Option<String> = "iconUrl",
    }
}

object! {
    /// One address with the binding and version spoken there.
    pub struct AgentInterface {
        /// The address.
        required url: String = "url",
        /// `JSONRPC`, `GRPC`, `HTTP+JSON`, or a URI for another one.
        required protocol_binding: String = "protocolBinding",
        /// The tenant to name in requests.
        optional tenant: Option<String> = "tenant",
        /// Major and minor version of A2A, such as `1.0`.
        required protocol_version: String = "protocolVersion",
    }
}

object! {
    /// Who runs an agent.
    pub struct AgentProvider {
        /// Their site.
        always url: String = "url",
        /// Their name.
        always organization: String = "organization",
    }
}

object! {
    /// What of the protocol an agent can do; absent means no.
    #[derive(Default)]
    pub struct AgentCapabilities {
        /// Streams.
        optional streaming: Option<bool> = "streaming",
        /// Push notifications.
        optional push_notifications: Option<bool> = "pushNotifications",
        /// Extensions of the protocol.
        optional extensions: Vec<AgentExtension> = "extensions",
        /// Another card for authenticated callers.
        optional extended_agent_card: Option<bool> = "extendedAgentCard",
    }
}

object! {
    /// An extension of the protocol.
    pub struct AgentExtension {
        /// Its name.
        always uri: String = "uri",
        /// How this agent uses it.
        optional description: Option<String> = "description",
        /// Clients must know it.
        optional required: bool = "required",
        /// Its settings.
        optional params: Option<Metadata> = "params",
    }
}

object! {
    /// Something that an agent is good at.
    pub struct AgentSkill {
        /// Unique within the card.
        required id: String = "id",
        /// For people.
        always name: String = "name",
        /// What it does.
        always description: String = "description",
        /// Keywords.
        always tags: Vec<String> = "tags",
        /// Prompts that it can answer.
        optional examples: Vec<String> = "examples",
        /// Media types that it takes, if not the card's.
        optional input_modes: Vec<String> = "inputModes",
        /// Media types that it gives, if not the card's.
        optional output_modes: Vec<String> = "outputModes",
        /// What it needs beyond the card's.
        optional security_requirements: Vec<SecurityRequirement> = "securityRequirements",
    }
}

object! {
    /// A JSON Web Signature (RFC 7515) over the card's canonical form.
    pub struct AgentCardSignature {
        /// The protected header, base64url.
        required protected: String = "protected",
        /// The signature, base64url.
        required signature: String = "signature",
        /// The unprotected header.
        optional header: Option<Metadata> = "header",
    }
}

impl AgentCapabilities {
    /// Whether it streams.
    pub fn streams(&self) -> bool {
        self.streaming == Some(true)
    }
}

impl AgentExtension {
    /// An extension that clients may use and need not know.
    pub fn new(uri: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            description: Some(description.into()),
            required: false,
            params: None,
            extra: Metadata::new(),
        }
    }
}

impl AgentSkill {
    /// A skill without tags and examples, for what the card takes and gives.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            description: description.into(),
            tags: Vec::new(),
            examples: Vec::new(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
            security_requirements: Vec::new(),
            extra: Metadata::new(),
        }
    }
}

impl AgentCard {
    /// A card with a name and a description, for text in and out, and nothing else yet.
    pub fn named(name: impl Into<String>, description: impl Into<String>) -> Self {
        let text = || Vec::from([String::from("text/plain")]);
        Self {
            name: name.into(),
            description: description.into(),
            supported_interfaces: Vec::new(),
            provider: None,
            version: String::from("1.0.0"),
            documentation_url: None,
            capabilities: AgentCapabilities::default(),
            security_schemes: BTreeMap::new(),
            security_requirements: Vec::new(),
            default_input_modes: text(),
            default_output_modes: text(),
            skills: Vec::new(),
            signatures: Vec::new(),
            icon_url: None,
            extra: Metadata::new(),
        }
    }
}
