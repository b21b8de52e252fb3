//! Security schemes in OpenAPI's form, distinguished by `type` (0.3, section 5.5.3).

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde_json::{Map, Value};

use crate::{
    a2a::{
        ApiKeySecurityScheme, Metadata, OAuth2SecurityScheme, SecurityRequirement, SecurityScheme,
        StringList,
    },
    dialect::{
        Losses,
        object::{self, Object, SKIPPED},
    },
    wire::{FieldError, Fields, Wire, to_value},
};

const TYPES: &str = "one of apiKey, http, oauth2, openIdConnect, mutualTLS";

/// Reads a scheme. Its fields are those of 1.0 except for the location of an API key.
///
/// # Errors
/// If the type is unknown, or a field is missing or invalid: its path, and what was expected there.
pub fn scheme_to_v1(value: Value) -> Result<SecurityScheme, FieldError> {
    let mut fields = Fields::of(value)?;
    let kind: String = fields.required("type")?;
    let rest = |fields: Fields| Value::Object(fields.rest());
    match kind.as_str() {
        "apiKey" => read_api_key(fields).map(SecurityScheme::ApiKey),
        "http" => Wire::read(rest(fields)).map(SecurityScheme::HttpAuth),
        "oauth2" => Wire::read(rest(fields)).map(SecurityScheme::OAuth2),
        "openIdConnect" => Wire::read(rest(fields)).map(SecurityScheme::OpenIdConnect),
        "mutualTLS" => Wire::read(rest(fields)).map(SecurityScheme::MutualTls),
        _ => Err(FieldError::unexpected(TYPES, &Value::String(kind)).inside("type")),
    }
}

fn read_api_key(mut fields: Fields) -> Result<ApiKeySecurityScheme, FieldError> {
    Ok(ApiKeySecurityScheme {
        description: fields.optional("description")?,
        location: fields.required("in")?,
        name: fields.required("name")?,
        extra: object::extra(fields, &["location"], Metadata::new()),
    })
}

/// Writes a scheme.
pub fn scheme_from_v1(scheme: &SecurityScheme, losses: &mut Losses) -> Value {
    match scheme {
        SecurityScheme::ApiKey(scheme) => write_api_key(scheme, losses),
        SecurityScheme::HttpAuth(scheme) => of_type("http", to_value(scheme)),
        SecurityScheme::OAuth2(scheme) => write_oauth2(scheme, losses),
        SecurityScheme::OpenIdConnect(scheme) => of_type("openIdConnect", to_value(scheme)),
        SecurityScheme::MutualTls(scheme) => of_type("mutualTLS", to_value(scheme)),
    }
}

fn of_type(kind: &str, scheme: Value) -> Value {
    let mut object = Object::from_value(scheme);
    object.put("type", kind);
    object.finish(&Map::new(), &[], &mut Losses::new())
}

fn write_api_key(scheme: &ApiKeySecurityScheme, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.put("type", "apiKey");
    object.some("description", scheme.description.clone());
    object.put("in", scheme.location.as_str());
    object.put("name", scheme.name.as_str());
    object.finish(&scheme.extra, &[], losses)
}

fn write_oauth2(scheme: &OAuth2SecurityScheme, losses: &mut Losses) -> Value {
    let code = scheme.flows.authorization_code.as_ref();
    if code.is_some_and(|flow| flow.pkce_required) {
        losses.add("flows.authorizationCode.pkceRequired", SKIPPED);
    }
    if scheme.flows.device_code.is_some() {
        losses.add("flows.deviceCode", SKIPPED);
    }
    of_type("oauth2", to_value(scheme))
}

/// Reads one alternative of `security`: schemes that are required together, with their scopes.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn requirement_to_v1(value: Value) -> Result<SecurityRequirement, FieldError> {
    let schemes: BTreeMap<String, Vec<String>> = Wire::read(value)?;
    let scopes = |list| StringList { list, ..StringList::default() };
    let schemes = schemes.into_iter();
    Ok(SecurityRequirement {
        schemes: schemes.map(|(name, list)| (name, scopes(list))).collect(),
        ..SecurityRequirement::default()
    })
}

/// Writes one alternative of `security`, which contains only schemes, so that unknown fields are lost.
pub fn requirement_from_v1(requirement: &SecurityRequirement, losses: &mut Losses) -> Value {
    const NO_PLACE: &str = "0.3 has nothing but scheme names here, so it was left out";
    for key in requirement.extra.keys() {
        losses.add(key, NO_PLACE);
    }
    let mut object = Map::new();
    for (name, scopes) in &requirement.schemes {
        for key in scopes.extra.keys() {
            losses.inside("schemes", |losses| {
                losses.inside(name, |losses| losses.add(key, NO_PLACE));
            });
        }
        object.insert(name.clone(), scopes.list.clone().into());
    }
    Value::Object(object)
}
