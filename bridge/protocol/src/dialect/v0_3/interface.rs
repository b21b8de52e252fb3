//! The interfaces of an agent (0.3, section 5.5.5 and 5.6).
//!
//! 1.0 has a list of interfaces, each with its version. 0.3 has one main `url` and additional interfaces, all
//! of the card's version. The main one may be repeated among them, which has no meaning.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::Value;

use crate::{
    a2a::{AgentCard, AgentInterface, Binding, Metadata},
    dialect::{
        Losses, Version,
        object::{self, Object, RESIDUE},
    },
    wire::{FieldError, Fields},
};

/// The transport at the `url` of a card that does not name it.
const DEFAULT_TRANSPORT: Binding = Binding::JsonRpc;

/// The version of a card that does not name it: the field was added in 0.2.5.
const DEFAULT_VERSION: &str = "0.2";

/// Reads the interfaces: the main `url` first, then the others without repetitions.
pub(crate) fn read(
    fields: &mut Fields,
    residue: &mut Metadata,
) -> Result<Vec<AgentInterface>, FieldError> {
    let url: String = fields.required("url")?;
    if url.is_empty() {
        return Err(FieldError::new("the agent's address", "an empty string").inside("url"));
    }
    let transport: Option<String> = fields.optional("preferredTransport")?;
    let version = read_version(fields, residue);
    let read = |interface| interface_to_v1(interface, &version);
    let mut others = fields.list_by("additionalInterfaces", read)?;
    let transport = transport.unwrap_or_else(|| DEFAULT_TRANSPORT.as_str().into());
    let main = AgentInterface::new(url, transport, version.as_str());
    // A repetition may have fields that a bare `url` cannot.
    let is_main = |other: &AgentInterface| is_same_place(other, &main);
    let main = match others.iter().position(is_main) {
        Some(index) => others.remove(index),
        None => main,
    };
    let mut interfaces = Vec::from([main]);
    for other in others {
        if !interfaces.contains(&other) {
            interfaces.push(other);
        }
    }
    Ok(interfaces)
}

/// Reads major and minor version; the full text is kept if it cannot be restored from them.
fn read_version(fields: &mut Fields, residue: &mut Metadata) -> String {
    let whole = fields.text("protocolVersion").unwrap_or_default();
    let version = match whole.as_str() {
        "" => DEFAULT_VERSION.into(),
        whole => major_minor(whole),
    };
    if !whole.is_empty() && whole != with_patch(&version) {
        residue.insert("protocolVersion".into(), whole.into());
    }
    version
}

fn major_minor(version: &str) -> String {
    let numbers: Vec<&str> = version.split('.').take(2).collect();
    numbers.join(".")
}

/// Cards of 0.3 have three numbers.
fn with_patch(version: &str) -> String {
    format!("{version}.0")
}

fn interface_to_v1(value: Value, version: &str) -> Result<AgentInterface, FieldError> {
    const V1_NAMES: [&str; 3] = ["protocolBinding", "protocolVersion", "tenant"];
    let mut fields = Fields::of(value)?;
    let transport: Option<String> = fields.optional("transport")?;
    Ok(AgentInterface {
        url: fields.required("url")?,
        protocol_binding: transport.unwrap_or_else(|| DEFAULT_TRANSPORT.as_str().into()),
        tenant: fields.text("tenant"),
        protocol_version: version.to_string(),
        extra: object::extra(fields, &V1_NAMES, Metadata::new()),
    })
}

/// Returns whether clients of 0.3 can use this interface.
pub(crate) fn is_reachable(interface: &AgentInterface) -> bool {
    Version::of(&interface.protocol_version) == Some(Version::V0_3)
}

/// Writes the interfaces of 0.3, or the first of all if there is none.
pub(crate) fn write(object: &mut Object, card: &AgentCard, losses: &mut Losses) {
    let all = &card.supported_interfaces;
    let reachable = all.iter().find(|interface| is_reachable(interface));
    if reachable.is_none() {
        losses.add("supportedInterfaces", "no interface speaks 0.3; the first one is named");
    }
    let Some(main) = reachable.or(all.first()) else {
        return object.put("url", "");
    };
    object.put("url", main.url.as_str());
    object.put("preferredTransport", main.protocol_binding.as_str());
    object.put("protocolVersion", write_version(card, main));
    let mut others = Vec::new();
    for (index, interface) in all.iter().enumerate() {
        let path = format!("supportedInterfaces[{index}]");
        if interface.protocol_version != main.protocol_version {
            losses.add(&path, "another version, so it was left out");
        } else if all[..index].contains(interface) {
            losses.add(&path, "named before, so it was left out");
        } else if interface != main || needs_room(main, all) {
            others.push(losses.inside(&path, |losses| interface_from_v1(interface, losses)));
        }
    }
    object.list("additionalInterfaces", others);
}

/// Returns whether the main interface is repeated in the list: it has fields that a bare `url` cannot express, or
/// another one with the same address would be taken for it.
fn needs_room(main: &AgentInterface, all: &[AgentInterface]) -> bool {
    let has_tenant = main.tenant.as_ref().is_some_and(|name| !name.is_empty());
    let is_double = |other: &AgentInterface| other != main && is_same_place(other, main);
    has_tenant || !main.extra.is_empty() || all.iter().any(is_double)
}

fn is_same_place(one: &AgentInterface, other: &AgentInterface) -> bool {
    one.url == other.url && one.protocol_binding == other.protocol_binding
}

fn write_version(card: &AgentCard, main: &AgentInterface) -> String {
    let whole = card.extra.get(RESIDUE).and_then(|residue| residue.get("protocolVersion"));
    match whole.and_then(Value::as_str) {
        Some(whole) if major_minor(whole) == main.protocol_version => whole.into(),
        Some(_) | None => with_patch(&main.protocol_version),
    }
}

fn interface_from_v1(interface: &AgentInterface, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.put("url", interface.url.as_str());
    object.put("transport", interface.protocol_binding.as_str());
    object.skipped("tenant", interface.tenant.as_deref(), losses);
    object.finish(&interface.extra, &[], losses)
}
