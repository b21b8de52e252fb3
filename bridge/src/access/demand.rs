//! What is demanded of a request: by the card of all, by a skill of those that name it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Access, decision::Requirement, declared::Scheme, shown::Place};

/// Requirements, any of which is enough.
pub(super) struct Demand<'a> {
    pub(super) access: &'a Access,
    pub(super) requirements: &'a [Requirement],
    /// The skill that needs them, if it is not the card.
    pub(super) skill: Option<&'a str>,
}

impl<'a> Demand<'a> {
    /// What is demanded, each scheme in these words.
    pub(super) fn told(&self, told: fn(&Place) -> String) -> String {
        let one = |name: &String| self.access.scheme(name).map(|scheme| told(&scheme.place));
        let requirements = self.requirements.iter().filter(|one| !one.is_empty());
        let all = requirements.map(|requirement| {
            let schemes: Vec<String> = requirement.keys().filter_map(one).collect();
            schemes.join(" with ")
        });
        all.collect::<Vec<_>>().join(", or ")
    }

    /// The schemes that could be shown, those that are required if any is.
    pub(super) fn schemes(&self) -> impl Iterator<Item = &'a Scheme> {
        let required: BTreeSet<&String> =
            self.requirements.iter().flat_map(BTreeMap::keys).collect();
        let all = self.access.schemes();
        all.filter(move |(name, _)| required.is_empty() || required.contains(name))
            .map(|(_, scheme)| scheme)
    }
}
