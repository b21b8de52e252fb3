//! Calls of 1.0: the parameters of every operation that 0.3 has.

use alloc::string::String;

use proptest::prelude::*;

use super::{
    maybe, metadata, text, texts,
    v1_0::{extra, message, push_config},
};
use crate::{a2a::*, dialect::Call};

fn send() -> BoxedStrategy<SendMessageRequest> {
    let configuration =
        (texts(), maybe(push_config()), maybe(any::<i32>()), any::<bool>(), extra()).prop_map(
            |(modes, config, history_length, at_once, extra)| SendMessageConfiguration {
                accepted_output_modes: modes,
                task_push_notification_config: config,
                history_length,
                return_immediately: at_once,
                extra,
            },
        );
    (tenant(), message(), maybe(configuration), metadata(), extra())
        .prop_map(|(tenant, message, configuration, metadata, extra)| SendMessageRequest {
            tenant,
            message,
            configuration,
            metadata,
            extra,
        })
        .boxed()
}

fn tenant() -> impl Strategy<Value = Option<String>> {
    proptest::option::weighted(0.1, text())
}

/// Generates calls of all methods of 0.3.
pub(crate) fn call() -> BoxedStrategy<Call> {
    let get_task = (tenant(), text(), maybe(any::<i32>()), extra()).prop_map(
        |(tenant, id, history_length, extra)| {
            Call::GetTask(GetTaskRequest { tenant, id, history_length, extra })
        },
    );
    let cancel =
        (tenant(), text(), metadata(), extra()).prop_map(|(tenant, id, metadata, extra)| {
            Call::CancelTask(CancelTaskRequest { tenant, id, metadata, extra })
        });
    let subscribe = (tenant(), text(), extra()).prop_map(|(tenant, id, extra)| {
        Call::SubscribeToTask(SubscribeToTaskRequest { tenant, id, extra })
    });
    prop_oneof![
        send().prop_map(Call::SendMessage),
        send().prop_map(Call::SendStreamingMessage),
        get_task,
        cancel,
        subscribe,
        push_call(),
    ]
    .boxed()
}

fn push_call() -> BoxedStrategy<Call> {
    let ids = || (tenant(), text(), text(), extra());
    let get = ids().prop_map(|(tenant, task_id, id, extra)| {
        Call::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest {
            tenant,
            task_id,
            id,
            extra,
        })
    });
    let delete = ids().prop_map(|(tenant, task_id, id, extra)| {
        Call::DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest {
            tenant,
            task_id,
            id,
            extra,
        })
    });
    let page = (maybe(any::<i32>()), maybe(text()));
    let list = (tenant(), text(), page, extra()).prop_map(|(tenant, task_id, page, extra)| {
        Call::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
            tenant,
            task_id,
            page_size: page.0,
            page_token: page.1,
            extra,
        })
    });
    let create = (push_config(), text()).prop_map(|(config, task_id)| {
        Call::CreateTaskPushNotificationConfig(TaskPushNotificationConfig {
            task_id: Some(task_id),
            ..config
        })
    });
    let card = (tenant(), extra()).prop_map(|(tenant, extra)| {
        Call::GetExtendedAgentCard(GetExtendedAgentCardRequest { tenant, extra })
    });
    prop_oneof![get, delete, list, create, card].boxed()
}
