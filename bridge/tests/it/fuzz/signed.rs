//! Signed inputs: tokens of callers, and agent cards. Changed ones are refused.

use axum::http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bridge::auth::{
    Issuer, IssuerSettings, Jwk, KeySource, Subject, TrustedIssuer, Verifier, bearer,
};
use bridge_client::Signers;
use bridge_protocol::signing::{self, Header};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{Verdict, bytes, corpus, fuzz, json as documents, rng::Rng};

const ISSUER: &str = "https://issuer.test";
const AUDIENCE: &str = "bridge";

/// A card that an SDK has signed, and the key.
const SIGNED: &str = include_str!("../../../client/tests/it/signed_by_a2a_sdk.json");

fn moment(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// Returns an issuer's good token first, then those of it that are for others, over, or not signed.
async fn tokens(issuer: &Issuer) -> Vec<String> {
    let subject = |audience: &str| Subject {
        audience: audience.to_owned(),
        subject: Some("alice".to_owned()),
        service_url: None,
    };
    let good = issuer.token(&subject(AUDIENCE), moment(0)).await.unwrap();
    let others = issuer.token(&subject("others"), moment(0)).await.unwrap();
    let claims = json!({"aud": AUDIENCE, "exp": 1});
    let over = issuer.sign(claims, moment(0)).await.unwrap();
    let good = good.expose();
    let message = good.rsplit_once('.').unwrap().0;
    let claims = message.split_once('.').unwrap().1;
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
    let shared = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","crit":["exp"]}"#);
    vec![
        good.to_owned(),
        others.expose().to_owned(),
        over.expose().to_owned(),
        format!("{none}.{claims}."),
        format!("{shared}.{claims}.AAAA"),
        format!("{message}."),
    ]
}

/// Returns one of the tokens, with changed bytes or changed content.
fn change(rng: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    if rng.one_in(3) {
        return bytes::change(rng, seeds);
    }
    let token: &Vec<u8> = rng.pick(seeds);
    let token = String::from_utf8_lossy(token);
    let mut pieces: Vec<String> = token.split('.').map(str::to_owned).collect();
    let at = rng.below(pieces.len());
    if let Ok(said) = URL_SAFE_NO_PAD.decode(&pieces[at]) {
        pieces[at] = URL_SAFE_NO_PAD.encode(documents::change(rng, &[said]));
    }
    pieces.join(".").into_bytes()
}

/// Returns a verifier of the issuer's tokens, with the keys in a file.
fn verifier(issuer: &Issuer, folder: &tempfile::TempDir) -> Verifier {
    let keys = folder.path().join("keys.json");
    let published = serde_json::to_vec(&issuer.jwks(moment(0))).unwrap();
    std::fs::write(&keys, published).unwrap();
    let trusted = TrustedIssuer { issuer: ISSUER.to_owned(), keys: KeySource::file(keys).unwrap() };
    Verifier::new([trusted], [AUDIENCE.to_owned()])
}

fn runtime() -> Runtime {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap()
}

#[test]
fn bearer_tokens() {
    let (runtime, folder) = (runtime(), tempfile::tempdir().unwrap());
    let opened = Issuer::open(IssuerSettings::new(ISSUER), moment(0));
    let issuer = runtime.block_on(opened).unwrap();
    let verifier = verifier(&issuer, &folder);
    let seeds = runtime.block_on(tokens(&issuer));
    let good = seeds[0].clone();
    let now = moment(1);
    runtime.block_on(verifier.verify(&good, now)).unwrap();
    let seeds: Vec<Vec<u8>> = seeds.into_iter().map(String::into_bytes).collect();
    fuzz("bearer_tokens", &seeds, change, |input| {
        let header = [b"Bearer ".as_slice(), input].concat();
        let Ok(value) = HeaderValue::from_bytes(&header) else {
            return Ok(());
        };
        let headers = HeaderMap::from_iter([(AUTHORIZATION, value)]);
        let Ok(token) = bearer(&headers) else {
            return Ok(());
        };
        match runtime.block_on(verifier.verify(token, now)) {
            Ok(identity) if token != good => Err(format!("{identity:?} was believed")),
            Ok(_) => Ok(()),
            Err(refusal) => told(&refusal.to_string()),
        }
    });
}

/// Checks that a refusal is one line of a sensible length, whatever the card contained.
fn told(refusal: &str) -> Verdict {
    match refusal.len() < 1_000 && !refusal.contains(char::is_control) {
        true => Ok(()),
        false => Err(format!("refused with {refusal:?}")),
    }
}

#[test]
fn signed_cards() {
    let signed: Value = serde_json::from_str(SIGNED).unwrap();
    let (card, key) = (&signed["card"], signed["key"].clone());
    let keys = json!({"keys": [key]});
    let key: Jwk = bridge::auth::Jwks::read(keys).unwrap().keys.remove(0);
    let signers = Signers::keys([key]);
    let unsigned = corpus::recorded(|document| document.get("skills").is_some());
    // The signed one comes as often as all others.
    let signed = vec![card.to_string().into_bytes(); unsigned.len()];
    let payloads = payloads(card);
    fuzz("signed_cards", &[signed, unsigned].concat(), documents::change, |input| {
        let Ok(changed) = serde_json::from_slice::<Value>(input) else {
            return Ok(());
        };
        stays(&changed)?;
        headers(&changed)?;
        match signers.verify(&changed, &[].into()) {
            Ok(_) if !self::payloads(&changed).iter().any(|one| payloads.contains(one)) => {
                Err("another card is taken for the signed one".to_owned())
            }
            Ok(_) | Err(_) => Ok(()),
        }
    });
}

fn payloads(card: &Value) -> [String; 2] {
    [signing::payload(card), signing::payload_of_sdks(card)]
}

/// Checks that the signed form of a card is JSON with the same signed form.
fn stays(card: &Value) -> Verdict {
    let payload = signing::payload(card);
    let read = serde_json::from_str::<Value>(&payload).map_err(|error| error.to_string())?;
    let again = signing::payload(&read);
    if again == payload { Ok(()) } else { Err(format!("{payload}\nbecomes {again}")) }
}

/// Checks that the header of a signature survives being written and read.
fn headers(card: &Value) -> Verdict {
    let signatures = card["signatures"].as_array().into_iter().flatten();
    let protected = signatures.filter_map(|one| one["protected"].as_str());
    for header in protected.filter_map(|protected| Header::read(protected).ok()) {
        let again = Header::read(&header.protected());
        if again.as_ref() != Ok(&header) {
            return Err(format!("{header:?} comes back as {again:?}"));
        }
    }
    Ok(())
}
