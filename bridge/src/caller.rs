//! Who asks: part of every operation.

use std::{
    cmp::Ordering,
    collections::BTreeSet,
    hash::{Hash, Hasher},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

/// Between a tenant and the caller's own id. Neither may have this character: it is taken out of what a
/// token says, and tenants with control characters are refused.
const WITHIN: char = '\u{1f}';

/// The one on whose behalf an operation runs. What belongs to another caller does not exist.
///
/// Two are the same whose ids are.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Caller {
    /// Made by whoever authenticates, such as a token's issuer and subject. Empty for those who were not
    /// asked for credentials: no authenticated caller may have the empty id.
    pub id: String,
    /// The tenants that it may name; any if absent.
    #[serde(skip)]
    tenants: Option<Arc<BTreeSet<String>>>,
}

impl Caller {
    /// A caller known by name.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            tenants: None,
        }
    }

    /// Everyone who was not asked for credentials. They all share what they own.
    pub fn anonymous() -> Self {
        Self::new("")
    }

    /// Whether nobody knows who it is.
    pub fn is_anonymous(&self) -> bool {
        self.name().is_empty()
    }

    /// The same, who may name these tenants only, and must name one.
    #[must_use]
    pub fn bound_to(self, tenants: impl IntoIterator<Item = String>) -> Self {
        Self {
            tenants: Some(Arc::new(tenants.into_iter().collect())),
            ..self
        }
    }

    /// Whether it may ask under this tenant, or under none.
    pub fn may_name(&self, tenant: Option<&str>) -> bool {
        match (&self.tenants, tenant) {
            (None, _) => true,
            (Some(tenants), Some(tenant)) => tenants.contains(tenant),
            (Some(_), None) => false,
        }
    }

    /// The same as an owner under this tenant, who is another one than under any other tenant or none.
    #[must_use]
    pub fn within(&self, tenant: &str) -> Self {
        Self::new(format!("{tenant}{WITHIN}{}", self.id))
    }

    /// Its id without the tenant that it asks under.
    pub fn name(&self) -> &str {
        self.id
            .split_once(WITHIN)
            .map_or(&self.id, |(_, name)| name)
    }
}

impl PartialEq for Caller {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Caller {}

impl Hash for Caller {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl PartialOrd for Caller {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Caller {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id.cmp(&other.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_makes_another_owner_with_the_same_name() {
        let alice = Caller::new("alice");
        let (one, two) = (alice.within("one"), alice.within("two"));
        assert!(one != two && one != alice);
        assert_eq!((one.name(), two.name()), ("alice", "alice"));
        assert!(Caller::anonymous().within("one").is_anonymous());
        assert_eq!(serde_json::to_string(&alice).unwrap(), r#""alice""#);
    }

    #[test]
    fn a_bound_caller_names_one_of_its_tenants() {
        let bound = Caller::new("alice").bound_to(["one".to_owned()]);
        assert!(bound.may_name(Some("one")));
        assert!(!bound.may_name(Some("two")) && !bound.may_name(None));
        assert!(Caller::new("alice").may_name(None));
        assert_eq!(bound, Caller::new("alice"));
    }
}
