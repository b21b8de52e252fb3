//! The formats of responses.
//!
//! 0.3 has two formats for HTTP+JSON: its text shows the objects of JSON-RPC, and its `a2a.proto`, whose annotations
//! define the paths, implies ProtoJSON. The SDKs of 0.3 use ProtoJSON and refuse the other format, so ProtoJSON is the
//! default; a request whose message has the other format is answered in it.

use std::sync::Arc;

use bridge_protocol::{
    a2a::{SendMessageResponse, StreamResponse, Task},
    dialect::{
        Losses, Version,
        v0_3::{Form, event, message, proto, task},
    },
};
use serde_json::{Value, json};

use crate::{
    server::render::{self, translated},
    service::{Reply, StreamItem},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum ResponseFormat {
    V1_0,
    /// 0.3, with the objects of JSON-RPC.
    V0_3,
    /// 0.3, in ProtoJSON.
    V0_3Proto,
}

impl ResponseFormat {
    /// Returns the format for a client of which only the version is known.
    pub(super) fn without_body(version: Version) -> Self {
        match version {
            Version::V1_0 => Self::V1_0,
            Version::V0_1 | Version::V0_3 => Self::V0_3Proto,
        }
    }

    /// Writes a reply that is not a stream.
    pub(super) fn text(self, reply: Reply) -> Vec<u8> {
        let size = reply.size();
        match (self, reply) {
            (Self::V1_0, Reply::Message(answer)) => render::text(size, &answer),
            (Self::V1_0, Reply::Task(task)) => render::task_text(size, &task),
            (Self::V1_0, Reply::Tasks(tasks)) => render::text(size, &tasks),
            (Self::V1_0, Reply::PushConfig(config)) => render::text(size, &config),
            (Self::V1_0, Reply::PushConfigs(configs)) => render::text(size, &configs),
            (Self::V1_0, Reply::Card(card)) => render::text(size, &card),
            // Streams are written item by item, and a deletion has an empty result.
            (_, Reply::Deleted | Reply::Stream(_)) => render::text(size, &json!({})),
            (Self::V0_3 | Self::V0_3Proto, reply) => render::text(size, &self.older_reply(reply)),
        }
    }

    /// Converts a reply that is not a stream to 0.3.
    pub(in crate::server) fn older_reply(self, reply: Reply) -> Value {
        translated(|losses| self.convert_reply(reply, losses))
    }

    fn convert_reply(self, reply: Reply, losses: &mut Losses) -> Value {
        let version = Version::V0_3;
        match reply {
            Reply::Message(SendMessageResponse::Task(task)) => {
                json!({"task": self.task(&task, losses)})
            }
            Reply::Message(SendMessageResponse::Message(message)) => {
                self.convert_item(&StreamResponse::Message(message), false, losses)
            }
            Reply::Task(task) => self.task(&task, losses),
            // 0.3 answers with the bare list (0.3.0, section 7.3).
            Reply::Tasks(page) => {
                let tasks = page.tasks.iter().map(|task| self.task(task, losses));
                tasks.collect()
            }
            Reply::PushConfig(config) if self == Self::V0_3Proto => {
                proto::push_from_v1(&config, losses)
            }
            Reply::PushConfig(config) => version.push_config_from_v1(&config, losses),
            Reply::PushConfigs(configs) if self == Self::V0_3Proto => {
                proto::pushes_from_v1(&configs, losses)
            }
            Reply::PushConfigs(configs) => version.push_configs_from_v1(&configs, losses),
            // A card has a single form in 0.3, although its proto file differs.
            Reply::Card(card) => version.card_from_v1(&card, losses),
            Reply::Deleted | Reply::Stream(_) => json!({}),
        }
    }

    fn task(self, task: &Task, losses: &mut Losses) -> Value {
        match self {
            Self::V0_3Proto => task::from_v1(task, Form::Proto, losses),
            Self::V1_0 | Self::V0_3 => Version::V0_3.task_from_v1(task, losses),
        }
    }

    /// Writes one item of a stream.
    pub(super) fn item(self, to: &mut Vec<u8>, item: StreamItem) {
        match self {
            Self::V1_0 => render::write(to, &item.response),
            Self::V0_3 | Self::V0_3Proto => render::write(to, &self.older_item(item)),
        }
    }

    /// Converts an item of a stream to 0.3.
    pub(in crate::server) fn older_item(self, item: StreamItem) -> Value {
        let turn_continues = render::turn_continues(&item);
        let response = item.response.map_task(Arc::unwrap_or_clone);
        translated(|losses| self.convert_item(&response, turn_continues, losses))
    }

    /// Converts an item to an object with one member, whose name is the item's kind (0.3.0, section 7.2).
    fn convert_item(
        self,
        response: &StreamResponse,
        turn_continues: bool,
        losses: &mut Losses,
    ) -> Value {
        let name = match response {
            StreamResponse::Task(_) => "task",
            StreamResponse::Message(_) => "message",
            StreamResponse::StatusUpdate(_) => "statusUpdate",
            StreamResponse::ArtifactUpdate(_) => "artifactUpdate",
        };
        let value = match response {
            _ if self != Self::V0_3Proto => {
                render::convert_stream_item(Version::V0_3, response, turn_continues, losses)
            }
            StreamResponse::Task(task) => task::from_v1(task, Form::Proto, losses),
            StreamResponse::Message(message) => message::from_v1(message, Form::Proto, losses),
            StreamResponse::StatusUpdate(update) => {
                let state = &update.status.state;
                let is_last = (state.is_terminal() || state.is_interrupted()) && !turn_continues;
                event::status_update_from_v1(update, is_last, Form::Proto, losses)
            }
            StreamResponse::ArtifactUpdate(update) => {
                event::artifact_update_from_v1(update, Form::Proto, losses)
            }
        };
        json!({ name: value })
    }
}
