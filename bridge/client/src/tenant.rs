//! The tenant that an interface names goes with every request (specification 4.4.6).

use bridge_protocol::dialect::Call;

/// The call with this tenant, unless it names one itself.
pub(crate) fn name(mut call: Call, tenant: Option<&str>) -> Call {
    let Some(tenant) = tenant.filter(|tenant| !tenant.is_empty()) else {
        return call;
    };
    let field = call.tenant_mut();
    field.get_or_insert_with(|| tenant.to_owned());
    call
}
