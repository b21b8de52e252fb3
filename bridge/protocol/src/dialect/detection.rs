//! Distinguishes the oldest forms of agent cards, also in builds that cannot read them.

use serde_json::Value;

use super::Version;
use crate::wire::Fields;

/// The capabilities that only python-a2a declares.
pub(crate) const PYTHON_FLAGS: [&str; 2] = ["google_a2a_compatible", "parts_array_format"];

/// Returns whether a card with one address is of 0.1: by its version, or by fields that no other generation has.
pub(crate) fn is_v0_1(fields: &Fields) -> bool {
    let capabilities = fields.get("capabilities");
    let is_pythons = capabilities
        .is_some_and(|capabilities| PYTHON_FLAGS.iter().any(|key| capabilities.get(key).is_some()));
    let is_bases = fields.has("base_url") && !fields.has("url");
    let version = fields.get("protocolVersion").and_then(Value::as_str);
    let is_old = match version {
        None | Some("") => fields.has("authentication"),
        Some(version) => Version::known(version) == Some(Version::V0_1),
    };
    is_pythons || is_bases || is_old
}

/// Fields that cards of A2A have and those of the `/execute` protocol do not.
const OF_A2A: [&str; 6] = [
    "protocolVersion",
    "preferredTransport",
    "additionalInterfaces",
    "capabilities",
    "authentication",
    "base_url",
];

/// Returns whether a card with one address belongs to the `/execute` protocol: a skill has a schema under its names,
/// and no field of A2A is present.
pub(crate) fn is_executes(fields: &Fields) -> bool {
    const SCHEMAS: [&str; 2] = ["input_schema", "output_schema"];
    let skills = fields.get("skills").and_then(Value::as_array);
    let has_schema = |skill: &Value| SCHEMAS.iter().any(|key| skill.get(key).is_some());
    let has_schemas = skills.is_some_and(|skills| skills.iter().any(has_schema));
    has_schemas && is_bare(fields)
}

/// Returns whether a card does not name its protocol, so that its location decides.
pub(crate) fn is_bare(fields: &Fields) -> bool {
    fields.has("url") && !OF_A2A.iter().any(|key| fields.has(key))
}
