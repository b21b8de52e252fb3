//! Agent cards: the pure 1.0 document for those who ask for it, else one that 0.3 readers know too.

use std::sync::Arc;

use axum::{
    Extension,
    body::Body,
    extract::State,
    http::{
        HeaderMap, HeaderValue, StatusCode, Uri,
        header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY},
    },
    response::{IntoResponse as _, Response},
};
use bridge_protocol::{
    a2a::{AgentCard, AgentInterface, Metadata},
    dialect::{Version, card, execute::schema::untyped},
    wire::to_value,
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Endpoint, Origin, render, version};

/// How long a card may be used without asking again.
const CACHE: &str = "public, max-age=60";

/// The card at `/.well-known/agent-card.json`.
pub(super) async fn current(
    State(endpoint): State<Arc<Endpoint>>,
    origin: Option<Extension<Origin>>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let named = match version::named(&headers, &uri) {
        Ok(named) => named,
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    serve(endpoint.document(named, origin.as_deref()), &headers)
}

/// The card at `/.well-known/agent.json` and `/agent.json`, where 0.2 and 0.1 look for it.
pub(super) async fn legacy(
    State(endpoint): State<Arc<Endpoint>>,
    origin: Option<Extension<Origin>>,
    headers: HeaderMap,
) -> Response {
    let document = endpoint.card(origin.as_deref()).map(|mine| {
        let mut document = card::combined(&mine);
        let old = render::translated(|losses| card::to_v0_1(&mine, losses));
        if let (Value::Object(document), Value::Object(old)) = (&mut document, old) {
            for (key, value) in old {
                document.entry(key).or_insert(value);
            }
        }
        document
    });
    serve(document, &headers)
}

impl Endpoint {
    /// The agent's card as a version has it; for those who name none as all of them have it.
    pub(super) fn document(
        &self,
        named: Option<Version>,
        origin: Option<&Origin>,
    ) -> Option<Value> {
        let mut mine = self.card(origin)?;
        Some(match named {
            Some(Version::V1_0) => {
                mine.skills.iter_mut().for_each(untyped);
                to_value(&mine)
            }
            Some(Version::V0_1 | Version::V0_3) | None => card::combined(&mine),
        })
    }

    /// The agent's card with where it is reached.
    fn card(&self, origin: Option<&Origin>) -> Option<AgentCard> {
        let card = self.service.card(&self.agent)?;
        Some(self.reachable_at(self.outside(origin), card))
    }

    /// The agent's address, as its client knows it.
    pub(super) fn address(&self, origin: Option<&Origin>) -> String {
        format!("{}{}", self.outside(origin), self.home)
    }

    fn outside<'a>(&'a self, origin: Option<&'a Origin>) -> &'a str {
        origin.map_or(&self.public_url, |Origin(origin)| origin)
    }

    /// A card of the agent with where it is reached, for those whose address of it nobody knows better.
    pub(super) fn reachable(&self, card: AgentCard) -> AgentCard {
        self.reachable_at(&self.public_url, card)
    }

    fn reachable_at(&self, url: &str, mut card: AgentCard) -> AgentCard {
        let url = format!("{url}{}", self.home);
        let interface = |version: Version| AgentInterface {
            url: url.clone(),
            protocol_binding: "JSONRPC".to_owned(),
            tenant: None,
            protocol_version: version.as_str().to_owned(),
            extra: Metadata::new(),
        };
        card.supported_interfaces = vec![interface(Version::V1_0), interface(Version::V0_3)];
        card.capabilities.streaming = Some(true);
        card.capabilities.push_notifications = Some(false);
        card
    }
}

pub(super) fn serve(document: Option<Value>, headers: &HeaderMap) -> Response {
    let Some(document) = document else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let body = document.to_string();
    let etag = format!("\"{:x}\"", Sha256::digest(&body));
    let known = headers
        .get(IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok());
    let unchanged = known.is_some_and(|known| known.split(',').any(|one| one.trim() == etag));
    let mut response = match unchanged {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Body::from(body).into_response(),
    };
    let found = response.headers_mut();
    found.insert(CACHE_CONTROL, HeaderValue::from_static(CACHE));
    found.insert(VARY, HeaderValue::from_static("A2A-Version"));
    found.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        found.insert(ETAG, etag);
    }
    response
}
