//! The types of A2A 1.0, one family in each file, with the names of their JSON form (specification, section 4).
//!
//! Unknown fields, which newer peers send, are stored in `extra` and written again; unknown enum values are preserved.

mod apply;
mod binding;
mod card;
mod error;
mod event;
mod message;
mod operation;
mod part;
mod push;
mod request;
mod security;
mod task;

pub use binding::Binding;
pub use card::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentInterface,
    AgentProvider, AgentSkill,
};
#[cfg(feature = "protobuf")]
pub(crate) use error::{BAD_REQUEST, ERROR_INFO, RETRY_INFO};
pub use error::{Error, ErrorKind, retry_info};
pub use event::{
    SendMessageResponse, StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent,
};
pub use message::{Message, Role, join_texts};
pub use operation::Operation;
pub(crate) use operation::with_operations;
pub use part::decode_base64;
pub use part::{Content, Part};
pub use push::{AuthenticationInfo, TaskPushNotificationConfig};
pub use request::{
    CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse,
    SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest,
};
pub use security::{
    ApiKeySecurityScheme, AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow,
    DeviceCodeOAuthFlow, HttpAuthSecurityScheme, ImplicitOAuthFlow, MutualTlsSecurityScheme,
    OAuth2SecurityScheme, OAuthFlows, OpenIdConnectSecurityScheme, PasswordOAuthFlow,
    SecurityRequirement, SecurityScheme, StringList,
};
pub use task::{Artifact, Task, TaskState, TaskStatus};

/// Free-form data that travels with an object (`google.protobuf.Struct`).
pub use crate::wire::Metadata;

/// The extension under which an agent numbers the events of its tasks: `{"sequence": 7}` under this URI in the metadata of
/// tasks and events, and `Last-Event-ID: TASK/7` takes a stream up again behind an event.
pub const SEQUENCE_EXTENSION: &str = "urn:activity:sequence:v1";
