//! Tests with endpoints on real sockets, and time as an argument.

use super::*;
use crate::{
    IssuerSettings,
    testing::{FakeEndpoint, moment},
};
use axum::http::StatusCode;
use serde_json::json;

fn client_secret(standin: &FakeEndpoint) -> Tokens {
    let grant = Grant::ClientSecret {
        endpoint: standin.url("/tenant/token?x=1"),
        client_id: "me".into(),
        secret: Secret::new("hunter2"),
        scope: "app/.default".into(),
    };
    Tokens::granted(grant, false).unwrap()
}

#[tokio::test]
async fn one_token_request_serves_all_waiting_callers() {
    let standin = FakeEndpoint::start().await;
    standin.answer("/tenant/token", &json!({"access_token": "t1", "expires_in": 100}));
    let credential = client_secret(&standin);
    let asked = (0..20).map(|_| credential.token("s", moment(0)));
    for token in futures_util::future::join_all(asked).await {
        assert_eq!(token.unwrap().expose(), "t1");
    }
    assert_eq!(
        standin.asked(),
        ["POST /tenant/token?x=1 grant_type=client_credentials&client_id=me\
             &scope=app%2F.default&client_secret=hunter2"]
    );
}

#[tokio::test]
async fn a_token_is_renewed_early_and_used_while_it_cannot_be() {
    let standin = FakeEndpoint::start().await;
    standin.answer("/tenant/token", &json!({"access_token": "t1", "expires_in": 100}));
    let credential = client_secret(&standin);
    let at = async |second| credential.token("s", moment(second)).await;
    assert_eq!(at(0).await.unwrap().expose(), "t1");
    assert_eq!(at(79).await.unwrap().expose(), "t1");
    assert_eq!(standin.asked().len(), 1);
    standin.refuse("/tenant/token", StatusCode::SERVICE_UNAVAILABLE, &json!("down"));
    assert_eq!(at(80).await.unwrap().expose(), "t1");
    assert_eq!(at(81).await.unwrap().expose(), "t1");
    assert_eq!(standin.asked().len(), 2, "a failed endpoint is left alone for a moment");
    let error = at(95).await.unwrap_err().to_string();
    assert!(error.ends_with("/tenant/token answered with HTTP status 503: \"down\""), "{error}");
    standin.answer("/tenant/token", &json!({"access_token": "t2", "expires_in": 100}));
    assert_eq!(at(98).await.unwrap().expose(), "t2");
}

#[tokio::test]
async fn a_token_is_not_used_longer_after_the_clock_was_set_back() {
    let standin = FakeEndpoint::start().await;
    let credential = client_secret(&standin);
    for (second, token) in [(1_000, "t1"), (0, "t2")] {
        standin.answer("/tenant/token", &json!({"access_token": token, "expires_in": 100}));
        let got = credential.token("s", moment(second)).await;
        assert_eq!(got.unwrap().expose(), token);
    }
}

#[tokio::test]
async fn an_error_names_the_endpoint_and_no_secret() {
    let standin = FakeEndpoint::start().await;
    let told = json!({"error": "invalid_client", "error_description": "hunter2 is wrong"});
    standin.refuse("/tenant/token", StatusCode::UNAUTHORIZED, &told);
    let error = client_secret(&standin).token("s", moment(0)).await.unwrap_err();
    let url = standin.url("/tenant/token");
    let expected =
        format!("no token: {url} answered with HTTP status 401: invalid_client: *** is wrong");
    assert_eq!(error.to_string(), expected);
    standin.answer("/tenant/token", &json!({"access_token": 1}));
    let error = client_secret(&standin).token("s", moment(0)).await.unwrap_err();
    let expected = format!("no token: the answer of {url} is not an object with an access_token");
    assert_eq!(error.to_string(), expected);
    let nobody = Tokens::granted(
        Grant::ClientSecret {
            endpoint: "http://login.test/token".parse().unwrap(),
            client_id: "me".into(),
            secret: Secret::new("hunter2"),
            scope: "s".into(),
        },
        false,
    );
    let error = nobody.unwrap().token("s", moment(0)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "no token: http://login.test/token: expected https, or http on loopback"
    );
}

#[tokio::test]
async fn an_assertion_takes_the_place_of_a_secret() {
    let standin = FakeEndpoint::start().await;
    standin.answer("/token", &json!({"access_token": "t"}));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("assertion");
    let grant = |assertion| Grant::Federated {
        endpoint: standin.url("/token"),
        client_id: "me".into(),
        assertion,
        scope: "s".into(),
    };
    let credential = Tokens::granted(grant(Assertion::File(path.clone())), false).unwrap();
    let error = credential.token("s", moment(0)).await.unwrap_err().to_string();
    assert!(error.contains(&format!("the assertion in {}: ", path.display())), "{error}");
    std::fs::write(&path, "aaa.bbb.ccc\n").unwrap();
    assert_eq!(credential.token("s", moment(3)).await.unwrap().expose(), "t");
    let asked = standin.asked();
    assert!(asked[0].ends_with("jwt-bearer&client_assertion=aaa.bbb.ccc"), "{asked:?}");
    let issuer = Issuer::open(IssuerSettings::new("https://b"), moment(0)).await.unwrap();
    let subject = Subject {
        audience: "api://AzureADTokenExchange".into(),
        subject: Some("me".into()),
        service_url: None,
    };
    let issuer = Arc::new(issuer);
    let own = grant(Assertion::Own { issuer, subject });
    let own = Tokens::granted(own, false).unwrap();
    assert_eq!(own.token("s", moment(0)).await.unwrap().expose(), "t");
    assert!(standin.asked()[1].contains("&client_assertion=ey"));
}

#[tokio::test]
async fn a_machine_has_an_identity() {
    let standin = FakeEndpoint::start().await;
    let expires = moment(3600).as_second().to_string();
    let answer = json!({"access_token": "t", "expires_on": expires, "token_type": "Bearer"});
    standin.answer("/identity", &answer);
    let grant = Grant::ManagedIdentity {
        endpoint: standin.url("/identity"),
        api_version: "2018-02-01".into(),
        header: ("Metadata".into(), Secret::new("true")),
        client_id: Some("me".into()),
        resource: "app".into(),
    };
    let credential = Tokens::granted(grant, false).unwrap();
    assert_eq!(credential.token("s", moment(0)).await.unwrap().expose(), "t");
    credential.token("s", moment(3000)).await.unwrap();
    assert_eq!(
        standin.asked(),
        ["GET /identity?api-version=2018-02-01&resource=app&client_id=me metadata=true"]
    );
}

#[tokio::test]
async fn the_own_issuer_says_where_the_bot_answers() {
    let issuer = Issuer::open(IssuerSettings::new("https://b"), moment(0)).await.unwrap();
    let credential = Tokens::own(Arc::new(issuer), "app");
    let token = credential.token("https://b/v3/x", moment(0)).await.unwrap();
    let claims = crate::jws::Jws::parse(token.expose()).unwrap().claims;
    assert_eq!(claims["serviceurl"], "https://b/v3/x");
    assert_eq!(claims["aud"], "app");
}
