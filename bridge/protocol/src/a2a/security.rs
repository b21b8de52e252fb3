//! How callers authenticate, as cards declare it (specification 4.5).

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
        /// For people.
        optional description: Option<String> = "description",
        /// `query`, `header` or `cookie`.
        required location: String = "location",
        /// The header's, parameter's or cookie's name.
        required name: String = "name",
    }
}

object! {
    /// HTTP authentication.
    pub struct HttpAuthSecurityScheme {
        /// For people.
        optional description: Option<String> = "description",
        /// As in the `Authorization` header, such as `Bearer`.
        required scheme: String = "scheme",
        /// A hint at the token's form, such as `JWT`.
        optional bearer_format: Option<String> = "bearerFormat",
    }
}

object! {
    /// OAuth 2.0.
    pub struct OAuth2SecurityScheme {
        /// For people.
        optional description: Option<String> = "description",
        /// How tokens are got.
        required flows: OAuthFlows = "flows",
        /// Authorization server metadata (RFC 8414).
        optional oauth2_metadata_url: Option<String> = "oauth2MetadataUrl",
    }
}

object! {
    /// OpenID Connect.
    pub struct OpenIdConnectSecurityScheme {
        /// For people.
        optional description: Option<String> = "description",
        /// The discovery document.
        required open_id_connect_url: String = "openIdConnectUrl",
    }
}

object! {
    /// A client certificate.
    pub struct MutualTlsSecurityScheme {
        /// For people.
        optional description: Option<String> = "description",
    }
}

object! {
    /// How OAuth tokens are got. 1.0 allows one of them; 0.3 cards may carry several, and lose none.
    pub struct OAuthFlows {
        /// By a code that the user's browser brings.
        optional authorization_code: Option<AuthorizationCodeOAuthFlow> = "authorizationCode",
        /// By the client's own credentials.
        optional client_credentials: Option<ClientCredentialsOAuthFlow> = "clientCredentials",
        /// Deprecated.
        optional implicit: Option<ImplicitOAuthFlow> = "implicit",
        /// Deprecated.
        optional password: Option<PasswordOAuthFlow> = "password",
        /// By a code that the user types elsewhere.
        optional device_code: Option<DeviceCodeOAuthFlow> = "deviceCode",
    }
}

object! {
    /// RFC 6749, section 4.1.
    pub struct AuthorizationCodeOAuthFlow {
        /// Where the user is sent.
        required authorization_url: String = "authorizationUrl",
        /// Where the code is exchanged.
        required token_url: String = "tokenUrl",
        /// Where tokens are refreshed.
        optional refresh_url: Option<String> = "refreshUrl",
        /// Scopes and what they mean.
        always scopes: BTreeMap<String, String> = "scopes",
        /// PKCE (RFC 7636) is needed.
        optional pkce_required: bool = "pkceRequired",
    }
}

object! {
    /// RFC 6749, section 4.4.
    pub struct ClientCredentialsOAuthFlow {
        /// Where tokens are got.
        required token_url: String = "tokenUrl",
        /// Where tokens are refreshed.
        optional refresh_url: Option<String> = "refreshUrl",
        /// Scopes and what they mean.
        always scopes: BTreeMap<String, String> = "scopes",
    }
}

object! {
    /// RFC 6749, section 4.2.
    pub struct ImplicitOAuthFlow {
        /// Where the user is sent.
        optional authorization_url: Option<String> = "authorizationUrl",
        /// Where tokens are refreshed.
        optional refresh_url: Option<String> = "refreshUrl",
        /// Scopes and what they mean.
        always scopes: BTreeMap<String, String> = "scopes",
    }
}

object! {
    /// RFC 6749, section 4.3.
    pub struct PasswordOAuthFlow {
        /// Where tokens are got.
        optional token_url: Option<String> = "tokenUrl",
        /// Where tokens are refreshed.
        optional refresh_url: Option<String> = "refreshUrl",
        /// Scopes and what they mean.
        always scopes: BTreeMap<String, String> = "scopes",
    }
}

object! {
    /// RFC 8628.
    pub struct DeviceCodeOAuthFlow {
        /// Where the codes are got.
        required device_authorization_url: String = "deviceAuthorizationUrl",
        /// Where tokens are got.
        required token_url: String = "tokenUrl",
        /// Where tokens are refreshed.
        optional refresh_url: Option<String> = "refreshUrl",
        /// Scopes and what they mean.
        always scopes: BTreeMap<String, String> = "scopes",
    }
}

object! {
    /// Schemes that are needed together, with their scopes.
    pub struct SecurityRequirement {
        /// By the scheme's name in the card.
        always schemes: BTreeMap<String, StringList> = "schemes",
    }
}

object! {
    /// A list inside a map, as protobuf needs it.
    #[derive(Default)]
    pub struct StringList {
        /// The strings.
        always list: Vec<String> = "list",
    }
}
