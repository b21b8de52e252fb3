//! The answers of operations, in every generation.
//!
//! Two answers need no translation: ListTasks exists in 1.0 only, and the answer to a deletion is empty.
//! Cards are read by [`card::read`], which detects their generation.

use serde_json::{Map, Value};

use super::{
    Losses, Version, card, v0_1,
    v0_3::{Form, event, push, task},
};
use crate::{
    a2a::{
        AgentCard, ListTaskPushNotificationConfigsResponse, SendMessageResponse, StreamResponse,
        Task, TaskPushNotificationConfig,
    },
    wire::{FieldError, Wire, list, to_value},
};

impl Version {
    /// Reads the answer to SendMessage.
    ///
    /// # Errors
    /// If a field is missing or invalid: its path, and what was expected there.
    pub fn send_result_to_v1(self, value: Value) -> Result<SendMessageResponse, FieldError> {
        match self {
            Self::V0_1 => v0_1::event::send_result_to_v1(value),
            Self::V0_3 => event::send_result_to_v1(value),
            Self::V1_0 => Wire::read(value),
        }
    }

    /// Writes the answer to SendMessage.
    pub fn send_result_from_v1(self, result: &SendMessageResponse, losses: &mut Losses) -> Value {
        match self {
            Self::V0_1 => v0_1::event::send_result_from_v1(result, losses),
            Self::V0_3 => event::send_result_from_v1(result, losses),
            Self::V1_0 => to_value(result),
        }
    }

    /// Reads one item of a stream: of SendStreamingMessage, SubscribeToTask or a push notification.
    ///
    /// # Errors
    /// If a field is missing or invalid: its path, and what was expected there.
    pub fn stream_item_to_v1(self, value: Value) -> Result<StreamResponse, FieldError> {
        match self {
            Self::V0_1 => v0_1::event::stream_item_to_v1(value),
            Self::V0_3 => event::stream_item_to_v1(value),
            Self::V1_0 => Wire::read(value),
        }
    }

    /// Writes one item of a stream.
    pub fn stream_item_from_v1(self, item: &StreamResponse, losses: &mut Losses) -> Value {
        match self {
            Self::V0_1 => v0_1::event::stream_item_from_v1(item, losses),
            Self::V0_3 => event::stream_item_from_v1(item, losses),
            Self::V1_0 => to_value(item),
        }
    }

    /// Reads the answer to GetTask and CancelTask. Before 1.0, push notifications are such tasks, too.
    ///
    /// # Errors
    /// [`FieldError`] with the path of the first invalid field. This holds for all functions that read.
    pub fn task_to_v1(self, value: Value) -> Result<Task, FieldError> {
        match self {
            Self::V0_1 => v0_1::task::to_v1(value),
            Self::V0_3 => task::to_v1(value, Form::JsonRpc),
            Self::V1_0 => Wire::read(value),
        }
    }

    /// Writes the answer to GetTask and CancelTask.
    pub fn task_from_v1(self, task: &Task, losses: &mut Losses) -> Value {
        match self {
            Self::V0_1 => v0_1::task::from_v1(task, losses),
            Self::V0_3 => task::from_v1(task, Form::JsonRpc, losses),
            Self::V1_0 => to_value(task),
        }
    }

    /// Reads the answer to CreateTaskPushNotificationConfig and GetTaskPushNotificationConfig.
    ///
    /// # Errors
    /// If a field is missing or invalid: its path, and what was expected there.
    pub fn push_config_to_v1(self, value: Value) -> Result<TaskPushNotificationConfig, FieldError> {
        match self {
            Self::V0_1 => v0_1::push::to_v1(value),
            Self::V0_3 => push::to_v1(value),
            Self::V1_0 => Wire::read(value),
        }
    }

    /// Writes the answer to CreateTaskPushNotificationConfig and GetTaskPushNotificationConfig.
    pub fn push_config_from_v1(
        self,
        config: &TaskPushNotificationConfig,
        losses: &mut Losses,
    ) -> Value {
        match self {
            Self::V0_1 => v0_1::push::from_v1(config, losses),
            Self::V0_3 => push::from_v1(config, losses),
            Self::V1_0 => to_value(config),
        }
    }

    /// Reads the answer to ListTaskPushNotificationConfigs, which is a bare list in 0.3 and does not exist in
    /// 0.1.
    ///
    /// # Errors
    /// If a field is missing or invalid: its path, and what was expected there.
    pub fn push_configs_to_v1(
        self,
        value: Value,
    ) -> Result<ListTaskPushNotificationConfigsResponse, FieldError> {
        match self {
            Self::V0_3 => Ok(ListTaskPushNotificationConfigsResponse {
                configs: list(value, push::to_v1)?,
                ..ListTaskPushNotificationConfigsResponse::default()
            }),
            Self::V0_1 | Self::V1_0 => Wire::read(value),
        }
    }

    /// Writes the answer to ListTaskPushNotificationConfigs.
    pub fn push_configs_from_v1(
        self,
        response: &ListTaskPushNotificationConfigsResponse,
        losses: &mut Losses,
    ) -> Value {
        match self {
            Self::V0_3 => {
                lose_pages(response, losses);
                losses.each("configs", &response.configs, push::from_v1).into()
            }
            Self::V0_1 | Self::V1_0 => to_value(response),
        }
    }

    /// Returns the answer to DeleteTaskPushNotificationConfig: null in 0.3, an empty object in 1.0.
    pub fn deleted(self) -> Value {
        match self {
            Self::V0_3 => Value::Null,
            Self::V0_1 | Self::V1_0 => Value::Object(Map::new()),
        }
    }

    /// Writes a card: the answer to GetExtendedAgentCard.
    pub fn card_from_v1(self, card: &AgentCard, losses: &mut Losses) -> Value {
        match self {
            Self::V0_1 => card::to_v0_1(card, losses),
            Self::V0_3 => card::to_v0_3(card, losses),
            Self::V1_0 => to_value(card),
        }
    }
}

/// Reports the loss of what a bare list cannot contain.
fn lose_pages(response: &ListTaskPushNotificationConfigsResponse, losses: &mut Losses) {
    const NO_PLACE: &str = "0.3 answers with a bare list, so it was left out";
    let token = response.next_page_token.as_ref();
    if token.is_some_and(|token| !token.is_empty()) {
        losses.add("nextPageToken", NO_PLACE);
    }
    for key in response.extra.keys() {
        losses.add(key, NO_PLACE);
    }
}
