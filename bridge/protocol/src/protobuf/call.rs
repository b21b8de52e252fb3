//! Reads and writes the parameters and answers of operations as the bytes of one message.

use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};

use prost::Message;

use super::{Proto, v1};
use crate::{
    a2a::{Error, ErrorKind, Operation, with_operations},
    dialect::Call,
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
///
/// # Errors
/// If the bytes are not such a message, or a field of it is invalid.
pub fn read<P: Message + Default, T: Proto<P>>(bytes: &[u8]) -> Result<T, ReadError> {
    let message = P::decode(bytes).map_err(ReadError::Bytes)?;
    Ok(T::from_proto(message)?)
}

/// Writes a value as the bytes of a message `P`.
pub fn write<P: Message, T: Proto<P>>(value: &T) -> Vec<u8> {
    value.to_proto().encode_to_vec()
}

macro_rules! calls {
    ($( #[doc = $doc:literal] $operation:ident($params:ident) $names:tt, )*) => {
        /// Reads the parameters of an operation, for servers, which [weigh](super::Messages::weigh) the bytes before.
        ///
        /// # Errors
        /// If the bytes are not the parameters of the operation, or a field of them is invalid.
        pub fn read_call(operation: Operation, bytes: &[u8]) -> Result<Call, ReadError> {
            Ok(match operation {
                $( Operation::$operation => Call::$operation(read::<v1::$params, _>(bytes)?), )*
            })
        }

        /// Writes the parameters of a call, for clients.
        pub fn write_call(call: &Call) -> Vec<u8> {
            match call { $( Call::$operation(params) => write::<v1::$params, _>(params), )* }
        }
    };
}

with_operations!(calls);

/// Returns the tenant in the bytes of an operation's parameters, without reading the rest; empty if the request names none,
/// `None` if the bytes are invalid.
pub fn tenant(operation: Operation, bytes: &[u8]) -> Option<String> {
    if operation == Operation::ListTaskPushNotificationConfigs {
        return TenantInFieldFour::decode(bytes).ok().map(|request| request.tenant);
    }
    TenantInFieldOne::decode(bytes).ok().map(|request| request.tenant)
}

/// Requests with the tenant in field 1: all but one.
#[derive(Clone, PartialEq, Message)]
struct TenantInFieldOne {
    #[prost(string, tag = "1")]
    tenant: String,
}

/// The request with the tenant in field 4.
#[derive(Clone, PartialEq, Message)]
struct TenantInFieldFour {
    #[prost(string, tag = "4")]
    tenant: String,
}
