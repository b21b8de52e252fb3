//! Objects that have exactly one of several members.

use alloc::sync::Arc;

use super::{
    Proto,
    field::plain,
    v1::{
        self, o_auth_flows::Flow, security_scheme::Scheme, send_message_response::Payload as Sent,
        stream_response::Payload as Item,
    },
};
use crate::{
    a2a::{OAuthFlows, SecurityScheme, SendMessageResponse, StreamResponse},
    wire::FieldError,
};

/// Generates the conversion of an enum from the table of its variants, which have the form `$member` in protocol buffers. `$task`
/// is its parameter for tasks that may be shared.
macro_rules! one_of {
    ($name:ident $(<$task:ident>)?, $field:ident: $member:ident, $expected:literal, $none:literal {
        $( $variant:ident = $proto_variant:ident, $key:literal; )*
    }) => {
        impl $(<$task: Proto<v1::Task>>)? Proto<v1::$name> for $name $(<$task>)? {
            fn to_proto(&self) -> v1::$name {
                let member = match self {
                    $( Self::$variant(value) => $member::$proto_variant(value.to_proto()), )*
                };
                v1::$name { $field: Some(member) }
            }

            fn from_proto(proto: v1::$name) -> Result<Self, FieldError> {
                match proto.$field {
                    $( Some($member::$proto_variant(value)) => plain(value, $key).map(Self::$variant), )*
                    None => Err(FieldError::new($expected, $none)),
                }
            }
        }
    };
}

one_of! {
    SendMessageResponse<T>, payload: Sent, "one of task, message", "neither" {
        Task = Task, "task";
        Message = Message, "message";
    }
}

one_of! {
    StreamResponse<T>, payload: Item, "exactly one of task, message, statusUpdate, artifactUpdate", "none of them" {
        Task = Task, "task";
        Message = Message, "message";
        StatusUpdate = StatusUpdate, "statusUpdate";
        ArtifactUpdate = ArtifactUpdate, "artifactUpdate";
    }
}

one_of! {
    SecurityScheme, scheme: Scheme, "one security scheme", "none" {
        ApiKey = ApiKeySecurityScheme, "apiKeySecurityScheme";
        HttpAuth = HttpAuthSecurityScheme, "httpAuthSecurityScheme";
        OAuth2 = Oauth2SecurityScheme, "oauth2SecurityScheme";
        OpenIdConnect = OpenIdConnectSecurityScheme, "openIdConnectSecurityScheme";
        MutualTls = MtlsSecurityScheme, "mtlsSecurityScheme";
    }
}

/// A shared object.
impl<T: Proto<P>, P> Proto<P> for Arc<T> {
    fn to_proto(&self) -> P {
        T::to_proto(self)
    }

    fn from_proto(proto: P) -> Result<Self, FieldError> {
        T::from_proto(proto).map(Self::new)
    }
}

impl Proto<Option<v1::OAuthFlows>> for OAuthFlows {
    fn to_proto(&self) -> Option<v1::OAuthFlows> {
        let code = self.authorization_code.to_proto().map(Flow::AuthorizationCode);
        let client = self.client_credentials.to_proto().map(Flow::ClientCredentials);
        let device = self.device_code.to_proto().map(Flow::DeviceCode);
        let implicit = self.implicit.to_proto().map(Flow::Implicit);
        let password = self.password.to_proto().map(Flow::Password);
        // The deprecated flows come last: if there are others, one of them is written.
        let flow = code.or(client).or(device).or(implicit).or(password);
        Some(v1::OAuthFlows { flow })
    }

    fn from_proto(proto: Option<v1::OAuthFlows>) -> Result<Self, FieldError> {
        let mut flows = Self::default();
        match proto.and_then(|flows| flows.flow) {
            Some(Flow::AuthorizationCode(flow)) => {
                flows.authorization_code = Some(plain(flow, "authorizationCode")?);
            }
            Some(Flow::ClientCredentials(flow)) => {
                flows.client_credentials = Some(plain(flow, "clientCredentials")?);
            }
            Some(Flow::Implicit(flow)) => flows.implicit = Some(plain(flow, "implicit")?),
            Some(Flow::Password(flow)) => flows.password = Some(plain(flow, "password")?),
            Some(Flow::DeviceCode(flow)) => flows.device_code = Some(plain(flow, "deviceCode")?),
            // 1.0 requires a flow for each scheme, but existing cards leave out much.
            None => {}
        }
        Ok(flows)
    }
}
