//! Types for A2A 1.0 and its older dialects, for the Activity protocol and for JSON-RPC.
//!
//! The types follow A2A 1.0 (`specification/a2a.proto`, package `lf.a2a.v1`) with the names of its JSON form.
//! Older versions are dialects, translated at the edge. This crate does not read the clock, open sockets or
//! draw random numbers: times and ids are arguments. It is `no_std` to ensure this.
//!
//! - [`a2a`]: the types of A2A 1.0
//! - [`activity`]: the types of the Activity protocol
//! - [`address`]: which IP addresses are public
//! - [`dialect`]: translates older versions to 1.0 and back
//! - [`jose`]: public keys
//! - [`jsonrpc`]: the envelope of JSON-RPC 2.0
//! - [`signing`]: signs and verifies cards
//! - `protobuf`: A2A 1.0 and 0.3 as protocol buffers, with the feature of that name
//! - [`sse`]: reads streams of server-sent events
//! - [`wire`]: reads objects from JSON, with errors that name the path of the field
//!
//! ```
//! use bridge_protocol::{
//!     a2a::{Message, Part, Role, Task, TaskState, TaskStatus},
//!     dialect::{Losses, Version},
//!     wire,
//! };
//!
//! # fn main() -> Result<(), wire::FieldError> {
//! let json = br#"{"messageId": "1", "role": "ROLE_USER", "parts": [{"text": 7}]}"#;
//! let error = wire::from_slice::<Message>(json).unwrap_err();
//! assert_eq!(error.to_string(), "parts[0].text: expected a string, found the number 7");
//!
//! let question = Message::new("2", Role::Agent, vec![Part::text("Which one?")]);
//! let status = TaskStatus {
//!     message: Some(question),
//!     ..TaskStatus::new(TaskState::InputRequired)
//! };
//! let task = Task {
//!     context_id: Some("c".to_owned()),
//!     ..Task::new("t", status)
//! };
//! assert_eq!(wire::to_value(&task)["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
//!
//! let mut losses = Losses::new();
//! let old = Version::V0_3.task_from_v1(&task, &mut losses);
//! assert_eq!(old["status"]["state"], "input-required");
//! assert!(losses.is_empty());
//! assert_eq!(Version::V0_3.task_to_v1(old)?, task);
//! # Ok(())
//! # }
//! ```
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

/// Makes a type that is a message of protocol buffers, too: its table has the fields of both forms. A `given` field is
/// required, and protocol buffers, which cannot tell an empty text from an absent one, must have it, too. As for every
/// message, there is a default, in which no field is set.
///
/// It stands here because it joins `a2a` and `protobuf`: the types do not know how gRPC carries them.
macro_rules! proto_message {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident {
            $( $(#[doc = $field_doc:literal])* $mode:ident $field:ident: $type:ty = $key:literal, )*
        }
    ) => {
        $crate::wire::object! {
            $(#[doc = $doc])*
            #[derive(Default)]
            pub struct $name {
                $( $(#[doc = $field_doc])* $mode $field: $type = $key, )*
            }
        }

        #[cfg(feature = "protobuf")]
        $crate::protobuf::field::proto!($name { $( $mode $field = $key, )* });
    };
}

pub mod a2a;
pub mod activity;
pub mod address;
#[cfg(test)]
mod arbitrary;
pub mod dialect;
pub mod jose;
pub mod jsonrpc;
#[cfg(feature = "protobuf")]
pub mod protobuf;
pub mod signing;
pub mod sse;
pub mod wire;
