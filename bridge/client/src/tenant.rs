//! The tenant that an interface names goes with every request (specification 4.4.6).

use bridge_protocol::dialect::Call;

/// The call with this tenant, unless it names one itself.
pub(crate) fn name(mut call: Call, tenant: Option<&str>) -> Call {
    let Some(tenant) = tenant.filter(|tenant| !tenant.is_empty()) else {
        return call;
    };
    field(&mut call).get_or_insert_with(|| tenant.to_owned());
    call
}

fn field(call: &mut Call) -> &mut Option<String> {
    match call {
        Call::SendMessage(request) | Call::SendStreamingMessage(request) => &mut request.tenant,
        Call::GetTask(request) => &mut request.tenant,
        Call::ListTasks(request) => &mut request.tenant,
        Call::CancelTask(request) => &mut request.tenant,
        Call::SubscribeToTask(request) => &mut request.tenant,
        Call::CreateTaskPushNotificationConfig(config) => &mut config.tenant,
        Call::GetTaskPushNotificationConfig(request) => &mut request.tenant,
        Call::ListTaskPushNotificationConfigs(request) => &mut request.tenant,
        Call::DeleteTaskPushNotificationConfig(request) => &mut request.tenant,
        Call::GetExtendedAgentCard(request) => &mut request.tenant,
    }
}
