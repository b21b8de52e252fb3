//! A call: an operation with its parameters, as in 1.0.

use alloc::string::String;

use serde_json::Value;

use crate::{
    a2a::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, Metadata, Operation,
        SendMessageRequest, SubscribeToTaskRequest, TaskPushNotificationConfig, with_operations,
    },
    wire::{FieldError, Schemas, Wire, read_in_one_pass, to_value, weight},
};

macro_rules! call {
    ($( #[doc = $doc:literal] $operation:ident($params:ident) $names:tt, )*) => {
        /// A request of a client: an operation with its parameters. Neither 0.3 nor 0.1 can list tasks.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Call {
            $( #[doc = $doc] $operation($params), )*
        }

        impl Call {
            /// Returns the operation.
            pub fn operation(&self) -> Operation {
                match self { $( Self::$operation(_) => Operation::$operation, )* }
            }

            /// Returns the tenant in the parameters. An empty one counts as none.
            pub fn tenant(&self) -> Option<&str> {
                let tenant = match self { $( Self::$operation(params) => &params.tenant, )* };
                tenant.as_deref().filter(|tenant| !tenant.is_empty())
            }

            /// Mutable access to the tenant in the parameters.
            pub fn tenant_mut(&mut self) -> &mut Option<String> {
                match self { $( Self::$operation(params) => &mut params.tenant, )* }
            }

            /// Mutable access to the unknown fields of the parameters.
            pub(super) fn extra_mut(&mut self) -> &mut Metadata {
                match self { $( Self::$operation(params) => &mut params.extra, )* }
            }

            /// Returns the JSON Schema of an operation's parameters, whose types are added to `schemas`.
            pub fn describe_params(operation: Operation, schemas: &mut Schemas) -> Value {
                match operation { $( Operation::$operation => $params::describe(schemas), )* }
            }
        }

        /// Reads what is little enough to be read.
        pub(super) fn read_at_once(operation: Operation, params: &[u8]) -> Option<Call> {
            weight::json(params).ok()?;
            match operation {
                $( Operation::$operation => read_in_one_pass(params).map(Call::$operation), )*
            }
        }

        pub(super) fn read_v1_0(operation: Operation, params: Value) -> Result<Call, FieldError> {
            match operation {
                $( Operation::$operation => Wire::read(params).map(Call::$operation), )*
            }
        }

        pub(super) fn write_v1_0(call: &Call) -> Value {
            match call { $( Call::$operation(params) => to_value(params), )* }
        }
    };
}

with_operations!(call);
