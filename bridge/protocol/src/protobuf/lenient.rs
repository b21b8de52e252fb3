//! Reads cards leniently from protocol buffers, for clients: an invalid entry is dropped, not the card, as in
//! [`dialect::lenient`](crate::dialect::lenient).

use alloc::vec::Vec;

use prost::Message as _;

use super::{Proto, ReadError, v1};
use crate::{
    a2a::{
        AgentCard, AgentCardSignature, AgentExtension, AgentInterface, AgentSkill,
        SecurityRequirement, SecurityScheme,
    },
    dialect::{
        Version,
        lenient::{keep_valid, no_version},
    },
    wire::FieldError,
};

/// Reads a card and drops invalid entries, each with a warning. An interface without a version is taken to
/// have 1.0, because only that has protocol buffers.
///
/// # Errors
/// [`ReadError`]
pub fn read_card_leniently(bytes: &[u8]) -> Result<(AgentCard, Vec<FieldError>), ReadError> {
    let mut card = v1::AgentCard::decode(bytes).map_err(ReadError::Bytes)?;
    let mut warnings = Vec::new();
    for (place, interface) in card.supported_interfaces.iter_mut().enumerate() {
        if interface.protocol_version.is_empty() {
            interface.protocol_version = Version::V1_0.as_str().into();
            warnings.push(no_version(place));
        }
    }
    keep::<AgentInterface, _>(&mut card.supported_interfaces, "supportedInterfaces", &mut warnings);
    keep::<AgentSkill, _>(&mut card.skills, "skills", &mut warnings);
    keep::<AgentCardSignature, _>(&mut card.signatures, "signatures", &mut warnings);
    let requirements = &mut card.security_requirements;
    keep::<SecurityRequirement, _>(requirements, "securityRequirements", &mut warnings);
    card.security_schemes.retain(|name, scheme| {
        let error = SecurityScheme::from_proto(scheme.clone()).err();
        let is_good = error.is_none();
        warnings.extend(error.map(|error| error.inside(name).inside("securitySchemes")));
        is_good
    });
    if card.capabilities.is_none() {
        warnings.push(FieldError::new("an object", "nothing").inside("capabilities"));
    }
    let before = warnings.len();
    let capabilities = card.capabilities.get_or_insert_default();
    keep::<AgentExtension, _>(&mut capabilities.extensions, "extensions", &mut warnings);
    for warning in &mut warnings[before..] {
        *warning = warning.clone().inside("capabilities");
    }
    Ok((AgentCard::from_proto(card)?, warnings))
}

fn keep<T: Proto<P>, P: Clone>(entries: &mut Vec<P>, key: &str, warnings: &mut Vec<FieldError>) {
    keep_valid(entries, key, warnings, |entry| T::from_proto(entry.clone()));
}

#[cfg(test)]
mod tests {
    use alloc::{string::ToString as _, vec};

    use super::*;

    #[test]
    fn a_bad_entry_costs_itself() {
        let interface = |version: &str| v1::AgentInterface {
            url: "http://h:1".into(),
            protocol_binding: "GRPC".into(),
            protocol_version: version.into(),
            ..v1::AgentInterface::default()
        };
        let good =
            v1::security_scheme::Scheme::MtlsSecurityScheme(v1::MutualTlsSecurityScheme::default());
        let card = v1::AgentCard {
            name: "plan".into(),
            supported_interfaces: vec![interface("1.0"), interface("")],
            security_schemes: [
                ("good".into(), v1::SecurityScheme { scheme: Some(good) }),
                // A scheme of an unknown kind is read like this.
                ("unknown".into(), v1::SecurityScheme::default()),
            ]
            .into(),
            ..v1::AgentCard::default()
        };
        let bytes = card.encode_to_vec();
        assert!(super::super::read::<v1::AgentCard, AgentCard>(&bytes).is_err());
        let (card, warnings) = read_card_leniently(&bytes).unwrap();
        let versions = card.supported_interfaces.iter();
        let versions: Vec<_> = versions.map(|one| one.protocol_version.as_str()).collect();
        assert_eq!(versions, ["1.0", "1.0"]);
        let schemes: Vec<_> = card.security_schemes.keys().collect();
        assert_eq!(schemes, ["good"]);
        let told: Vec<_> = warnings.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(
            told,
            ["supportedInterfaces[1].protocolVersion", "securitySchemes.unknown", "capabilities",]
        );
        assert!(warnings[0].to_string().contains("taken for 1.0"));
    }
}
