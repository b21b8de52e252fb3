//! Results of `message/send` for clients of the smallest agents: a wrapped task with a flat state.

use std::sync::Arc;

use bridge_protocol::{
    a2a::{SendMessageResponse, Task},
    dialect::v0_3::flat,
};
use serde_json::Value;

use crate::server::render::translated;

/// The result, if it is a task: a message looks the same to everybody.
pub(in crate::server) fn result(answer: &SendMessageResponse<Arc<Task>>) -> Option<Value> {
    match answer {
        SendMessageResponse::Task(task) => Some(translated(|losses| flat::from_v1(task, losses))),
        SendMessageResponse::Message(_) => None,
    }
}
