//! Selects the fields of a card that are signed (specification 5.7, 8.4.1), by the annotations of
//! `specification/a2a.proto`. Fields outside 1.0 are never signed.

use alloc::{borrow::ToOwned as _, string::String, vec::Vec};

use serde_json::{Map, Value};

/// A field's name, the rule for its presence, and its content.
struct Field(&'static str, Presence, Holds);

/// The rule that decides whether a field is kept.
#[derive(Clone, Copy)]
enum Presence {
    /// Whenever it is present: fields that are `REQUIRED`, `optional` or messages, which all have presence.
    Told,
    /// If it is not the default of its type.
    Implied,
}

/// The content of a field.
#[derive(Clone, Copy)]
enum Holds {
    /// Text, a flag, a list or map of texts, or free-form data.
    Plain,
    One(&'static [Field]),
    List(&'static [Field]),
    Map(&'static [Field]),
}

use Holds::{List, Map as Named, One, Plain};
use Presence::{Implied, Told};

const CARD: &[Field] = &[
    Field("name", Told, Plain),
    Field("description", Told, Plain),
    Field("supportedInterfaces", Told, List(INTERFACE)),
    Field("provider", Told, One(PROVIDER)),
    Field("version", Told, Plain),
    Field("documentationUrl", Told, Plain),
    Field("capabilities", Told, One(CAPABILITIES)),
    Field("securitySchemes", Implied, Named(SCHEME)),
    Field("securityRequirements", Implied, List(REQUIREMENT)),
    Field("defaultInputModes", Told, Plain),
    Field("defaultOutputModes", Told, Plain),
    Field("skills", Told, List(SKILL)),
    Field("iconUrl", Told, Plain),
];

const INTERFACE: &[Field] = &[
    Field("url", Told, Plain),
    Field("protocolBinding", Told, Plain),
    Field("tenant", Implied, Plain),
    Field("protocolVersion", Told, Plain),
];

const PROVIDER: &[Field] = &[
    Field("url", Told, Plain),
    Field("organization", Told, Plain),
];

const CAPABILITIES: &[Field] = &[
    Field("streaming", Told, Plain),
    Field("pushNotifications", Told, Plain),
    Field("extensions", Implied, List(EXTENSION)),
    Field("extendedAgentCard", Told, Plain),
];

const EXTENSION: &[Field] = &[
    Field("uri", Implied, Plain),
    Field("description", Implied, Plain),
    Field("required", Implied, Plain),
    Field("params", Told, Plain),
];

const SKILL: &[Field] = &[
    Field("id", Told, Plain),
    Field("name", Told, Plain),
    Field("description", Told, Plain),
    Field("tags", Told, Plain),
    Field("examples", Implied, Plain),
    Field("inputModes", Implied, Plain),
    Field("outputModes", Implied, Plain),
    Field("securityRequirements", Implied, List(REQUIREMENT)),
];

const REQUIREMENT: &[Field] = &[Field("schemes", Implied, Named(TEXTS))];

const TEXTS: &[Field] = &[Field("list", Implied, Plain)];

const SCHEME: &[Field] = &[
    Field("apiKeySecurityScheme", Told, One(API_KEY)),
    Field("httpAuthSecurityScheme", Told, One(HTTP_AUTH)),
    Field("oauth2SecurityScheme", Told, One(OAUTH2)),
    Field("openIdConnectSecurityScheme", Told, One(OPEN_ID)),
    Field("mtlsSecurityScheme", Told, One(MUTUAL_TLS)),
];

const API_KEY: &[Field] = &[
    Field("description", Implied, Plain),
    Field("location", Told, Plain),
    Field("name", Told, Plain),
];

const HTTP_AUTH: &[Field] = &[
    Field("description", Implied, Plain),
    Field("scheme", Told, Plain),
    Field("bearerFormat", Implied, Plain),
];

const OAUTH2: &[Field] = &[
    Field("description", Implied, Plain),
    Field("flows", Told, One(FLOWS)),
    Field("oauth2MetadataUrl", Implied, Plain),
];

const OPEN_ID: &[Field] = &[
    Field("description", Implied, Plain),
    Field("openIdConnectUrl", Told, Plain),
];

const MUTUAL_TLS: &[Field] = &[Field("description", Implied, Plain)];

const FLOWS: &[Field] = &[
    Field("authorizationCode", Told, One(FLOW)),
    Field("clientCredentials", Told, One(FLOW)),
    Field("implicit", Told, One(OLD_FLOW)),
    Field("password", Told, One(OLD_FLOW)),
    Field("deviceCode", Told, One(FLOW)),
];

/// All three current flows, whose common fields agree.
const FLOW: &[Field] = &[
    Field("authorizationUrl", Told, Plain),
    Field("deviceAuthorizationUrl", Told, Plain),
    Field("tokenUrl", Told, Plain),
    Field("refreshUrl", Implied, Plain),
    Field("scopes", Told, Plain),
    Field("pkceRequired", Implied, Plain),
];

/// Both deprecated flows.
const OLD_FLOW: &[Field] = &[
    Field("authorizationUrl", Implied, Plain),
    Field("tokenUrl", Implied, Plain),
    Field("refreshUrl", Implied, Plain),
    Field("scopes", Implied, Plain),
];

/// The fields of a card to be signed, not yet in canonical form.
pub(super) fn card(card: &Value) -> Value {
    message(card, CARD)
}

/// The present fields of an object. A value of an unexpected type is kept as it is, because the signer has
/// included it.
fn message(value: &Value, fields: &[Field]) -> Value {
    let Value::Object(members) = value else {
        return value.clone();
    };
    let mut kept = Map::new();
    for Field(name, presence, holds) in fields {
        let Some(member) = members.get(*name).filter(|one| !one.is_null()) else {
            continue;
        };
        let is_kept = match presence {
            Told => true,
            Implied => !is_default(member),
        };
        if is_kept {
            kept.insert((*name).to_owned(), inner(member, *holds));
        }
    }
    Value::Object(kept)
}

fn inner(value: &Value, holds: Holds) -> Value {
    match (holds, value) {
        (One(fields), _) => message(value, fields),
        (List(fields), Value::Array(items)) => {
            let items: Vec<Value> = items.iter().map(|item| message(item, fields)).collect();
            items.into()
        }
        (Named(fields), Value::Object(members)) => {
            let members = members.iter();
            let members: Map<String, Value> = members
                .map(|(key, item)| (key.clone(), message(item, fields)))
                .collect();
            members.into()
        }
        (Plain | List(_) | Named(_), _) => value.clone(),
    }
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}
