//! Tests with a registry that requires a token from a token server (distribution's "Token Authentication").

use std::sync::{Arc, Mutex};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::{HeaderMap, Response, StatusCode, Uri, header::AUTHORIZATION},
    response::IntoResponse as _,
};
use bridge_client::registry::{Registry, RegistryAuth, RegistryError, RegistryOptions};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

/// A request and its authorization.
type Log = Arc<Mutex<Vec<String>>>;

/// `me:hunter2`
const BASIC: &str = "Basic bWU6aHVudGVyMg==";

#[derive(Clone)]
struct Server {
    asked: Log,
    /// The address of the token server.
    realm: String,
    /// What the token server answers to the password.
    granted: Value,
}

async fn answer(State(server): State<Server>, uri: Uri, headers: HeaderMap) -> Response<Body> {
    let shown = headers.get(AUTHORIZATION);
    let shown = shown.map_or("nothing", |value| value.to_str().unwrap());
    server.asked.lock().unwrap().push(format!("{uri} {shown}"));
    match (uri.path(), shown) {
        ("/token", BASIC) => Json(server.granted).into_response(),
        ("/token", _) => Json(json!({"token": "for everybody"})).into_response(),
        (_, "Bearer t-1") => Json(json!({"name": "a/b", "tags": ["v1"]})).into_response(),
        _ => {
            let challenge = format!(
                "Bearer realm=\"{}\",service=\"reg\",scope=\"repository:a/b:pull\"",
                server.realm
            );
            (StatusCode::UNAUTHORIZED, [("www-authenticate", challenge)]).into_response()
        }
    }
}

async fn served(realm: Option<&str>) -> (Url, Log) {
    granting(realm, json!({"access_token": "t-1"})).await
}

async fn granting(realm: Option<&str>, granted: Value) -> (Url, Log) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Log::default();
    let realm = realm.map_or_else(|| format!("{url}/token"), str::to_owned);
    let server = Server { asked: asked.clone(), realm, granted };
    let app = Router::new().fallback(answer).with_state(server);
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url.parse().unwrap(), asked)
}

fn registry(url: &Url, auth: RegistryAuth) -> Registry {
    let options = RegistryOptions { auth, ..RegistryOptions::default() };
    Registry::new(url, options).unwrap()
}

fn me() -> RegistryAuth {
    RegistryAuth::Basic("me".into(), "hunter2".into())
}

#[tokio::test]
async fn a_token_is_had_once_and_shown_from_then_on() {
    let (url, asked) = served(None).await;
    let registry = registry(&url, me());
    assert_eq!(registry.tags("a/b").await.unwrap(), ["v1"]);
    assert_eq!(registry.tags("a/b").await.unwrap(), ["v1"]);
    let (first, next) = ("/v2/a/b/tags/list?n=100", "/v2/a/b/tags/list?n=100&last=v1");
    let expected = [
        format!("{first} nothing"),
        format!("/token?service=reg&scope=repository%3Aa%2Fb%3Apull {BASIC}"),
        format!("{first} Bearer t-1"),
        format!("{next} Bearer t-1"),
        format!("{first} Bearer t-1"),
        format!("{next} Bearer t-1"),
    ];
    assert_eq!(*asked.lock().unwrap(), expected);
}

/// Docker Hub sends the token under both of its names.
#[tokio::test]
async fn a_token_may_have_two_names() {
    for granted in [json!({"token": "t-1"}), json!({"token": "t-1", "access_token": "t-1"})] {
        let (url, _) = granting(None, granted).await;
        assert_eq!(registry(&url, me()).tags("a/b").await.unwrap(), ["v1"]);
    }
}

#[tokio::test]
async fn a_token_that_is_not_accepted_is_reported() {
    let (url, _) = served(None).await;
    for auth in [RegistryAuth::Anonymous, RegistryAuth::Bearer("old".into())] {
        let error = registry(&url, auth).tags("a/b").await.unwrap_err();
        assert!(matches!(error, RegistryError::Unauthorized(_)), "{error}");
    }
    let given = registry(&url, RegistryAuth::Bearer("t-1".into()));
    assert_eq!(given.tags("a/b").await.unwrap(), ["v1"]);
}

/// Some registries require uploads to another host, whose authorization is in the location.
#[tokio::test]
async fn an_upload_to_another_host_takes_no_credentials_along() {
    let (storage, asked) = served(None).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: Url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let location = storage.join("/stored?state=7").unwrap().to_string();
    let app = Router::new().fallback(async move |headers: HeaderMap| {
        match headers.contains_key(AUTHORIZATION) {
            true => (StatusCode::ACCEPTED, [("location", location)]),
            false => {
                let challenge = "Basic realm=\"r\"".to_owned();
                (StatusCode::UNAUTHORIZED, [("www-authenticate", challenge)])
            }
        }
    });
    tokio::spawn(async move { axum::serve(listener, app).await });
    let card = json!({"name": "n", "url": "http://agent.test", "skills": []});
    let error = registry(&url, me()).push("a/b", "v1", &card).await.unwrap_err();
    // The storage wants a token for everything.
    assert!(matches!(error, RegistryError::Unauthorized(_)), "{error}");
    let asked = asked.lock().unwrap().join("\n");
    let (first, rest) = asked.split_once('%').unwrap();
    assert_eq!(first, "/stored?state=7&digest=sha256");
    assert!(rest.ends_with(" nothing") && !rest.contains('\n'), "{asked}");
}

/// The password is sent to the token server that the registry names.
#[tokio::test]
async fn a_password_goes_nowhere_in_clear() {
    let (url, _) = served(Some("http://auth.test/token")).await;
    let error = registry(&url, me()).tags("a/b").await.unwrap_err();
    let told = error.to_string();
    assert!(told.ends_with("use https://auth.test"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
}
