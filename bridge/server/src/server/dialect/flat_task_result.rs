//! Results of `message/send` for clients of minimal agents: a wrapped task whose state is a plain field.

use std::sync::Arc;

use bridge_protocol::{
    a2a::{SendMessageResponse, Task},
    dialect::v0_3::flat,
};
use serde_json::Value;

use crate::server::render::translated;

/// Returns the result if the answer is a task. A message has the same form for all clients.
pub(in crate::server) fn result(answer: &SendMessageResponse<Arc<Task>>) -> Option<Value> {
    match answer {
        SendMessageResponse::Task(task) => Some(translated(|losses| flat::from_v1(task, losses))),
        SendMessageResponse::Message(_) => None,
    }
}
