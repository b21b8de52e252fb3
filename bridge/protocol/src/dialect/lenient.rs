//! Reads cards leniently, for clients: an invalid entry is dropped, not the card.
//!
//! Name and address are required. Other invalid entries are dropped with a warning: a security scheme of an
//! unknown kind, a skill without an id, an interface without a binding.

use alloc::{string::String, vec::Vec};

use serde_json::{Map, Value};

use super::{
    Version,
    card::{Generation, read},
    v0_3::security::requirement_to_v1,
};
use crate::{
    a2a::{
        AgentCard, AgentCardSignature, AgentExtension, AgentInterface, AgentSkill,
        SecurityRequirement, SecurityScheme,
    },
    wire::{FieldError, Wire},
};

/// Fields that can be dropped.
const DISPENSABLE: [&str; 14] = [
    "additionalInterfaces",
    "capabilities",
    "defaultInputModes",
    "defaultOutputModes",
    "description",
    "documentationUrl",
    "iconUrl",
    "provider",
    "security",
    "securityRequirements",
    "securitySchemes",
    "signatures",
    "skills",
    "version",
];

/// A card without its invalid entries.
#[derive(Clone, Debug, PartialEq)]
pub struct LenientCard {
    /// The card.
    pub card: AgentCard,
    /// The generation in whose form it is.
    pub generation: Generation,
    /// The entries that were invalid, and were dropped or interpreted.
    pub warnings: Vec<FieldError>,
}

/// Reads a card of any generation and drops invalid entries.
///
/// An interface without a version in a card of 1.0 is taken to have version 1.0.
///
/// # Errors
/// Returns an error if the name or a valid address is missing.
pub fn read_leniently(mut document: Value) -> Result<LenientCard, FieldError> {
    let mut warnings = Vec::new();
    if let Value::Object(card) = &mut document {
        name_versions(card, &mut warnings);
    }
    let Err(first) = read(document.clone()) else {
        return legible(document, warnings);
    };
    if let Value::Object(card) = &mut document {
        let had = card.contains_key("supportedInterfaces");
        drop_invalid_entries(card, &mut warnings);
        let has_none = |list: &Value| list.as_array().is_some_and(Vec::is_empty);
        // Without a valid interface there is no address; the first error names the reason.
        if had && card.get("supportedInterfaces").is_some_and(has_none) && !card.contains_key("url")
        {
            return Err(first);
        }
    }
    legible(document, warnings)
}

/// Drops optional fields, one after the other, until the card can be read.
fn legible(mut document: Value, mut warnings: Vec<FieldError>) -> Result<LenientCard, FieldError> {
    loop {
        let error = match read(document.clone()) {
            Ok((card, generation)) => {
                return Ok(LenientCard { card, generation, warnings });
            }
            Err(error) => error,
        };
        let end = error.path.find(['.', '[']).unwrap_or(error.path.len());
        let is_dispensable = DISPENSABLE.contains(&&error.path[..end]);
        let removed = document
            .as_object_mut()
            .filter(|_| is_dispensable)
            .and_then(|card| card.remove(&error.path[..end]));
        if removed.is_none() {
            return Err(error);
        }
        warnings.push(error);
    }
}

fn name_versions(card: &mut Map<String, Value>, warnings: &mut Vec<FieldError>) {
    let Some(Value::Array(interfaces)) = card.get_mut("supportedInterfaces") else {
        return;
    };
    for (place, interface) in interfaces.iter_mut().enumerate() {
        let Value::Object(interface) = interface else {
            continue;
        };
        let is_named = |key: &str| match interface.get(key) {
            None | Some(Value::Null) => false,
            Some(version) => version.as_str() != Some(""),
        };
        if is_named("protocolVersion") || is_named("protocol_version") {
            continue;
        }
        interface.remove("protocol_version");
        interface.insert("protocolVersion".into(), Version::V1_0.as_str().into());
        warnings.push(no_version(place));
    }
}

fn drop_invalid_entries(card: &mut Map<String, Value>, warnings: &mut Vec<FieldError>) {
    let is_v1 = card.contains_key("supportedInterfaces");
    keep(card, "supportedInterfaces", warnings, AgentInterface::read);
    keep(card, "additionalInterfaces", warnings, address);
    keep(card, "skills", warnings, AgentSkill::read);
    keep(card, "signatures", warnings, AgentCardSignature::read);
    keep(card, "security", warnings, requirement_to_v1);
    keep(card, "securityRequirements", warnings, SecurityRequirement::read);
    if let Some(Value::Object(capabilities)) = card.get_mut("capabilities") {
        let before = warnings.len();
        keep(capabilities, "extensions", warnings, AgentExtension::read);
        for warning in &mut warnings[before..] {
            *warning = warning.clone().inside("capabilities");
        }
    }
    // Readers of 0.3 handle unknown schemes themselves.
    if let Some(Value::Object(schemes)) = card.get_mut("securitySchemes").filter(|_| is_v1) {
        schemes.retain(|name, scheme| {
            let error = SecurityScheme::read(scheme.clone()).err();
            let is_good = error.is_none();
            warnings.extend(error.map(|error| error.inside(name).inside("securitySchemes")));
            is_good
        });
    }
}

/// Keeps the valid entries of a list.
fn keep<T>(
    fields: &mut Map<String, Value>,
    key: &str,
    warnings: &mut Vec<FieldError>,
    read: impl Fn(Value) -> Result<T, FieldError>,
) {
    let Some(Value::Array(entries)) = fields.get_mut(key) else {
        return;
    };
    keep_valid(entries, key, warnings, |entry| read(entry.clone()));
}

/// Keeps the valid entries, and adds a warning for each of the others.
pub(crate) fn keep_valid<E, T>(
    entries: &mut Vec<E>,
    key: &str,
    warnings: &mut Vec<FieldError>,
    read: impl Fn(&E) -> Result<T, FieldError>,
) {
    let mut place = 0;
    entries.retain(|entry| {
        let error = read(entry).err();
        let is_good = error.is_none();
        warnings.extend(error.map(|error| error.at(place).inside(key)));
        place += 1;
        is_good
    });
}

/// Returns the warning for an interface without a version.
pub(crate) fn no_version(place: usize) -> FieldError {
    let warning = FieldError::new("a version of A2A", "nothing, which is taken for 1.0");
    warning.inside("protocolVersion").at(place).inside("supportedInterfaces")
}

/// Checks the required fields of an additional interface of 0.3.
fn address(interface: Value) -> Result<(), FieldError> {
    let mut fields = crate::wire::Fields::of(interface)?;
    fields.required::<String>("url")?;
    fields.optional::<Option<String>>("transport")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use serde_json::json;

    fn read_with_warnings(card: Value) -> (AgentCard, Vec<String>) {
        let read = read_leniently(card).unwrap();
        let warnings = read.warnings.iter().map(ToString::to_string).collect();
        (read.card, warnings)
    }

    #[test]
    fn a_missing_version_is_taken_for_1_0() {
        for version in [json!({}), json!({"protocolVersion": null}), json!({"protocolVersion": ""})]
        {
            let mut interface = json!({"url": "http://h/", "protocolBinding": "JSONRPC"});
            for (key, value) in version.as_object().unwrap() {
                interface[key] = value.clone();
            }
            let (card, warnings) =
                read_with_warnings(json!({"name": "n", "supportedInterfaces": [interface]}));
            assert_eq!(card.supported_interfaces[0].protocol_version, "1.0");
            let expected = "supportedInterfaces[0].protocolVersion: expected a version of A2A, found nothing, \
                            which is taken for 1.0";
            assert_eq!(warnings, [expected]);
        }
    }

    #[test]
    fn a_bad_entry_costs_itself() {
        let (card, warnings) = read_with_warnings(json!({
            "name": "n",
            "supportedInterfaces": [
                {"url": "u", "protocolVersion": "1.0"},
                {"url": "v", "protocolBinding": "carrier pigeon", "protocolVersion": "1.0"},
                {"url": "w", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            ],
            "securitySchemes": {
                "odd": {"handshakeSecurityScheme": {}},
                "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            },
            "skills": [{"id": 7}, {"id": "s"}],
            "provider": "someone",
        }));
        let urls: Vec<_> = card.supported_interfaces.iter().map(|one| &*one.url).collect();
        assert_eq!(urls, ["v", "w"]);
        assert_eq!(card.security_schemes.keys().collect::<Vec<_>>(), ["key"]);
        assert_eq!(card.skills[0].id, "s");
        let places: Vec<_> = warnings.iter().map(|one| one.split(": ").next().unwrap()).collect();
        let expected = [
            "supportedInterfaces[0].protocolBinding",
            "skills[0].id",
            "securitySchemes.odd",
            "provider",
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn cards_of_0_3_are_read_so_too() {
        let (card, warnings) = read_with_warnings(json!({
            "name": "n", "url": "u", "protocolVersion": "0.3.0",
            "additionalInterfaces": [{"transport": "GRPC"}, {"url": "v", "transport": "GRPC"}],
            "securitySchemes": {"odd": {"type": "handshake"}},
        }));
        assert_eq!(card.supported_interfaces.len(), 2);
        assert_eq!(warnings, ["additionalInterfaces[0].url: expected a string, found nothing"]);
    }

    #[test]
    fn a_name_and_an_address_are_needed() {
        for (card, path) in [
            (json!({"url": "u"}), "name"),
            (
                json!({"name": "n", "supportedInterfaces": [{"url": 1}]}),
                "supportedInterfaces[0].url",
            ),
            (json!({"name": "n"}), ""),
            (json!([]), ""),
        ] {
            assert_eq!(read_leniently(card).unwrap_err().path, path);
        }
    }
}
