//! Access to agents as their cards declare it: over HTTP without a socket, and over TLS with the program.

mod callers;
mod cards;
mod counted;
mod forged;
#[cfg(feature = "grpc")]
mod grpc;
mod http;
mod invoked;
mod limits;
mod lists;
mod program;
mod skills;
mod ways;

use std::{collections::BTreeMap, fs, sync::Arc};

use axum::{
    Router,
    body::Body,
    http::{Response, StatusCode},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bridge::{
    access::{Access, Check, Secrets, TokenCheck},
    agent::{Agent, TurnSettings},
    auth::{KeySource, Secret, TrustedIssuer, Verifier},
    executor::{Executor, FnExecutor},
    host::Host,
    store::MemoryStore,
};
use bridge_protocol::{
    a2a::{AgentCard, AgentSkill},
    wire::Wire as _,
};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::app;

const ISSUER: &str = "https://id.test";
const AUDIENCE: &str = "echo-agent";

/// Returns the key of the issuer.
fn key() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap()
}

fn jwks() -> Value {
    let public = URL_SAFE_NO_PAD.encode(key().public_key());
    json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": public}]})
}

/// Returns a token about this subject with these claims beside, valid for as long as these tests may live.
fn token(issuer: &str, subject: &str, more: &Value) -> String {
    let mut claims =
        json!({"iss": issuer, "sub": subject, "aud": AUDIENCE, "exp": 9_999_999_999_u64});
    for (name, value) in more.as_object().unwrap() {
        claims[name] = value.clone();
    }
    let header = json!({"alg": "EdDSA", "kid": "k"});
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", encode(&header), encode(&claims));
    let signature = URL_SAFE_NO_PAD.encode(key().sign(message.as_bytes()));
    format!("{message}.{signature}")
}

fn tokens() -> Check {
    let folder = tempfile::tempdir().unwrap().keep();
    let path = folder.join("keys.json");
    fs::write(&path, jwks().to_string()).unwrap();
    let trusted = [ISSUER, "https://other.test"].map(|issuer| TrustedIssuer {
        issuer: issuer.to_owned(),
        keys: KeySource::file(&path).unwrap(),
    });
    let mut check = TokenCheck::new(Verifier::new(trusted, [AUDIENCE.to_owned()]));
    check.tenants = None;
    Check { token: Some(check), ..Check::default() }
}

fn secrets(all: &[(&str, &str)]) -> Check {
    let add = |secrets: Secrets, (name, secret): &(&str, &str)| {
        secrets.with(name, &Secret::new(*secret)).unwrap()
    };
    Check { secrets: all.iter().fold(Secrets::default(), add), ..Check::default() }
}

/// Returns an agent whose card has these schemes and requirements.
async fn guarded(schemes: &Value, requirements: &Value, checks: &[(&str, Check)]) -> Router {
    let card = json!({"securitySchemes": schemes, "securityRequirements": requirements});
    hosted(&card, checks).await
}

/// Returns an agent with such a card, which has one more skill for authenticated callers.
async fn hosted(more: &Value, checks: &[(&str, Check)]) -> Router {
    let host = host(more, checks, Arc::new(FnExecutor(|text: &str| format!("You said: {text}"))));
    host.router("http://localhost:3978").await.unwrap()
}

/// Returns the host of such an agent, not yet started, with this executor.
fn host(more: &Value, checks: &[(&str, Check)], executor: Arc<dyn Executor>) -> Host {
    let mut card =
        json!({"name": "Echo", "supportedInterfaces": [], "description": "Says it again."});
    for (name, value) in more.as_object().unwrap() {
        card[name] = value.clone();
    }
    let card = AgentCard::read(card).unwrap();
    let checks = checks.iter().map(|(name, check)| ((*name).to_owned(), check.clone()));
    let checks = checks.collect::<BTreeMap<_, _>>();
    let mut extended = card.clone();
    extended.skills.push(
        AgentSkill::read(json!({"id": "secret", "name": "Secret", "description": "For friends."}))
            .unwrap(),
    );
    let access = Access::new(&card, "echo", checks).unwrap();
    let access = access.extended(&card, &extended).unwrap();
    let agent = Agent { name: "echo".into(), card, executor, settings: TurnSettings::default() };
    Host::new(Arc::new(MemoryStore::new()), [agent])
        .access("echo", access)
        .extended_card("echo", extended)
}

async fn send(app: &Router, path: &str, headers: &[(&str, &str)]) -> Response<Body> {
    let body =
        json!({"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": app::say("m", "hi")});
    app::post(app, path, headers, &body).await
}

async fn json(response: Response<Body>) -> (StatusCode, Value) {
    let status = response.status();
    (status, serde_json::from_str(&app::text(response).await).unwrap())
}
