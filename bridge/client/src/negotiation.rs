//! Which of a card's interfaces are used: those that both sides know, in the card's order (specification 5.2,
//! 8.3.2).

use bridge_protocol::{
    a2a::{AgentCard, AgentInterface},
    dialect::Version,
};

use crate::{Binding, Fault, interface::carries};

/// What a user of the client insists on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) version: Option<Version>,
    pub(crate) binding: Option<Binding>,
}

/// An interface with what is spoken there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Choice<'a> {
    pub(crate) interface: &'a AgentInterface,
    pub(crate) version: Version,
    pub(crate) binding: Binding,
}

/// The interfaces that can be used, in the card's order, which says what the agent prefers (8.3.2).
pub(crate) fn choices(card: &AgentCard, wanted: Wanted) -> Result<Vec<Choice<'_>>, Fault> {
    let ways = ways(wanted);
    let find = |interface| {
        let mut spoken = ways.iter();
        let spoken = spoken.find(|way| speaks(interface, way.0, way.1, wanted));
        spoken.map(|&(version, binding)| Choice {
            interface,
            version,
            binding,
        })
    };
    let all: Vec<_> = card.supported_interfaces.iter().filter_map(find).collect();
    match all.is_empty() {
        false => Ok(all),
        true => Err(Fault::NoInterface {
            offered: offered(card),
            needed: needed(&ways),
        }),
    }
}

/// The ways in which this client can speak and its user lets it, the best first.
fn ways(wanted: Wanted) -> Vec<(Version, Binding)> {
    let versions = Version::ALL.into_iter().rev();
    let versions = versions.filter(|one| wanted.version.is_none_or(|version| version == *one));
    let all = versions.flat_map(|version| Binding::ALL.map(|binding| (version, binding)));
    let is_wanted = |binding: &Binding| wanted.binding.is_none_or(|wanted| wanted == *binding);
    all.filter(|(version, binding)| carries(*binding, *version) && is_wanted(binding))
        .collect()
}

fn speaks(interface: &AgentInterface, version: Version, binding: Binding, wanted: Wanted) -> bool {
    // Cards had no place for it yet, so whoever insists on 0.1 tries it at the address there is.
    let is_tried = version == Version::V0_1 && wanted.version == Some(Version::V0_1);
    let is_spoken = Version::of(&interface.protocol_version) == Some(version);
    Binding::of(&interface.protocol_binding) == Some(binding) && (is_tried || is_spoken)
}

fn offered(card: &AgentCard) -> String {
    let shown: Vec<_> = card
        .supported_interfaces
        .iter()
        .map(|one| format!("{} {}", one.protocol_binding, one.protocol_version))
        .collect();
    match shown.is_empty() {
        true => "no interface".to_owned(),
        false => shown.join(", "),
    }
}

fn needed(ways: &[(Version, Binding)]) -> String {
    let shown: Vec<_> = ways
        .iter()
        .map(|(version, binding)| format!("{binding} {version}"))
        .collect();
    match shown.is_empty() {
        true => "a version that the wanted binding carries".to_owned(),
        false => shown.join(" or "),
    }
}
