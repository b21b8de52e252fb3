//! The requirements on a request: those of the card, or those of a skill that it names.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Access, credential_location::CredentialLocation, decision::Requirement, declared::Scheme,
};

/// Alternative requirements, one of which is enough.
pub(super) struct Demand<'a> {
    pub(super) access: &'a Access,
    pub(super) requirements: &'a [Requirement],
    /// The skill that has the requirements; `None` for the card.
    pub(super) skill: Option<&'a str>,
}

impl<'a> Demand<'a> {
    /// Returns a description of the requirements; `describe_scheme` describes one of its schemes.
    pub(super) fn describe(&self, describe_scheme: fn(&CredentialLocation) -> String) -> String {
        let one =
            |name: &String| self.access.scheme(name).map(|scheme| describe_scheme(&scheme.place));
        let requirements = self.requirements.iter().filter(|one| !one.is_empty());
        let all = requirements.map(|requirement| {
            let schemes: Vec<String> = requirement.keys().filter_map(one).collect();
            schemes.join(" with ")
        });
        all.collect::<Vec<_>>().join(", or ")
    }

    /// Returns the schemes that are required, or all accepted ones if none is required.
    pub(super) fn schemes(&self) -> impl Iterator<Item = &'a Scheme> {
        let required: BTreeSet<&String> =
            self.requirements.iter().flat_map(BTreeMap::keys).collect();
        let all = self.access.schemes();
        all.filter(move |(name, _)| required.is_empty() || required.contains(name))
            .map(|(_, scheme)| scheme)
    }
}
