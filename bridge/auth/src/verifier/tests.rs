//! Tests with endpoints on real sockets, and time as an argument.

use super::*;
use crate::testing::{FakeEndpoint, key, moment};
use axum::http::StatusCode;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use futures_util::future::join_all;
use serde_json::json;

const NOW: i64 = 1_000_000;

fn publish(standin: &FakeEndpoint, numbers: &[usize]) {
    let issuer = standin.url("/").to_string();
    let metadata = json!({"issuer": issuer, "jwks_uri": standin.url("/keys")});
    standin.answer("/metadata", &metadata);
    let keys: Vec<_> = numbers.iter().map(|number| json!(key(*number).public())).collect();
    standin.answer("/keys", &json!({"keys": keys}));
}

fn verifier(standin: &FakeEndpoint) -> Verifier {
    let keys = KeySource::metadata(standin.url("/metadata"), false).unwrap();
    let issuer = standin.url("/").to_string();
    Verifier::new([TrustedIssuer { issuer, keys }], ["us".to_owned()])
}

fn claims(standin: &FakeEndpoint) -> Value {
    json!({
        "iss": standin.url("/"), "aud": "us", "sub": "ada", "nbf": NOW, "exp": NOW + 600,
        "azp": "bot",
    })
}

#[tokio::test]
async fn a_token_is_held_to_every_claim() {
    let standin = FakeEndpoint::start().await;
    publish(&standin, &[0]);
    let verifier = verifier(&standin).claim("azp", "bot");
    let cases: &[(Value, Result<(), &str>)] = &[
        (json!({}), Ok(())),
        (json!({"aud": ["them", "us"]}), Ok(())),
        (json!({"exp": NOW - 299}), Ok(())),
        (json!({"exp": NOW as f64 - 299.5}), Err("the token expired 300 s ago")),
        (json!({"exp": NOW - 300}), Err("the token expired 300 s ago")),
        (json!({"exp": null}), Err("expected a token with an expiry (exp)")),
        (json!({"exp": "soon"}), Err("expected a token with an expiry (exp)")),
        (json!({"nbf": NOW + 300}), Ok(())),
        (json!({"nbf": NOW + 301}), Err("the token is not valid for another 301 s")),
        (json!({"nbf": "later"}), Err("the token is not valid for another 9223372036854775807 s")),
        (json!({"aud": "them"}), Err("the token is for \"them\", not for this audience")),
        (json!({"aud": ["a", "b"]}), Err("the token is for \"a, b\", not for this audience")),
        (json!({"aud": null}), Err("the token is for \"\", not for this audience")),
        (json!({"iss": "https://evil"}), Err("the issuer \"https://evil\" is not trusted here")),
        (json!({"iss": 7}), Err("the issuer \"\" is not trusted here")),
        (
            json!({"azp": "other"}),
            Err("the token's claim \"azp\" does not have the required value"),
        ),
    ];
    for (change, expected) in cases {
        let mut claims = claims(&standin);
        claims.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let token = key(0).token(&claims).unwrap();
        let found = verifier.verify(&token, moment(NOW)).await;
        let found = found.map(drop).map_err(|refusal| refusal.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{change}");
    }
    assert_eq!(standin.asked(), ["GET /metadata", "GET /keys"]);
}

#[tokio::test]
async fn a_token_that_was_not_signed_by_the_issuer_is_refused() {
    let standin = FakeEndpoint::start().await;
    publish(&standin, &[0]);
    let verifier = verifier(&standin);
    let good = key(0).token(&claims(&standin)).unwrap();
    let (header, rest) = good.split_once('.').unwrap();
    let (payload, signature) = rest.split_once('.').unwrap();
    let kid = key(0).id().to_owned();
    let forged = |header: Value, signature: &str| {
        format!("{}.{payload}.{signature}", URL_SAFE_NO_PAD.encode(header.to_string()))
    };
    let richer = URL_SAFE_NO_PAD.encode(claims(&standin).to_string().replace("ada", "root"));
    let stranger = key(1).token(&claims(&standin)).unwrap();
    let (_, stranger_signature) = stranger.rsplit_once('.').unwrap();
    let all = "RS256, RS384, RS512, PS256, ES256, ES384, EdDSA";
    let algorithm =
        |found: &str| format!("expected a token signed with one of {all}, found {found:?}");
    for (token, expected) in [
        (format!("{header}.{richer}.{signature}"), "the signature is wrong".into()),
        (format!("{header}.{payload}.{stranger_signature}"), "the signature is wrong".into()),
        (format!("{header}.{payload}."), "the signature is wrong".into()),
        (forged(json!({"alg": "none"}), ""), algorithm("none")),
        (forged(json!({"alg": "HS256", "kid": kid}), signature), algorithm("HS256")),
        (forged(json!({"alg": "RS512", "kid": kid}), signature), "the signature is wrong".into()),
        (forged(json!({"alg": "ES256", "kid": kid}), signature), "the signature is wrong".into()),
        (stranger.clone(), format!("the issuer has no key {:?}", key(1).id())),
        ("nonsense".to_owned(), "expected a signed JSON Web Token".into()),
    ] {
        let refusal = verifier.verify(&token, moment(NOW)).await.unwrap_err();
        assert_eq!(refusal.to_string(), expected, "{token}");
    }
    let identity = verifier.verify(&good, moment(NOW)).await.unwrap();
    assert_eq!(identity.subject.as_deref(), Some("ada"));
}

#[tokio::test]
async fn a_new_key_is_looked_for_once_a_minute() {
    let standin = FakeEndpoint::start().await;
    publish(&standin, &[0]);
    let verifier = verifier(&standin);
    let by = |number: usize| key(number).token(&claims(&standin)).unwrap();
    verifier.verify(&by(0), moment(NOW)).await.unwrap();
    publish(&standin, &[0, 1]);
    let unknown = verifier.verify(&by(1), moment(NOW + 59)).await.unwrap_err();
    assert_eq!(unknown, Refusal::UnknownKey(key(1).id().into()));
    assert_eq!(standin.asked().len(), 2);
    // Callers with a token by the new key wait for the one that fetches it.
    let token = by(1);
    let all = [(); 5].map(|()| verifier.verify(&token, moment(NOW + 60)));
    for verified in join_all(all).await {
        verified.unwrap();
    }
    assert_eq!(standin.asked().len(), 4);
    for _ in 0..5 {
        verifier.verify(&by(2), moment(NOW + 61)).await.unwrap_err();
    }
    assert_eq!(standin.asked().len(), 4);
}

#[tokio::test]
async fn keys_that_were_taken_back_are_forgotten() {
    let standin = FakeEndpoint::start().await;
    publish(&standin, &[0]);
    let verifier = verifier(&standin);
    let day = 24 * 60 * 60;
    let token = |now: i64| {
        let mut claims = claims(&standin);
        claims["exp"] = json!(now + 1);
        key(0).token(&claims).unwrap()
    };
    let at = async |now: i64| verifier.verify(&token(now), moment(now)).await;
    at(NOW).await.unwrap();
    standin.refuse("/metadata", StatusCode::BAD_GATEWAY, &json!(null));
    at(NOW + day).await.unwrap();
    let error = at(NOW + 3 * day).await.unwrap_err().to_string();
    assert!(error.starts_with("the issuer's keys cannot be read: http://127.0.0.1"), "{error}");
    assert!(error.contains("/metadata answered with HTTP status 502"), "{error}");
    publish(&standin, &[1]);
    let refusal = at(NOW + 3 * day + 5).await.unwrap_err();
    assert_eq!(refusal, Refusal::UnknownKey(key(0).id().into()));
}

#[tokio::test]
async fn keys_that_were_taken_back_after_the_clock_was_ahead_are_forgotten() {
    let standin = FakeEndpoint::start().await;
    publish(&standin, &[0]);
    let verifier = verifier(&standin);
    let mut claims = claims(&standin);
    let ahead = NOW + 40 * 24 * 60 * 60;
    claims["exp"] = json!(ahead + 1);
    let token = key(0).token(&claims).unwrap();
    verifier.verify(&token, moment(ahead)).await.unwrap();
    publish(&standin, &[1]);
    let refusal = verifier.verify(&token, moment(NOW)).await.unwrap_err();
    assert_eq!(refusal, Refusal::UnknownKey(key(0).id().into()));
}

#[tokio::test]
async fn metadata_of_somebody_else_is_not_believed() {
    let standin = FakeEndpoint::start().await;
    publish(&standin, &[0]);
    let token = key(0).token(&claims(&standin)).unwrap();
    for (metadata, expected) in [
        (json!({"issuer": "https://evil"}), "/: its issuer is https://evil"),
        (json!({"issuer": standin.url("/")}), "is not metadata with a jwks_uri"),
        (
            json!({"issuer": standin.url("/"), "jwks_uri": "http://keys.test/"}),
            "http://keys.test/: expected https, or http on loopback",
        ),
    ] {
        standin.answer("/metadata", &metadata);
        let refusal = verifier(&standin).verify(&token, moment(NOW)).await.unwrap_err();
        assert!(refusal.to_string().contains(expected), "{refusal}");
    }
    let keys = KeySource::keys(standin.url("/keys"), false).unwrap();
    let issuer = standin.url("/").to_string();
    let direct = Verifier::new([TrustedIssuer { issuer, keys }], ["us".to_owned()]);
    direct.verify(&token, moment(NOW)).await.unwrap();
}

#[tokio::test]
async fn a_slash_at_the_end_of_an_issuer_makes_no_difference() {
    let standin = FakeEndpoint::start().await;
    publish(&standin, &[0]);
    let token = key(0).token(&claims(&standin)).unwrap();
    let base = standin.url("/").to_string();
    let issuer = base.trim_end_matches('/').to_owned();
    let keys = KeySource::metadata(standin.url("/metadata"), false).unwrap();
    let trusted = TrustedIssuer { issuer: issuer.clone(), keys };
    let verifier = Verifier::new([trusted], ["us".to_owned()]);
    let identity = verifier.verify(&token, moment(NOW)).await.unwrap();
    assert_eq!(identity.issuer, issuer, "one caller has one name");
}

#[tokio::test]
async fn a_key_that_was_replaced_under_its_id_is_found() {
    let standin = FakeEndpoint::start().await;
    publish(&standin, &[1]);
    let mut former = key(0).public().clone();
    former.kid = Some(key(1).id().to_owned());
    standin.answer("/keys", &json!({"keys": [former]}));
    let verifier = verifier(&standin);
    let token = key(1).token(&claims(&standin)).unwrap();
    let at = async |now: i64| verifier.verify(&token, moment(now)).await.map(drop);
    assert_eq!(at(NOW).await, Err(Refusal::Signature));
    publish(&standin, &[1]);
    assert_eq!(at(NOW + 59).await, Err(Refusal::Signature));
    assert_eq!(at(NOW + 60).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_an_issuer_that_hangs_longer_than_for_one_request() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: url::Url = format!("http://{}/keys", listener.local_addr().unwrap()).parse().unwrap();
    let keys = KeySource::keys(url.clone(), false).unwrap();
    let issuer = "https://id.test".to_owned();
    let verifier = Verifier::new([TrustedIssuer { issuer, keys }], ["us".to_owned()]);
    let claims = json!({"iss": "https://id.test", "aud": "us", "sub": "ada", "exp": NOW + 600});
    let token = key(0).token(&claims).unwrap();
    let began = tokio::time::Instant::now();
    let all = [0, 3, 6, 9].map(|second| verifier.verify(&token, moment(NOW + second)));
    for verified in join_all(all).await {
        assert!(matches!(verified, Err(Refusal::Keys(FetchError::Timeout { .. }))));
    }
    assert_eq!(began.elapsed().as_secs(), 10);
    verifier.verify(&token, moment(NOW + 14)).await.unwrap_err();
    assert_eq!(began.elapsed().as_secs(), 10, "the pause begins at the end");
    verifier.verify(&token, moment(NOW + 16)).await.unwrap_err();
    assert_eq!(began.elapsed().as_secs(), 20);
}
