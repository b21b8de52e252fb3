//! Reads and writes the parameters and answers of operations as the bytes of one message.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use prost::Message;

use super::{PACKAGE, Proto, v0_3, v1, weight};
use crate::{
    a2a::{Error, ErrorKind, Operation, with_operations},
    dialect::{Call, Version},
    wire::{FieldError, weight::TooMuch},
};

/// The reason why bytes cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReadError {
    /// The bytes are no protocol buffers, or those of another message.
    #[error("the bytes are not a message of the expected type: {0}")]
    Bytes(prost::DecodeError),
    /// The message would take too much memory.
    #[error("the message is too large: {0}")]
    TooMuch(TooMuch),
    /// A field is invalid.
    #[error(transparent)]
    Field(#[from] FieldError),
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Bytes(_) => Self::new(ErrorKind::Parse, error.to_string()),
            ReadError::TooMuch(_) => Self::new(ErrorKind::InvalidRequest, error.to_string()),
            ReadError::Field(field) => field.into(),
        }
    }
}

/// Reads the bytes of a message `P`.
pub fn read<P: Message + Default, T: Proto<P>>(bytes: &[u8]) -> Result<T, ReadError> {
    let message = P::decode(bytes).map_err(ReadError::Bytes)?;
    Ok(T::from_proto(message)?)
}

/// Writes a value as the bytes of a message `P`.
pub fn write<P: Message, T: Proto<P>>(value: &T) -> Vec<u8> {
    value.to_proto().encode_to_vec()
}

/// Reads the parameters of an operation, for servers.
pub fn read_call(operation: Operation, bytes: &[u8]) -> Result<Call, ReadError> {
    let name = params_name(Version::V1_0, operation);
    weight::check(&name, bytes).map_err(ReadError::TooMuch)?;
    read_weighed(operation, bytes)
}

macro_rules! calls {
    ($( #[doc = $doc:literal] $operation:ident($params:ident) $names:tt, )*) => {
        /// Does the same for bytes that were [weighed](super::Scales) before.
        pub fn read_weighed(operation: Operation, bytes: &[u8]) -> Result<Call, ReadError> {
            Ok(match operation {
                $( Operation::$operation => Call::$operation(read::<v1::$params, _>(bytes)?), )*
            })
        }

        /// Writes the parameters of a call, for clients.
        pub fn write_call(call: &Call) -> Vec<u8> {
            match call { $( Call::$operation(params) => write::<v1::$params, _>(params), )* }
        }

        /// Returns the name of the message with the parameters of an operation.
        fn params(operation: Operation) -> &'static str {
            match operation { $( Operation::$operation => stringify!($params), )* }
        }
    };
}

with_operations!(calls);

/// Returns the full name of the message with the parameters of an operation in a version.
pub(super) fn params_name(version: Version, operation: Operation) -> String {
    match version {
        Version::V0_1 | Version::V0_3 => {
            format!(".{}.{}", v0_3::PACKAGE, v0_3::params(operation))
        }
        Version::V1_0 => format!(".{PACKAGE}.{}", params(operation)),
    }
}

/// Returns the full name of the message that answers an operation in a version, or of an item of its stream. The answer to a
/// deletion has no fields, and no name here.
pub(super) fn answer_name(version: Version, operation: Operation) -> String {
    match (version, operation) {
        (Version::V0_1 | Version::V0_3, _) => {
            format!(".{}.{}", v0_3::PACKAGE, v0_3::answered(operation))
        }
        (Version::V1_0, Operation::ListTasks) => format!(".{PACKAGE}.ListTasksResponse"),
        (Version::V1_0, Operation::ListTaskPushNotificationConfigs) => {
            format!(".{PACKAGE}.ListTaskPushNotificationConfigsResponse")
        }
        // The other messages have the names of 0.3.
        (Version::V1_0, _) => format!(".{PACKAGE}.{}", v0_3::answered(operation)),
    }
}
