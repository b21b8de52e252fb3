//! Adds the tenant that an interface names to every request (specification 4.4.6).

use bridge_protocol::dialect::Call;

/// Sets the tenant of a call, unless it has one.
pub(crate) fn name(mut call: Call, tenant: Option<&str>) -> Call {
    let Some(tenant) = tenant.filter(|tenant| !tenant.is_empty()) else {
        return call;
    };
    let field = call.tenant_mut();
    field.get_or_insert_with(|| tenant.to_owned());
    call
}
