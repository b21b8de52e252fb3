//! A2A as protocol buffers, which the gRPC binding sends (specification, section 10): 1.0 here, 0.3 in [`v0_3`].
//! A method's path names the version.
//!
//! [`v1`] has the messages of package `lf.a2a.v1`, generated from `proto/a2a.proto` by `proto/generate`,
//! which also makes the [`DESCRIPTOR`] of both versions. [`Proto`] converts between them and the types of
//! [`a2a`](crate::a2a); [`read`] and [`write()`] convert those from and to bytes, [`read_call`] and
//! [`write_call`] do so for the parameters of any operation, and [`status`] for errors.
//!
//! Unlike JSON, protocol buffers cannot carry:
//! - unknown fields (`extra`), a part whose content is one, and unknown enum values, which become UNSPECIFIED;
//! - the difference between an absent and an empty text, where the field is not `optional`; likewise between
//!   an absent `pageSize` of ListTaskPushNotificationConfigs and 0;
//! - times that are not RFC 3339, and their offset from UTC;
//! - numbers in free-form data that a double cannot represent, such as integers from 2^53 on;
//! - all OAuth flows of a scheme but the first, of which 1.0 allows no more.

mod call;
mod enumeration;
pub(crate) mod field;
mod lenient;
mod messages;
mod one_of;
mod part;
pub mod status;
mod structure;
pub mod v0_3;
mod weight;
#[rustfmt::skip]
#[expect(missing_docs, reason = "generated from a2a.proto, where the messages are described")]
pub mod v1;

#[cfg(test)]
mod properties;

use alloc::{format, string::String};

use crate::{a2a::Operation, dialect::Version};

pub use call::{ReadError, read, read_call, tenant, write, write_call};
pub use field::Proto;
pub use lenient::read_card_leniently;
pub use messages::Messages;

/// The `google.protobuf.FileDescriptorSet` of `a2a.proto`, `a2a_v0_3.proto` and their imports, without annotations.
pub const DESCRIPTOR: &[u8] = include_bytes!("../../proto/a2a.binpb");

/// The service's full name.
pub const SERVICE: &str = "lf.a2a.v1.A2AService";

/// Returns the path of an operation in a version, such as `/lf.a2a.v1.A2AService/GetTask`, if it has one.
pub fn path(version: Version, operation: Operation) -> Option<String> {
    Some(match version {
        Version::V0_1 => return None,
        Version::V0_3 => format!("/{}/{}", v0_3::SERVICE, v0_3::method(operation)?),
        Version::V1_0 => format!("/{SERVICE}/{operation}"),
    })
}

/// Returns the version and the operation of a path.
pub fn called(path: &str) -> Option<(Version, Operation)> {
    let (service, method) = path.strip_prefix('/')?.split_once('/')?;
    match service {
        SERVICE => Some((Version::V1_0, Operation::from_name(method)?)),
        v0_3::SERVICE => {
            let is_named = |one: &Operation| v0_3::method(*one) == Some(method);
            Some((Version::V0_3, Operation::ALL.into_iter().find(is_named)?))
        }
        _ => None,
    }
}
