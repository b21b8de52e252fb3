//! The security schemes that cards declare (specification 4.5).

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use crate::wire::{FieldError, Fields, Schemas, Wire, object};

/// A way to authenticate (`oneof scheme`).
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a card has a handful of them")]
pub enum SecurityScheme {
    /// A key in a header, the query or a cookie.
    ApiKey(ApiKeySecurityScheme),
    /// HTTP authentication, such as Bearer or Basic.
    HttpAuth(HttpAuthSecurityScheme),
    /// OAuth 2.0.
    OAuth2(OAuth2SecurityScheme),
    /// OpenID Connect.
    OpenIdConnect(OpenIdConnectSecurityScheme),
    /// A client certificate.
    MutualTls(MutualTlsSecurityScheme),
}

const KINDS: &str = "exactly one of apiKeySecurityScheme, httpAuthSecurityScheme, \
     oauth2SecurityScheme, openIdConnectSecurityScheme, mtlsSecurityScheme";

impl Wire for SecurityScheme {
    fn read(value: Value) -> Result<Self, FieldError> {
        let mut fields = Fields::of(value)?;
        let schemes = [
            member(&mut fields, "apiKeySecurityScheme", Self::ApiKey)?,
            member(&mut fields, "httpAuthSecurityScheme", Self::HttpAuth)?,
            member(&mut fields, "oauth2SecurityScheme", Self::OAuth2)?,
            member(
                &mut fields,
                "openIdConnectSecurityScheme",
                Self::OpenIdConnect,
            )?,
            member(&mut fields, "mtlsSecurityScheme", Self::MutualTls)?,
        ];
        let mut present = schemes.into_iter().flatten();
        match (present.next(), present.next()) {
            (Some(scheme), None) => Ok(scheme),
            (None, _) => Err(FieldError::new(KINDS, "none of them")),
            (Some(_), Some(_)) => Err(FieldError::new(KINDS, "several of them")),
        }
    }

    fn describe(schemas: &mut Schemas) -> Value {
        let members = [
            (
                "apiKeySecurityScheme",
                ApiKeySecurityScheme::describe(schemas),
            ),
            (
                "httpAuthSecurityScheme",
                HttpAuthSecurityScheme::describe(schemas),
            ),
            (
                "oauth2SecurityScheme",
                OAuth2SecurityScheme::describe(schemas),
            ),
            (
                "openIdConnectSecurityScheme",
                OpenIdConnectSecurityScheme::describe(schemas),
            ),
            (
                "mtlsSecurityScheme",
                MutualTlsSecurityScheme::describe(schemas),
            ),
        ];
        schemas.one_of("SecurityScheme", &members)
    }
}

fn member<T: Wire>(
    fields: &mut Fields,
    key: &str,
    scheme: fn(T) -> SecurityScheme,
) -> Result<Option<SecurityScheme>, FieldError> {
    Ok(fields.optional::<Option<T>>(key)?.map(scheme))
}

impl Serialize for SecurityScheme {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Self::ApiKey(scheme) => map.serialize_entry("apiKeySecurityScheme", scheme)?,
            Self::HttpAuth(scheme) => map.serialize_entry("httpAuthSecurityScheme", scheme)?,
            Self::OAuth2(scheme) => map.serialize_entry("oauth2SecurityScheme", scheme)?,
            Self::OpenIdConnect(scheme) => {
                map.serialize_entry("openIdConnectSecurityScheme", scheme)?;
            }
            Self::MutualTls(scheme) => map.serialize_entry("mtlsSecurityScheme", scheme)?,
        }
        map.end()
    }
}

object!(@deserialize SecurityScheme);

object! {
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

object! {
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

object! {
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

object! {
    /// OpenID Connect.
    pub struct OpenIdConnectSecurityScheme {
        /// A description for people.
        optional description: Option<String> = "description",
        /// The URL of the discovery document.
        required open_id_connect_url: String = "openIdConnectUrl",
    }
}

object! {
    /// A client certificate.
    pub struct MutualTlsSecurityScheme {
        /// A description for people.
        optional description: Option<String> = "description",
    }
}

object! {
    /// The flows for obtaining OAuth tokens. 1.0 allows one of them; cards of 0.3 may have several, which are
    /// preserved.
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

object! {
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

object! {
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

object! {
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

object! {
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

object! {
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

object! {
    /// The security schemes that are required together, with their scopes.
    pub struct SecurityRequirement {
        /// The scopes by the scheme's name in the card.
        always schemes: BTreeMap<String, StringList> = "schemes",
    }
}

object! {
    /// A list of strings as the value of a map, which protocol buffers need as a message.
    #[derive(Default)]
    pub struct StringList {
        /// The strings.
        always list: Vec<String> = "list",
    }
}
