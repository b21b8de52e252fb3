//! Helpers for the tests of this module: keys, times, and a fake endpoint.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    sync::{Arc, LazyLock, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use jiff::Timestamp;
use serde_json::Value;
use tokio::net::TcpListener;
use url::Url;

use super::{Algorithm, PrivateKey, keyring::StoredKey};

/// Returns one of three keys, which are created once for all tests.
pub(super) fn key(number: usize) -> Arc<PrivateKey> {
    stored_key(number, Timestamp::UNIX_EPOCH).key
}

/// Returns the same key, created at this time.
pub(super) fn stored_key(number: usize, made: Timestamp) -> StoredKey {
    static KEYS: LazyLock<[StoredKey; 3]> =
        LazyLock::new(|| [(); 3].map(|()| StoredKey::make(Timestamp::UNIX_EPOCH).unwrap()));
    StoredKey { made, ..KEYS[number].clone() }
}

/// Keys made by openssl genpkey, used only here.
pub(super) const PEM_KEYS: [(&str, Algorithm); 2] = [
    ("MC4CAQAwBQYDK2VwBCIEIJ63aLLePOZFicbb+C0/w2nkGnf5M8erqxdWCX+ft3Vf", Algorithm::EdDsa),
    (ECDSA_KEY, Algorithm::Es256),
];
const ECDSA_KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgcCU4gz0ZbSkcAPKp38PtKy+cpCdlgLQFp6TKdJxQipOhRANCAAS5wwhftLh3HThvlEk5GrH3b57VKghjItsQq0IGiJrhgN2ec7N+MS03xLky+DccFEYpXG2gw24b8LPOO7SVKdks";

/// Returns a private file with one of these keys; it exists as long as the folder.
pub(super) fn pem_file(key: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.pem");
    fs::write(&path, wrapped(key)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    (folder, path)
}

pub(super) fn wrapped(key: &str) -> String {
    format!("-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----\n")
}

/// Returns the time this many seconds after the epoch.
pub(super) fn moment(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

type Answers = Arc<Mutex<BTreeMap<String, (StatusCode, String)>>>;
type Asked = Arc<Mutex<Vec<String>>>;

/// A fake endpoint on a real socket, with answers by path, which records its requests.
pub(super) struct FakeEndpoint {
    base: Url,
    answers: Answers,
    asked: Asked,
}

impl FakeEndpoint {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (answers, asked) = (Answers::default(), Asked::default());
        let app = Router::new().fallback(handle).with_state((answers.clone(), asked.clone()));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { base: base.parse().unwrap(), answers, asked }
    }

    pub(super) fn url(&self, path: &str) -> Url {
        self.base.join(path).unwrap()
    }

    pub(super) fn answer(&self, path: &str, answer: &Value) {
        self.refuse(path, StatusCode::OK, answer);
    }

    pub(super) fn refuse(&self, path: &str, status: StatusCode, answer: &Value) {
        let mut answers = self.answers.lock().unwrap();
        answers.insert(path.to_owned(), (status, answer.to_string()));
    }

    /// Returns the requests: method, path and query, the header `metadata`, the body.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn handle(State((answers, asked)): State<(Answers, Asked)>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let mut line = format!("{} {}", parts.method, parts.uri);
    if let Some(header) = parts.headers.get("metadata") {
        line += &format!(" metadata={}", header.to_str().unwrap());
    }
    if !body.is_empty() {
        line += &format!(" {}", String::from_utf8_lossy(&body));
    }
    asked.lock().unwrap().push(line);
    match answers.lock().unwrap().get(parts.uri.path()) {
        Some(answer) => answer.clone().into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
