//! Serves the catalog of all agents, as their cards and as links to them.

use std::sync::Arc;

use axum::{
    Extension,
    extract::State,
    http::{
        HeaderMap, Uri,
        header::{CONTENT_TYPE, LINK},
    },
    response::{IntoResponse as _, Response},
};
use bridge_protocol::dialect::places;
use serde_json::{Value, json};

use super::{Endpoint, Origin, card::serve_document, rest, service_parameters};

/// The media type of an API catalog (RFC 9727, section 4.1): links as JSON (RFC 9264) with a profile.
const LINKS: &str =
    r#"application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727""#;

/// The link by which a client that asks for the head alone learns what it has found (RFC 9727, section 2).
const SELF: &str = r#"<api-catalog>; rel="api-catalog""#;

/// Serves the cards of all agents in the order of their configuration: `{"agents": [CARD, ...]}`. With
/// `?skill=ID`, which may be repeated, only agents with one of these skills are listed.
pub(super) async fn cards(
    State(endpoints): State<Arc<[Endpoint]>>,
    origin: Option<Extension<Origin>>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let named = match service_parameters::named_version(&headers, &uri) {
        Ok(named) => named,
        Err(error) => return rest::error_response(&headers, error),
    };
    let wanted = requested_skills(&uri);
    let cards = endpoints
        .iter()
        .filter(|one| one.can_any(&wanted))
        .filter_map(|one| one.document(named, origin.as_deref()));
    let document = json!({"agents": cards.collect::<Vec<_>>()});
    let since = endpoints.iter().map(|one| one.since).max();
    serve_document(Some(document), since.unwrap_or_default(), &headers)
}

/// Returns the ids of the requested skills; an empty list selects all agents.
fn requested_skills(uri: &Uri) -> Vec<String> {
    service_parameters::pairs(uri).filter(|(name, _)| name == "skill").map(|(_, id)| id).collect()
}

impl Endpoint {
    fn can_any(&self, wanted: &[String]) -> bool {
        let card = self.service.card(&self.agent);
        wanted.is_empty()
            || card.is_some_and(|card| card.skills.iter().any(|skill| wanted.contains(&skill.id)))
    }
}

/// Serves links to all agents and their cards (RFC 9727, `api-catalog`).
pub(super) async fn links(
    State(endpoints): State<Arc<[Endpoint]>>,
    origin: Option<Extension<Origin>>,
) -> Response {
    let origin = origin.as_deref();
    let agents = endpoints.iter().filter(|one| one.service.card(&one.agent).is_some());
    let linkset: Vec<Value> = agents
        .map(|one| {
            let address = one.address(origin);
            json!({"anchor": address, "service-desc": [{
                "href": places::below(&address, places::CURRENT),
                "type": "application/json",
            }]})
        })
        .collect();
    let body = json!({"linkset": linkset}).to_string();
    ([(CONTENT_TYPE, LINKS), (LINK, SELF)], body).into_response()
}
