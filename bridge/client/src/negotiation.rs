//! Chooses among a card's interfaces those that client and agent both support, in the card's order
//! (specification 5.2, 8.3.2).

use bridge_protocol::{
    a2a::{AgentCard, AgentInterface},
    dialect::Version,
};

use crate::{
    Binding, Fault, Options,
    interface::{carries, offered, presumed_version},
};

/// An interface with the version and binding to use there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChosenInterface<'a> {
    pub(crate) interface: &'a AgentInterface,
    pub(crate) version: Version,
    pub(crate) binding: Binding,
}

/// Returns the interfaces that can be used, in the card's order, which is the agent's preference (8.3.2). If there is
/// none, those with an unknown version or binding are tried, as the caller requires.
pub(crate) fn choices<'a>(
    card: &'a AgentCard,
    wanted: &Options,
) -> Result<Vec<ChosenInterface<'a>>, Fault> {
    let usable = supported(wanted);
    let find = |fits: Fits| {
        let chosen = card.supported_interfaces.iter().filter_map(|interface| {
            let mut spoken = usable.iter().map(|&(version, binding)| ChosenInterface {
                interface,
                version,
                binding,
            });
            spoken.find(|chosen| fits(chosen, wanted))
        });
        chosen.collect::<Vec<_>>()
    };
    let mut all = find(supports);
    if all.is_empty() {
        all = find(is_as_required);
    }
    match all.is_empty() {
        false => Ok(all),
        true => Err(Fault::NoInterface { offered: offered(card), needed: needed(card, &usable) }),
    }
}

/// Whether an interface can be used in a version and binding.
type Fits = fn(&ChosenInterface<'_>, &Options) -> bool;

/// Returns the versions and bindings that client and caller allow, in order of preference.
fn supported(wanted: &Options) -> Vec<(Version, Binding)> {
    let versions = Version::ALL.into_iter().rev();
    let versions = versions.filter(|one| wanted.version.is_none_or(|version| version == *one));
    let all = versions.flat_map(|version| Binding::ALL.map(|binding| (version, binding)));
    let is_wanted = |binding: &Binding| wanted.binding.is_none_or(|wanted| wanted == *binding);
    all.filter(|(version, binding)| carries(*binding, *version) && is_wanted(binding)).collect()
}

fn supports(chosen: &ChosenInterface<'_>, wanted: &Options) -> bool {
    let ChosenInterface { interface, version, binding } = *chosen;
    // Cards had no field for version 0.1 yet, so a caller that requires 0.1 gets any interface.
    let is_tried = version == Version::V0_1 && wanted.version == Some(Version::V0_1);
    let is_spoken = Version::of(&interface.protocol_version) == Some(version);
    Binding::of(&interface.protocol_binding) == Some(binding) && (is_tried || is_spoken)
}

/// Whether the caller requires what the interface does not tell because its version or binding is unknown, or the
/// version is presumed.
fn is_as_required(chosen: &ChosenInterface<'_>, wanted: &Options) -> bool {
    let ChosenInterface { interface, version, binding } = *chosen;
    let has_version = match Version::of(&interface.protocol_version) {
        // A card has this version by its form only, and agents of 0.3 write such cards too.
        Some(Version::V0_1) => version == Version::V0_3 && wanted.version == Some(version),
        Some(named) => named == version,
        None => wanted.version.or_else(|| presumed_version(interface)) == Some(version),
    };
    let has_binding = match Binding::of(&interface.protocol_binding) {
        Some(named) => named == binding,
        None => wanted.binding == Some(binding) && !is_custom(interface),
    };
    has_version && has_binding
}

/// Whether the binding is one that its agent defines, whose name is a URI (specification 5.8).
fn is_custom(interface: &AgentInterface) -> bool {
    interface.protocol_binding.contains(':')
}

fn needed(card: &AgentCard, usable: &[(Version, Binding)]) -> String {
    let shown: Vec<_> =
        usable.iter().map(|(version, binding)| format!("{binding} {version}")).collect();
    if shown.is_empty() {
        return "a version that the requested binding supports".to_owned();
    }
    let is_unknown = |interface: &AgentInterface| {
        let has_unknown_binding = Binding::of(&interface.protocol_binding).is_none();
        !is_custom(interface)
            && (has_unknown_binding || Version::of(&interface.protocol_version).is_none())
    };
    let advice = match card.supported_interfaces.iter().any(is_unknown) {
        true => "; set version and binding to try one all the same",
        false => "",
    };
    shown.join(" or ") + advice
}
