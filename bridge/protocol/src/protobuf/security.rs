//! The security schemes of cards.

use super::{
    Proto,
    field::plain,
    v1::{self, o_auth_flows::Flow, security_scheme::Scheme},
};
use crate::{
    a2a::{OAuthFlows, SecurityScheme},
    wire::FieldError,
};

impl Proto<v1::SecurityScheme> for SecurityScheme {
    fn to_proto(&self) -> v1::SecurityScheme {
        let scheme = match self {
            Self::ApiKey(scheme) => Scheme::ApiKeySecurityScheme(scheme.to_proto()),
            Self::HttpAuth(scheme) => Scheme::HttpAuthSecurityScheme(scheme.to_proto()),
            Self::OAuth2(scheme) => Scheme::Oauth2SecurityScheme(scheme.to_proto()),
            Self::OpenIdConnect(scheme) => Scheme::OpenIdConnectSecurityScheme(scheme.to_proto()),
            Self::MutualTls(scheme) => Scheme::MtlsSecurityScheme(scheme.to_proto()),
        };
        v1::SecurityScheme { scheme: Some(scheme) }
    }

    fn from_proto(proto: v1::SecurityScheme) -> Result<Self, FieldError> {
        match proto.scheme {
            Some(Scheme::ApiKeySecurityScheme(scheme)) => {
                plain(scheme, "apiKeySecurityScheme").map(Self::ApiKey)
            }
            Some(Scheme::HttpAuthSecurityScheme(scheme)) => {
                plain(scheme, "httpAuthSecurityScheme").map(Self::HttpAuth)
            }
            Some(Scheme::Oauth2SecurityScheme(scheme)) => {
                plain(scheme, "oauth2SecurityScheme").map(Self::OAuth2)
            }
            Some(Scheme::OpenIdConnectSecurityScheme(scheme)) => {
                plain(scheme, "openIdConnectSecurityScheme").map(Self::OpenIdConnect)
            }
            Some(Scheme::MtlsSecurityScheme(scheme)) => {
                plain(scheme, "mtlsSecurityScheme").map(Self::MutualTls)
            }
            None => Err(FieldError::new("one security scheme", "none")),
        }
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
