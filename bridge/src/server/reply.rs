//! The answer to a request: one object, or a stream of them.

use std::sync::Arc;

use axum::response::Response;
use bridge_protocol::{dialect::Version, jsonrpc::Id};

use super::{
    Endpoint, flat, own,
    render::{json, message_result, translated},
    sse,
};
use crate::service::Reply;

/// The answer to a request, in the version in which it came.
pub(super) fn reply(
    endpoint: &Endpoint,
    version: Version,
    id: Id,
    reply: Reply,
    client_id: Option<&str>,
) -> Response {
    let size = reply.size();
    let result = match reply {
        Reply::Stream(items) => {
            return sse::stream(version, id, items, client_id.map(str::to_owned));
        }
        Reply::Message(message) if version == Version::V1_0 => return json(id, size, message),
        Reply::Task(task) if version == Version::V1_0 => return json(id, size, task.as_ref()),
        Reply::Tasks(tasks) => return json(id, size, tasks),
        Reply::Message(message) => {
            let is_flat = endpoint.flat_results && version == Version::V0_3;
            let flat = is_flat.then(|| flat::result(&message)).flatten();
            flat.unwrap_or_else(|| message_result(version, message, client_id))
        }
        Reply::Task(task) => {
            let task = own::task(Arc::unwrap_or_clone(task), client_id);
            translated(|losses| version.task_from_v1(&task, losses))
        }
        Reply::PushConfig(config) => {
            translated(|losses| version.push_config_from_v1(&config, losses))
        }
        Reply::PushConfigs(configs) => {
            translated(|losses| version.push_configs_from_v1(&configs, losses))
        }
        Reply::Deleted => version.deleted(),
        Reply::Card(card) => {
            // What is signed is the document of 1.0, so older ones are not.
            let card = match version {
                Version::V1_0 => endpoint.signed(endpoint.reachable(*card), None),
                Version::V0_1 | Version::V0_3 => endpoint.reachable(*card),
            };
            translated(|losses| version.card_from_v1(&card, losses))
        }
    };
    json(id, size, result)
}
