//! The callers of operations.

use std::{
    cmp::Ordering,
    collections::BTreeSet,
    hash::{Hash, Hasher},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

/// The separator between a tenant and the caller's own id. Neither contains it: it is removed from the claims of tokens,
/// and tenants with control characters are refused.
const SEPARATOR: char = '\u{1f}';

/// The caller on whose behalf an operation runs. For a caller, the data of other callers do not exist.
///
/// Two callers with the same id are equal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Caller {
    /// The id, as determined by authentication, such as issuer and subject of a token. Empty for callers without
    /// authentication; no authenticated caller has an empty id.
    pub id: Arc<str>,
    /// The tenants that the caller may use; `None` for all.
    #[serde(skip)]
    tenants: Option<Arc<BTreeSet<String>>>,
}

impl Caller {
    /// Creates a caller with this id.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), tenants: None }
    }

    /// Returns the caller for requests without authentication. All of them share their data.
    pub fn anonymous() -> Self {
        // The default is shared, so that it takes no memory.
        Self::new(Arc::<str>::default())
    }

    /// Returns whether the caller is not authenticated.
    pub fn is_anonymous(&self) -> bool {
        self.name().is_empty()
    }

    /// Restricts the caller to these tenants, one of which each request must name.
    #[must_use]
    pub fn bound_to(self, tenants: impl IntoIterator<Item = String>) -> Self {
        Self { tenants: Some(Arc::new(tenants.into_iter().collect())), ..self }
    }

    /// Returns whether the caller may use this tenant, or none.
    pub fn may_name(&self, tenant: Option<&str>) -> bool {
        match (&self.tenants, tenant) {
            (None, _) => true,
            (Some(tenants), Some(tenant)) => tenants.contains(tenant),
            (Some(_), None) => false,
        }
    }

    /// Returns the owner of this caller's data in a tenant. It differs from the owner in any other tenant and in none.
    #[must_use]
    pub fn within(&self, tenant: &str) -> Self {
        Self::new(format!("{tenant}{SEPARATOR}{}", self.id))
    }

    /// Returns the tenant under which the caller owns its data, if there is one.
    pub fn tenant(&self) -> Option<&str> {
        self.id.split_once(SEPARATOR).map(|(tenant, _)| tenant)
    }

    /// Returns the id without the tenant.
    pub fn name(&self) -> &str {
        self.id.split_once(SEPARATOR).map_or(&self.id, |(_, name)| name)
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
        assert_eq!((one.tenant(), alice.tenant()), (Some("one"), None));
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
