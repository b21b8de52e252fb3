//! The security schemes that cards declare (specification 4.5).

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::Serialize;

use crate::wire::{object, one_of};

/// A way to authenticate (`oneof scheme`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(clippy::large_enum_variant, reason = "a card has a handful of them")]
pub enum SecurityScheme {
    /// A key in a header, the query or a cookie.
    #[serde(rename = "apiKeySecurityScheme")]
    ApiKey(ApiKeySecurityScheme),
    /// HTTP authentication, such as Bearer or Basic.
    #[serde(rename = "httpAuthSecurityScheme")]
    HttpAuth(HttpAuthSecurityScheme),
    /// OAuth 2.0.
    #[serde(rename = "oauth2SecurityScheme")]
    OAuth2(OAuth2SecurityScheme),
    /// OpenID Connect.
    #[serde(rename = "openIdConnectSecurityScheme")]
    OpenIdConnect(OpenIdConnectSecurityScheme),
    /// A client certificate.
    #[serde(rename = "mtlsSecurityScheme")]
    MutualTls(MutualTlsSecurityScheme),
}

one_of! {
    SecurityScheme,
    "exactly one of apiKeySecurityScheme, httpAuthSecurityScheme, oauth2SecurityScheme, openIdConnectSecurityScheme, \
     mtlsSecurityScheme",
    "none of them", "several of them" {
        ApiKey(ApiKeySecurityScheme) = "apiKeySecurityScheme",
        HttpAuth(HttpAuthSecurityScheme) = "httpAuthSecurityScheme",
        OAuth2(OAuth2SecurityScheme) = "oauth2SecurityScheme",
        OpenIdConnect(OpenIdConnectSecurityScheme) = "openIdConnectSecurityScheme",
        MutualTls(MutualTlsSecurityScheme) = "mtlsSecurityScheme",
    }
}

proto_message! {
    /// A key in a header, the query or a cookie.
    pub struct ApiKeySecurityScheme {
        /// A description for people.
        optional description: Option<String> = "description",
        /// The place of the key: `query`, `header` or `cookie`.
        required location: String = "location",
        /// The name of the header, parameter or cookie.
        required name: String = "name",
    }
}

proto_message! {
    /// HTTP authentication.
    pub struct HttpAuthSecurityScheme {
        /// A description for people.
        optional description: Option<String> = "description",
        /// The scheme in the `Authorization` header, such as `Bearer`.
        required scheme: String = "scheme",
        /// A hint at the format of the token, such as `JWT`.
        optional bearer_format: Option<String> = "bearerFormat",
    }
}

proto_message! {
    /// OAuth 2.0.
    pub struct OAuth2SecurityScheme {
        /// A description for people.
        optional description: Option<String> = "description",
        /// The flows for obtaining tokens.
        required flows: OAuthFlows = "flows",
        /// The URL of the authorization server's metadata (RFC 8414).
        optional oauth2_metadata_url: Option<String> = "oauth2MetadataUrl",
    }
}

proto_message! {
    /// OpenID Connect.
    pub struct OpenIdConnectSecurityScheme {
        /// A description for people.
        optional description: Option<String> = "description",
        /// The URL of the discovery document.
        required open_id_connect_url: String = "openIdConnectUrl",
    }
}

proto_message! {
    /// A client certificate.
    pub struct MutualTlsSecurityScheme {
        /// A description for people.
        optional description: Option<String> = "description",
    }
}

object! {
    /// The flows for obtaining OAuth tokens. 1.0 allows one of them; cards of 0.3 may have several, which are
    /// preserved.
    #[derive(Default)]
    pub struct OAuthFlows {
        /// The flow with a code that the user's browser returns.
        optional authorization_code: Option<AuthorizationCodeOAuthFlow> = "authorizationCode",
        /// The flow with the client's own credentials.
        optional client_credentials: Option<ClientCredentialsOAuthFlow> = "clientCredentials",
        /// Deprecated.
        optional implicit: Option<ImplicitOAuthFlow> = "implicit",
        /// Deprecated.
        optional password: Option<PasswordOAuthFlow> = "password",
        /// The flow with a code that the user types on another device.
        optional device_code: Option<DeviceCodeOAuthFlow> = "deviceCode",
    }
}

proto_message! {
    /// The authorization code flow (RFC 6749, section 4.1).
    pub struct AuthorizationCodeOAuthFlow {
        /// The URL to which the user is sent.
        required authorization_url: String = "authorizationUrl",
        /// The URL at which the code is exchanged for a token.
        required token_url: String = "tokenUrl",
        /// The URL for refreshing tokens.
        optional refresh_url: Option<String> = "refreshUrl",
        /// The scopes with their descriptions.
        always scopes: BTreeMap<String, String> = "scopes",
        /// Whether PKCE (RFC 7636) is required.
        optional pkce_required: bool = "pkceRequired",
    }
}

proto_message! {
    /// The client credentials flow (RFC 6749, section 4.4).
    pub struct ClientCredentialsOAuthFlow {
        /// The URL for obtaining tokens.
        required token_url: String = "tokenUrl",
        /// The URL for refreshing tokens.
        optional refresh_url: Option<String> = "refreshUrl",
        /// The scopes with their descriptions.
        always scopes: BTreeMap<String, String> = "scopes",
    }
}

proto_message! {
    /// The implicit flow (RFC 6749, section 4.2).
    pub struct ImplicitOAuthFlow {
        /// The URL to which the user is sent.
        optional authorization_url: Option<String> = "authorizationUrl",
        /// The URL for refreshing tokens.
        optional refresh_url: Option<String> = "refreshUrl",
        /// The scopes with their descriptions.
        always scopes: BTreeMap<String, String> = "scopes",
    }
}

proto_message! {
    /// The password flow (RFC 6749, section 4.3).
    pub struct PasswordOAuthFlow {
        /// The URL for obtaining tokens.
        optional token_url: Option<String> = "tokenUrl",
        /// The URL for refreshing tokens.
        optional refresh_url: Option<String> = "refreshUrl",
        /// The scopes with their descriptions.
        always scopes: BTreeMap<String, String> = "scopes",
    }
}

proto_message! {
    /// The device code flow (RFC 8628).
    pub struct DeviceCodeOAuthFlow {
        /// The URL for obtaining codes.
        required device_authorization_url: String = "deviceAuthorizationUrl",
        /// The URL for obtaining tokens.
        required token_url: String = "tokenUrl",
        /// The URL for refreshing tokens.
        optional refresh_url: Option<String> = "refreshUrl",
        /// The scopes with their descriptions.
        always scopes: BTreeMap<String, String> = "scopes",
    }
}

proto_message! {
    /// The security schemes that are required together, with their scopes.
    pub struct SecurityRequirement {
        /// The scopes by the scheme's name in the card.
        always schemes: BTreeMap<String, StringList> = "schemes",
    }
}

proto_message! {
    /// A list of strings as the value of a map, which protocol buffers need as a message.
    pub struct StringList {
        /// The strings.
        always list: Vec<String> = "list",
    }
}
