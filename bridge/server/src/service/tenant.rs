//! Resolves tenants (specification 3.2.6, 13.1). Under each tenant a caller is a different owner, so that the
//! layers below need not know about tenants.

use std::borrow::Cow;

use bridge_protocol::{a2a::Error, wire::FieldError};

use super::{Context, Result};

/// The length limit of a tenant's name in bytes. The name is a part of keys in the store.
const MAX_TENANT_BYTES: usize = 256;

/// Returns the context with the caller as the owner under the requested tenant.
///
/// A caller who may not use a tenant gets the same error as for an invalid name, so that errors do not show which
/// tenants exist.
pub(super) fn resolve_tenant(context: &Context) -> Result<Cow<'_, Context>> {
    let tenant = context.tenant.as_deref().filter(|name| !name.is_empty());
    if !context.caller.may_name(tenant) {
        return Err(refused("the name of a tenant that the caller belongs to"));
    }
    let Some(tenant) = tenant else {
        return Ok(Cow::Borrowed(context));
    };
    if tenant.len() > MAX_TENANT_BYTES || tenant.contains(char::is_control) {
        return Err(refused("a name of at most 256 bytes without control characters"));
    }
    let mut resolved = context.clone();
    resolved.caller = context.caller.within(tenant);
    resolved.tenant = None;
    Ok(Cow::Owned(resolved))
}

fn refused(expected: &str) -> Error {
    FieldError::new(expected, "something else").inside("tenant").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Caller;

    #[test]
    fn a_tenant_makes_another_owner() {
        let (long, alice) = ("x".repeat(257), Caller::new("alice"));
        let bound = alice.clone().bound_to(["one".to_owned()]);
        for (caller, tenant, owner) in [
            (&alice, None, Some(alice.clone())),
            (&alice, Some(""), Some(alice.clone())),
            (&alice, Some("one"), Some(alice.within("one"))),
            (&alice, Some("a\u{1f}b"), None),
            (&alice, Some(&long), None),
            (&bound, Some("one"), Some(alice.within("one"))),
            (&bound, Some("two"), None),
            (&bound, None, None),
        ] {
            let mut context = Context::new("a", caller.clone());
            context.tenant = tenant.map(str::to_owned);
            let seen = resolve_tenant(&context).ok().map(|one| one.caller.clone());
            assert_eq!(seen, owner, "{tenant:?}");
        }
    }
}
