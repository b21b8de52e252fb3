//! Chooses among a card's interfaces those that client and agent both support, in the card's order
//! (specification 5.2, 8.3.2).

use bridge_protocol::{
    a2a::{AgentCard, AgentInterface},
    dialect::Version,
};

use crate::{
    Binding, Fault,
    interface::{carries, offered},
};

/// The version and binding that the caller requires.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requirements {
    pub(crate) version: Option<Version>,
    pub(crate) binding: Option<Binding>,
}

/// An interface with the version and binding to use there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChosenInterface<'a> {
    pub(crate) interface: &'a AgentInterface,
    pub(crate) version: Version,
    pub(crate) binding: Binding,
}

/// Returns the interfaces that can be used, in the card's order, which is the agent's preference (8.3.2).
pub(crate) fn choices(
    card: &AgentCard,
    wanted: Requirements,
) -> Result<Vec<ChosenInterface<'_>>, Fault> {
    let usable = supported(wanted);
    let find = |interface| {
        let mut spoken = usable.iter();
        let spoken = spoken.find(|way| supports(interface, way.0, way.1, wanted));
        spoken.map(|&(version, binding)| ChosenInterface { interface, version, binding })
    };
    let all: Vec<_> = card.supported_interfaces.iter().filter_map(find).collect();
    match all.is_empty() {
        false => Ok(all),
        true => Err(Fault::NoInterface { offered: offered(card), needed: needed(&usable) }),
    }
}

/// Returns the versions and bindings that client and caller allow, in order of preference.
fn supported(wanted: Requirements) -> Vec<(Version, Binding)> {
    let versions = Version::ALL.into_iter().rev();
    let versions = versions.filter(|one| wanted.version.is_none_or(|version| version == *one));
    let all = versions.flat_map(|version| Binding::ALL.map(|binding| (version, binding)));
    let is_wanted = |binding: &Binding| wanted.binding.is_none_or(|wanted| wanted == *binding);
    all.filter(|(version, binding)| carries(*binding, *version) && is_wanted(binding)).collect()
}

fn supports(
    interface: &AgentInterface,
    version: Version,
    binding: Binding,
    wanted: Requirements,
) -> bool {
    // Cards had no field for version 0.1 yet, so a caller that requires 0.1 gets any interface.
    let is_tried = version == Version::V0_1 && wanted.version == Some(Version::V0_1);
    let is_spoken = Version::of(&interface.protocol_version) == Some(version);
    Binding::of(&interface.protocol_binding) == Some(binding) && (is_tried || is_spoken)
}

fn needed(usable: &[(Version, Binding)]) -> String {
    let shown: Vec<_> =
        usable.iter().map(|(version, binding)| format!("{binding} {version}")).collect();
    match shown.is_empty() {
        true => "a version that the requested binding supports".to_owned(),
        false => shown.join(" or "),
    }
}
