//! The authorization of MCP (2025-11-25 and 2026-07-28, basic/authorization), with a simulated user who always
//! agrees.

use std::error::Error;

use reqwest::{header::LOCATION, redirect::Policy};
use rmcp::{
    service::{ClientInitializeError, ServiceError},
    transport::{
        auth::{AuthorizationRequest, OAuthState, WWWAuthenticateParams},
        streamable_http_client::{AuthRequiredError, InsufficientScopeError},
    },
};

use crate::{Scenario, work};

/// The largest number of authorization attempts.
const ATTEMPTS: usize = 3;

const CALLBACK: &str = "http://localhost:3000/callback";

/// The URL of this client's metadata; the suite expects this value and does not fetch it.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";

/// Runs the scenario; if the server demands authorization, obtains it and runs the scenario again.
pub(crate) async fn run(scenario: &Scenario) -> Result<(), Box<dyn Error>> {
    let mut authorized: Option<OAuthState> = None;
    let mut token = None;
    for _ in 0..ATTEMPTS {
        let error = match work::run(scenario, token.as_deref()).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        let challenge = challenge(error.as_ref()).ok_or(error)?;
        let state = match authorized.take() {
            Some(state) if challenge.wants_more => upgrade(state, scenario, &challenge).await?,
            // The old token is no longer accepted; another authorization server may be responsible now.
            Some(_) | None => begin(scenario, &challenge).await?,
        };
        token = Some(access_token(&state).await?);
        authorized = Some(state);
    }
    Err("the server wants more authorization each time".into())
}

/// The server's demand for authorization.
struct Challenge {
    header: String,
    wants_more: bool,
}

/// Returns the challenge in an error's causes.
fn challenge(error: &(dyn Error + 'static)) -> Option<Challenge> {
    if let Some(initialize) = error.downcast_ref::<ClientInitializeError>() {
        let header = initialize.auth_challenge()?.to_owned();
        let wants_more = header.contains("insufficient_scope");
        return Some(Challenge { header, wants_more });
    }
    let ServiceError::TransportSend(transport) = error.downcast_ref::<ServiceError>()? else {
        return None;
    };
    let mut cause: Option<&(dyn Error + 'static)> = Some(transport.error.as_ref());
    while let Some(error) = cause {
        if let Some(challenge) = header(error) {
            return Some(challenge);
        }
        cause = error.source();
    }
    None
}

fn header(error: &(dyn Error + 'static)) -> Option<Challenge> {
    if let Some(refused) = error.downcast_ref::<InsufficientScopeError>() {
        let header = refused.www_authenticate_header.clone();
        return Some(Challenge { header, wants_more: true });
    }
    let refused = error.downcast_ref::<AuthRequiredError>()?;
    let header = refused.www_authenticate_header.clone();
    Some(Challenge { header, wants_more: false })
}

async fn begin(scenario: &Scenario, challenge: &Challenge) -> Result<OAuthState, Box<dyn Error>> {
    let mut state = OAuthState::new(&*scenario.url, None).await?;
    let mut request = AuthorizationRequest::new(CALLBACK)
        .with_client_name("conformance-client")
        .with_client_metadata_url(CLIENT_METADATA)
        .with_challenge(&challenge.header);
    if let Some(id) = scenario.context["client_id"].as_str() {
        request = request.with_preregistered_client(id);
    }
    if let Some(secret) = scenario.context["client_secret"].as_str() {
        request = request.with_client_secret(secret);
    }
    state.start_authorization(request).await?;
    let page = state.get_authorization_url().await?;
    state.handle_callback_url(&agree(&page).await?).await?;
    Ok(state)
}

async fn upgrade(
    mut state: OAuthState,
    scenario: &Scenario,
    challenge: &Challenge,
) -> Result<OAuthState, Box<dyn Error>> {
    let wanted = WWWAuthenticateParams::parse(&challenge.header, &scenario.url.parse()?);
    let scope = wanted.scope.unwrap_or_default();
    let page = state.request_scope_upgrade(&scope, CALLBACK).await?;
    state.handle_callback_url(&agree(&page).await?).await?;
    Ok(state)
}

/// Opens the page on which a user would agree, and returns the URL that it redirects to.
async fn agree(page: &str) -> Result<String, Box<dyn Error>> {
    let browser = reqwest::Client::builder().redirect(Policy::none()).build()?;
    let answer = browser.get(page).send().await?;
    let back = answer.headers().get(LOCATION);
    Ok(back.ok_or("expected a redirect")?.to_str()?.to_owned())
}

async fn access_token(state: &OAuthState) -> Result<String, Box<dyn Error>> {
    match state {
        OAuthState::Authorized(manager) => Ok(manager.get_access_token().await?),
        _ => Err("the authorization was not completed".into()),
    }
}
