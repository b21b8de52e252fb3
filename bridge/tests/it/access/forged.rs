//! Tokens that are wrong in all the ways that they can be, and what each scheme asks those for who show nothing.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
#[cfg(feature = "grpc")]
use bridge_protocol::a2a::Operation;
use ring::{
    hmac,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Value, json};

use super::{AUDIENCE, ISSUER, guarded, key, secrets, tokens, ways::ApiCall};

/// Returns a request in every binding for something that any caller may have.
fn ways() -> Vec<ApiCall> {
    vec![
        ApiCall::Rpc("1.0", "ListTasks", json!({})),
        ApiCall::Rpc("0.3", "tasks/get", json!({"id": "none"})),
        ApiCall::Get("/a2a/tasks".to_owned()),
        ApiCall::Get("/a2a/v1/tasks".to_owned()),
        ApiCall::Post("/tasks/get".to_owned(), json!({})),
        ApiCall::Post("/execute".to_owned(), json!({})),
        #[cfg(feature = "grpc")]
        ApiCall::Grpc(Operation::ListTasks, json!({})),
    ]
}

fn claims(change: &Value) -> Value {
    let mut claims = json!({"iss": ISSUER, "sub": "me", "aud": AUDIENCE, "exp": 9_999_999_999_u64});
    for (name, value) in change.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims
}

/// Returns a token of this header and these claims, signed so.
fn signed(header: &Value, claims: &Value, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", encode(header), encode(claims));
    let signature = URL_SAFE_NO_PAD.encode(sign(message.as_bytes()));
    format!("{message}.{signature}")
}

fn by_issuer(message: &[u8]) -> Vec<u8> {
    key().sign(message).as_ref().to_vec()
}

/// Signed with the public key as if it were a secret that both sides have.
fn confused(secret: &[u8]) -> impl FnOnce(&[u8]) -> Vec<u8> {
    let secret = hmac::Key::new(hmac::HMAC_SHA256, secret);
    move |message| hmac::sign(&secret, message).as_ref().to_vec()
}

fn forged() -> Vec<(&'static str, String, &'static str)> {
    let header = |alg: &str| json!({"alg": alg, "kid": "k"});
    let eddsa = || header("EdDSA");
    let (plain, public) = (|| claims(&json!({})), key().public_key().as_ref().to_vec());
    let encoded = URL_SAFE_NO_PAD.encode(&public);
    let stranger = Ed25519KeyPair::from_seed_unchecked(&[8; 32]).unwrap();
    let claiming = |change: &Value| signed(&eddsa(), &claims(change), by_issuer);
    let good = claiming(&json!({}));
    let (head, rest) = good.split_once('.').unwrap();
    let (_, signature) = rest.split_once('.').unwrap();
    let richer = URL_SAFE_NO_PAD.encode(claims(&json!({"sub": "root"})).to_string());
    vec![
        (
            "not signed",
            signed(&json!({"alg": "none"}), &plain(), |_| Vec::new()),
            "expected a token signed with",
        ),
        (
            "the public key as a secret",
            signed(&header("HS256"), &plain(), confused(&public)),
            "expected a token signed with",
        ),
        (
            "the public key's text as a secret",
            signed(&header("HS256"), &plain(), confused(encoded.as_bytes())),
            "expected a token signed with",
        ),
        (
            "another algorithm than the key's",
            signed(&header("ES256"), &plain(), by_issuer),
            "the signature is wrong",
        ),
        (
            "another's key under the same name",
            signed(&eddsa(), &plain(), |message| stranger.sign(message).as_ref().to_vec()),
            "the signature is wrong",
        ),
        (
            "a key of its own in the header",
            signed(
                &json!({"alg": "EdDSA", "kid": "k", "jwk": {"kty": "OKP", "crv": "Ed25519",
                    "x": URL_SAFE_NO_PAD.encode(stranger.public_key())}}),
                &plain(),
                |message| stranger.sign(message).as_ref().to_vec(),
            ),
            "the signature is wrong",
        ),
        (
            "claims that were changed",
            format!("{head}.{richer}.{signature}"),
            "the signature is wrong",
        ),
        (
            "a key that nobody has",
            signed(&json!({"alg": "EdDSA", "kid": "new"}), &plain(), by_issuer),
            "the issuer has no key",
        ),
        ("expired", claiming(&json!({"exp": 1})), "the token expired"),
        ("without an end", claiming(&json!({"exp": null})), "expected a token with an expiry"),
        (
            "not valid yet",
            claiming(&json!({"nbf": 9_999_999_998_u64})),
            "the token is not valid for another",
        ),
        ("for somebody else", claiming(&json!({"aud": "another-agent"})), "not for this audience"),
        ("by somebody else", claiming(&json!({"iss": "https://evil.test"})), "is not trusted here"),
        ("about nobody", claiming(&json!({"sub": ""})), "expected a token with a subject"),
        ("nonsense", "guess".to_owned(), "expected a signed JSON Web Token"),
    ]
}

#[tokio::test]
async fn a_forged_token_is_refused() {
    let schemes = json!({"s": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
    let needed = json!([{"schemes": {"s": {"list": []}}}]);
    let app = guarded(&schemes, &needed, &[("s", tokens())]).await;
    for (what, token, expected) in forged() {
        for way in ways() {
            let told = way.ask(&app, &[("authorization", &format!("Bearer {token}"))]).await;
            assert_eq!(told.status, 401, "{what}: {told:?}");
            let [challenge] = &told.challenges[..] else {
                panic!("{what}: {told:?}");
            };
            let start = "Bearer realm=\"echo\", error=\"invalid_token\", error_description=\"";
            let why = challenge.strip_prefix(start);
            assert!(why.is_some_and(|why| why.contains(expected)), "{what}: {challenge}");
            assert!(told.text.contains(expected), "{what}: {told:?}");
            assert!(!told.text.contains(&token), "{what}: {told:?}");
        }
    }
    let good = signed(&json!({"alg": "EdDSA", "kid": "k"}), &claims(&json!({})), by_issuer);
    for way in ways() {
        let told = way.ask(&app, &[("authorization", &format!("Bearer {good}"))]).await;
        assert!(told.status == 200 || told.status == 404, "{told:?}");
    }
}

#[tokio::test]
async fn each_scheme_says_what_to_show() {
    let key = |at: &str| json!({"apiKeySecurityScheme": {"location": at, "name": "X-Key"}});
    let http = |scheme: &str| json!({"httpAuthSecurityScheme": {"scheme": scheme}});
    let oauth = json!({"oauth2SecurityScheme": {"flows": {"clientCredentials": {
        "tokenUrl": "https://id.test/token", "scopes": {}}}}});
    let oidc = json!({"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://id.test/m"}});
    let mutual = json!({"mtlsSecurityScheme": {}});
    let known = || secrets(&[("me", "s3cret")]);
    let certificates = bridge::access::Check {
        certificates: Some(bridge::access::Certificates::default()),
        ..Default::default()
    };
    let bearer = "Bearer realm=\"echo\"";
    for (scheme, check, expected) in [
        (http("Bearer"), tokens(), bearer),
        (oauth, tokens(), bearer),
        (oidc, tokens(), bearer),
        (http("Basic"), known(), "Basic realm=\"echo\", charset=\"UTF-8\""),
        (key("header"), known(), "ApiKey realm=\"echo\", in=\"header\", name=\"x-key\""),
        (key("query"), known(), "ApiKey realm=\"echo\", in=\"query\", name=\"X-Key\""),
        (key("cookie"), known(), "ApiKey realm=\"echo\", in=\"cookie\", name=\"X-Key\""),
        (mutual, certificates, "Certificate realm=\"echo\""),
    ] {
        let needed = json!([{"schemes": {"s": {"list": []}}}]);
        let app = guarded(&json!({"s": scheme}), &needed, &[("s", check)]).await;
        for way in ways() {
            let told = way.ask(&app, &[]).await;
            assert_eq!((told.status, &told.challenges[..]), (401, &[expected.to_owned()][..]));
        }
    }
}
