//! Selects the fields of a card that are signed (specification 5.7, 8.4.1), by the annotations of
//! `specification/a2a.proto`. Fields outside 1.0 are never signed.

use alloc::{borrow::ToOwned as _, string::String, vec::Vec};

use serde_json::{Map, Value};

/// A field's name, the rule for its presence, and its content.
struct Field(&'static str, Presence, FieldContent);

/// The rule that decides whether a field is kept.
#[derive(Clone, Copy)]
enum Presence {
    /// Whenever it is present: fields that are `REQUIRED`, `optional` or messages, which all have presence.
    Explicit,
    /// If it is not the default of its type.
    Implicit,
}

#[derive(Clone, Copy)]
enum FieldContent {
    /// Text, a flag, a list or map of texts, or free-form data.
    Plain,
    One(&'static [Field]),
    List(&'static [Field]),
    Map(&'static [Field]),
}

use FieldContent::{List, Map as Named, One, Plain};
use Presence::{Explicit, Implicit};

const CARD: &[Field] = &[
    Field("name", Explicit, Plain),
    Field("description", Explicit, Plain),
    Field("supportedInterfaces", Explicit, List(INTERFACE)),
    Field("provider", Explicit, One(PROVIDER)),
    Field("version", Explicit, Plain),
    Field("documentationUrl", Explicit, Plain),
    Field("capabilities", Explicit, One(CAPABILITIES)),
    Field("securitySchemes", Implicit, Named(SCHEME)),
    Field("securityRequirements", Implicit, List(REQUIREMENT)),
    Field("defaultInputModes", Explicit, Plain),
    Field("defaultOutputModes", Explicit, Plain),
    Field("skills", Explicit, List(SKILL)),
    Field("iconUrl", Explicit, Plain),
];

const INTERFACE: &[Field] = &[
    Field("url", Explicit, Plain),
    Field("protocolBinding", Explicit, Plain),
    Field("tenant", Implicit, Plain),
    Field("protocolVersion", Explicit, Plain),
];

const PROVIDER: &[Field] = &[Field("url", Explicit, Plain), Field("organization", Explicit, Plain)];

const CAPABILITIES: &[Field] = &[
    Field("streaming", Explicit, Plain),
    Field("pushNotifications", Explicit, Plain),
    Field("extensions", Implicit, List(EXTENSION)),
    Field("extendedAgentCard", Explicit, Plain),
];

const EXTENSION: &[Field] = &[
    Field("uri", Implicit, Plain),
    Field("description", Implicit, Plain),
    Field("required", Implicit, Plain),
    Field("params", Explicit, Plain),
];

const SKILL: &[Field] = &[
    Field("id", Explicit, Plain),
    Field("name", Explicit, Plain),
    Field("description", Explicit, Plain),
    Field("tags", Explicit, Plain),
    Field("examples", Implicit, Plain),
    Field("inputModes", Implicit, Plain),
    Field("outputModes", Implicit, Plain),
    Field("securityRequirements", Implicit, List(REQUIREMENT)),
];

const REQUIREMENT: &[Field] = &[Field("schemes", Implicit, Named(TEXTS))];

const TEXTS: &[Field] = &[Field("list", Implicit, Plain)];

const SCHEME: &[Field] = &[
    Field("apiKeySecurityScheme", Explicit, One(API_KEY)),
    Field("httpAuthSecurityScheme", Explicit, One(HTTP_AUTH)),
    Field("oauth2SecurityScheme", Explicit, One(OAUTH2)),
    Field("openIdConnectSecurityScheme", Explicit, One(OPEN_ID)),
    Field("mtlsSecurityScheme", Explicit, One(MUTUAL_TLS)),
];

const API_KEY: &[Field] = &[
    Field("description", Implicit, Plain),
    Field("location", Explicit, Plain),
    Field("name", Explicit, Plain),
];

const HTTP_AUTH: &[Field] = &[
    Field("description", Implicit, Plain),
    Field("scheme", Explicit, Plain),
    Field("bearerFormat", Implicit, Plain),
];

const OAUTH2: &[Field] = &[
    Field("description", Implicit, Plain),
    Field("flows", Explicit, One(FLOWS)),
    Field("oauth2MetadataUrl", Implicit, Plain),
];

const OPEN_ID: &[Field] =
    &[Field("description", Implicit, Plain), Field("openIdConnectUrl", Explicit, Plain)];

const MUTUAL_TLS: &[Field] = &[Field("description", Implicit, Plain)];

const FLOWS: &[Field] = &[
    Field("authorizationCode", Explicit, One(FLOW)),
    Field("clientCredentials", Explicit, One(FLOW)),
    Field("implicit", Explicit, One(OLD_FLOW)),
    Field("password", Explicit, One(OLD_FLOW)),
    Field("deviceCode", Explicit, One(FLOW)),
];

/// All three current flows, whose common fields agree.
const FLOW: &[Field] = &[
    Field("authorizationUrl", Explicit, Plain),
    Field("deviceAuthorizationUrl", Explicit, Plain),
    Field("tokenUrl", Explicit, Plain),
    Field("refreshUrl", Implicit, Plain),
    Field("scopes", Explicit, Plain),
    Field("pkceRequired", Implicit, Plain),
];

/// Both deprecated flows.
const OLD_FLOW: &[Field] = &[
    Field("authorizationUrl", Implicit, Plain),
    Field("tokenUrl", Implicit, Plain),
    Field("refreshUrl", Implicit, Plain),
    Field("scopes", Implicit, Plain),
];

/// Returns the fields of a card to be signed, not yet in canonical form.
pub(super) fn card(card: &Value) -> Value {
    message(card, CARD)
}

/// Returns the present fields of an object. A value of an unexpected type is kept as it is, because the signer has
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
            Explicit => true,
            Implicit => !is_default(member),
        };
        if is_kept {
            kept.insert((*name).to_owned(), inner(member, *holds));
        }
    }
    Value::Object(kept)
}

fn inner(value: &Value, holds: FieldContent) -> Value {
    match (holds, value) {
        (One(fields), _) => message(value, fields),
        (List(fields), Value::Array(items)) => {
            let items: Vec<Value> = items.iter().map(|item| message(item, fields)).collect();
            items.into()
        }
        (Named(fields), Value::Object(members)) => {
            let members = members.iter();
            let members: Map<String, Value> =
                members.map(|(key, item)| (key.clone(), message(item, fields))).collect();
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
