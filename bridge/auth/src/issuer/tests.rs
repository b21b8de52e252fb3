//! Tests of the claims of tokens and of the keys that sign them.

use super::*;
use crate::{
    Verify as _,
    jws::Jws,
    testing::{PEM_KEYS, moment, pem_file},
};

fn for_bot(audience: &str) -> Subject {
    Subject {
        audience: audience.into(),
        subject: None,
        service_url: Some("https://bridge.test/v3/x".into()),
    }
}

#[tokio::test]
async fn a_token_has_issuer_audience_and_lifetime() {
    let settings = IssuerSettings::new("https://bridge.test/");
    let issuer = Issuer::open(settings, moment(0)).await.unwrap();
    let token = issuer.token(&for_bot("app"), moment(7)).await.unwrap();
    let jws = Jws::parse(token.expose()).unwrap();
    assert_eq!(
        Value::Object(jws.claims),
        json!({
            "iss": "https://bridge.test", "aud": "app", "iat": 7, "nbf": 7, "exp": 607,
            "serviceurl": "https://bridge.test/v3/x",
        })
    );
    let keys = issuer.jwks(moment(7)).keys;
    assert_eq!(jws.header.kid, keys[0].kid);
    assert!(keys[0].verifies(Algorithm::Rs256, jws.message, &jws.signature));
}

#[tokio::test]
async fn another_key_signs_what_is_not_for_bots() {
    for (pem, algorithm) in PEM_KEYS {
        let (_folder, path) = pem_file(pem);
        let key = PrivateKey::read(&path, None).unwrap();
        let issuer = Issuer::open(IssuerSettings::new("i"), moment(0)).await;
        let issuer = issuer.unwrap().with_key(key);
        let keys = issuer.jwks(moment(1)).keys;
        let pushed = issuer.sign(json!({"aud": "hook"}), moment(1)).await;
        let for_bot = issuer.token(&for_bot("app"), moment(1)).await;
        for (token, algorithm, key) in
            [(for_bot.unwrap(), Algorithm::Rs256, &keys[0]), (pushed.unwrap(), algorithm, &keys[1])]
        {
            let jws = Jws::parse(token.expose()).unwrap();
            assert_eq!(jws.header.kid, key.kid);
            assert!(key.verifies(algorithm, jws.message, &jws.signature));
            assert_eq!((&jws.claims["iss"], &jws.claims["exp"]), (&json!("i"), &json!(601)));
        }
    }
}

#[tokio::test]
async fn a_token_is_used_again_until_it_is_nearly_over() {
    let issuer = Issuer::open(IssuerSettings::new("i"), moment(0)).await.unwrap();
    let first = issuer.token(&for_bot("a"), moment(0)).await.unwrap();
    assert_eq!(issuer.token(&for_bot("a"), moment(449)).await.unwrap(), first);
    assert_ne!(issuer.token(&for_bot("b"), moment(449)).await.unwrap(), first);
    let second = issuer.token(&for_bot("a"), moment(450)).await.unwrap();
    assert_ne!(second, first);
}

#[tokio::test]
async fn keys_outlive_the_program_and_follow_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let settings =
        IssuerSettings { keys: Some(folder.path().join("keys.json")), ..IssuerSettings::new("i") };
    let issuer = Issuer::open(settings.clone(), moment(0)).await.unwrap();
    let first = issuer.jwks(moment(0)).keys;
    drop(issuer);
    let issuer = Issuer::open(settings.clone(), moment(5)).await.unwrap();
    assert_eq!(issuer.jwks(moment(5)).keys, first);
    let month = moment(30 * 24 * 60 * 60);
    issuer.token(&for_bot("a"), month).await.unwrap();
    let both = issuer.jwks(month).keys;
    assert_eq!((both.len(), &both[..1]), (2, &first[..]));
    let issuer = Issuer::open(settings, month).await.unwrap();
    assert_eq!(issuer.jwks(month).keys, both);
}

#[tokio::test]
async fn a_key_that_could_not_be_stored_is_tried_again_after_a_pause() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("issuer");
    let settings =
        IssuerSettings { keys: Some(place.join("keys.json")), ..IssuerSettings::new("i") };
    let issuer = Issuer::open(settings, moment(0)).await.unwrap();
    std::fs::remove_dir_all(&place).unwrap();
    std::fs::write(&place, "no folder").unwrap();
    let month = 30 * 24 * 60 * 60;
    let count = async |after: i64| {
        let now = moment(month + after);
        issuer.sign(json!({"aud": "hook"}), now).await.unwrap();
        issuer.jwks(now).keys.len()
    };
    assert_eq!(count(0).await, 1);
    std::fs::remove_file(&place).unwrap();
    assert_eq!(count(60).await, 1);
    assert_eq!(count(60 * 60).await, 2);
}
