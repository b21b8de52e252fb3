//! Agent cards.

use super::field::proto;

proto!(AgentCard {
    plain name = "name",
    plain description = "description",
    plain supported_interfaces = "supportedInterfaces",
    plain provider = "provider",
    plain version = "version",
    plain documentation_url = "documentationUrl",
    plain capabilities = "capabilities",
    plain security_schemes = "securitySchemes",
    plain security_requirements = "securityRequirements",
    plain default_input_modes = "defaultInputModes",
    plain default_output_modes = "defaultOutputModes",
    plain skills = "skills",
    plain signatures = "signatures",
    plain icon_url = "iconUrl",
});

proto!(AgentInterface {
    plain url = "url",
    plain protocol_binding = "protocolBinding",
    plain tenant = "tenant",
    plain protocol_version = "protocolVersion",
});

proto!(AgentProvider {
    plain url = "url",
    plain organization = "organization",
});

proto!(AgentCapabilities {
    plain streaming = "streaming",
    plain push_notifications = "pushNotifications",
    plain extensions = "extensions",
    plain extended_agent_card = "extendedAgentCard",
});

proto!(AgentExtension {
    plain uri = "uri",
    plain description = "description",
    plain required = "required",
    plain params = "params",
});

proto!(AgentSkill {
    plain id = "id",
    plain name = "name",
    plain description = "description",
    plain tags = "tags",
    plain examples = "examples",
    plain input_modes = "inputModes",
    plain output_modes = "outputModes",
    plain security_requirements = "securityRequirements",
});

proto!(AgentCardSignature {
    plain protected = "protected",
    plain signature = "signature",
    plain header = "header",
});

proto!(SecurityRequirement {
    plain schemes = "schemes",
});

proto!(StringList {
    plain list = "list",
});
