//! Agent cards, which describe an agent and its interfaces (specification 4.4).
//!
//! Existing cards leave out much that the specification requires, and a reader who refuses them cannot talk to those
//! agents. So only the name and the interfaces are required; the other fields are read as empty, and always written.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use super::{Metadata, SecurityRequirement, SecurityScheme};

proto_message! {
    /// An agent's description of itself.
    pub struct AgentCard {
        /// The name.
        required name: String = "name",
        /// A description for people.
        always description: String = "description",
        /// The interfaces of the agent, the preferred one first.
        required supported_interfaces: Vec<AgentInterface> = "supportedInterfaces",
        /// The provider of the agent.
        optional provider: Option<AgentProvider> = "provider",
        /// The version of the agent.
        always version: String = "version",
        /// The URL of the documentation.
        optional documentation_url: Option<String> = "documentationUrl",
        /// The supported parts of the protocol.
        always capabilities: AgentCapabilities = "capabilities",
        /// The ways to authenticate, by name.
        optional security_schemes: BTreeMap<String, SecurityScheme> = "securitySchemes",
        /// The required security schemes: any one of these.
        optional security_requirements: Vec<SecurityRequirement> = "securityRequirements",
        /// The media types of its input.
        always default_input_modes: Vec<String> = "defaultInputModes",
        /// The media types of its output.
        always default_output_modes: Vec<String> = "defaultOutputModes",
        /// The skills.
        always skills: Vec<AgentSkill> = "skills",
        /// The JSON Web Signatures over the card.
        optional signatures: Vec<AgentCardSignature> = "signatures",
        /// The URL of an icon.
        optional icon_url: Option<String> = "iconUrl",
    }
}

proto_message! {
    /// An address with the binding and version that is served there.
    pub struct AgentInterface {
        /// The URL of the interface.
        required url: String = "url",
        /// The binding: `JSONRPC`, `GRPC`, `HTTP+JSON`, or a URI for another one.
        required protocol_binding: String = "protocolBinding",
        /// The tenant that requests must name.
        optional tenant: Option<String> = "tenant",
        /// The major and minor version of A2A, such as `1.0`.
        required protocol_version: String = "protocolVersion",
    }
}

proto_message! {
    /// The provider of an agent.
    pub struct AgentProvider {
        /// The URL of the provider's website.
        always url: String = "url",
        /// The provider's name.
        always organization: String = "organization",
    }
}

proto_message! {
    /// The optional parts of the protocol that an agent supports; absent means unsupported.
    pub struct AgentCapabilities {
        /// Whether the agent supports streams.
        optional streaming: Option<bool> = "streaming",
        /// Whether the agent supports push notifications.
        optional push_notifications: Option<bool> = "pushNotifications",
        /// The supported extensions of the protocol.
        optional extensions: Vec<AgentExtension> = "extensions",
        /// Whether there is an extended card for authenticated callers.
        optional extended_agent_card: Option<bool> = "extendedAgentCard",
    }
}

proto_message! {
    /// An extension of the protocol.
    pub struct AgentExtension {
        /// The URI that identifies the extension.
        always uri: String = "uri",
        /// A description of how the agent uses the extension.
        optional description: Option<String> = "description",
        /// Whether clients must support the extension.
        optional required: bool = "required",
        /// The settings of the extension.
        optional params: Option<Metadata> = "params",
    }
}

proto_message! {
    /// A skill of an agent.
    pub struct AgentSkill {
        /// The id, unique within the card.
        required id: String = "id",
        /// The skill's name for people.
        always name: String = "name",
        /// A description for people.
        always description: String = "description",
        /// Keywords for the skill.
        always tags: Vec<String> = "tags",
        /// Examples of prompts.
        optional examples: Vec<String> = "examples",
        /// The media types of its input, if they differ from the card's.
        optional input_modes: Vec<String> = "inputModes",
        /// The media types of its output, if they differ from the card's.
        optional output_modes: Vec<String> = "outputModes",
        /// The security requirements in addition to the card's.
        optional security_requirements: Vec<SecurityRequirement> = "securityRequirements",
    }
}

proto_message! {
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

impl AgentInterface {
    /// Creates an interface without a tenant. `version` is the major and minor version of A2A, such as `1.0`.
    pub fn new(
        url: impl Into<String>,
        binding: impl Into<String>,
        version: impl Into<String>,
    ) -> Self {
        Self {
            url: url.into(),
            protocol_binding: binding.into(),
            protocol_version: version.into(),
            ..Self::default()
        }
    }
}

impl AgentCapabilities {
    /// Returns whether the agent supports streams.
    pub fn streams(&self) -> bool {
        self.streaming == Some(true)
    }
}

impl AgentExtension {
    /// Creates an extension that clients need not support.
    pub fn new(uri: impl Into<String>, description: impl Into<String>) -> Self {
        Self { uri: uri.into(), description: Some(description.into()), ..Self::default() }
    }
}

impl AgentSkill {
    /// Creates a skill without tags and examples, with the card's media types.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            description: description.into(),
            ..Self::default()
        }
    }
}

impl AgentCard {
    /// Creates a card with a name and a description, for input and output of text, without anything else.
    pub fn named(name: impl Into<String>, description: impl Into<String>) -> Self {
        let text = || Vec::from([String::from("text/plain")]);
        Self {
            name: name.into(),
            description: description.into(),
            version: String::from("1.0.0"),
            default_input_modes: text(),
            default_output_modes: text(),
            ..Self::default()
        }
    }
}
