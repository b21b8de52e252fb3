//! Limits the wrong secrets and tokens that an address may send to bots' routes, like those on the routes of clients.

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header::AUTHORIZATION, header::RETRY_AFTER},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse as _, Response},
};
use bridge_program::Json;
use serde_json::json;

use crate::{
    bot::remote::Channel,
    connector::{self, WrongCredential},
    quota::{Quota, source},
};

/// The name in metrics, in place of an agent's: the requested agent is only known afterwards.
const BOTS: &str = "none";

/// Returns the routes for remote bots. An address that sends too many wrong secrets or tokens is refused for a while,
/// unless it has sent good ones before.
pub(super) fn guarded(channel: Channel, quota: Quota) -> Router {
    connector::router(channel).layer(from_fn_with_state(quota, guard))
}

async fn guard(State(quota): State<Quota>, request: Request, next: Next) -> Response {
    let source = source(request.extensions());
    // Both are shared, not copied; a text is created only after wrong credentials.
    let path = request.uri().clone();
    let token = request.headers().get(AUTHORIZATION).cloned();
    let shown = || joined_credentials(path.path(), token.as_ref());
    if let Err(exceeded) = quota.may_try(BOTS, source, shown) {
        let error = json!({"code": "TooManyRequests", "message": exceeded.to_string()});
        let again = [(RETRY_AFTER, exceeded.retry_after)];
        return (StatusCode::TOO_MANY_REQUESTS, again, Json(json!({ "error": error })))
            .into_response();
    }
    let answer = next.run(request).await;
    match answer.extensions().get::<WrongCredential>() {
        Some(WrongCredential) => quota.wrong(source),
        None => quota.right(shown),
    }
    answer
}

/// Returns the secret in the path and the token as one text; a bot needs both.
fn joined_credentials(path: &str, token: Option<&HeaderValue>) -> String {
    let mut segments = path.split('/').skip(1);
    let secret = match segments.next() {
        Some("bots") => segments.next().unwrap_or_default(),
        Some(_) | None => "",
    };
    let token = token.map(HeaderValue::as_bytes).unwrap_or_default();
    format!("{secret} {}", String::from_utf8_lossy(token))
}

#[cfg(test)]
mod tests {
    use std::{net::IpAddr, num::NonZeroU32, sync::Arc};

    use axum::body::Body;
    use tower::ServiceExt as _;

    use super::*;
    use crate::{
        bot::remote::ChannelSettings,
        metrics::Metrics,
        quota::{ClientAddress, QuotaSettings},
        store::MemoryStore,
    };

    #[tokio::test]
    async fn an_address_that_guesses_secrets_is_blocked() {
        let here = ChannelSettings::at("http://localhost".parse().unwrap());
        let channel = Channel::new(Arc::new(MemoryStore::new()), here).unwrap();
        let settings = QuotaSettings {
            wrong_credentials: NonZeroU32::new(3).unwrap(),
            ..QuotaSettings::default()
        };
        let app = guarded(channel, Quota::new(settings, Metrics::default()));
        let guess = async |address: &str, secret: u32| {
            let path = format!("/bots/{secret}/v3/conversations/c/activities");
            let mut request = Request::post(path).body(Body::from("{}")).unwrap();
            let address: IpAddr = address.parse().unwrap();
            request.extensions_mut().insert(ClientAddress(address));
            app.clone().oneshot(request).await.unwrap()
        };
        for secret in 0..3 {
            assert_eq!(guess("192.0.2.1", secret).await.status(), 404);
        }
        let refused = guess("192.0.2.1", 3).await;
        assert_eq!(refused.status(), 429);
        assert_eq!(refused.headers()["retry-after"], "20");
        assert_eq!(guess("198.51.100.1", 3).await.status(), 404);
    }
}
