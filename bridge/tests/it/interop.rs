//! Clients of others go through every kind of conversation with the program. Their programs are in `tests/interop/`,
//! with a table of the tested ones; their known faults are in `KNOWN.md` there.

mod cli;
#[cfg(feature = "grpc")]
mod services;
mod shown;
mod table;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use bridge_client::Signers;
use serde_json::Value;
use tokio::process::Command;

use crate::{
    node, official,
    program::{Bridge, run},
    venv,
};

/// Longer than a client waits by itself.
const LIMIT: Duration = Duration::from_secs(600);

#[tokio::test]
async fn a2a_sdk_speaks_1_0() {
    converse("a2a_sdk_1_0.py", &venv::A2A_SDK_1_0).await;
}

#[tokio::test]
async fn a2a_sdk_speaks_0_3() {
    converse("a2a_sdk_0_3.py", &venv::A2A_SDK_0_3).await;
}

#[tokio::test]
async fn a2a_sdk_of_1_0_speaks_0_3() {
    converse("a2a_sdk_1_0_as_0_3.py", &venv::A2A_SDK_1_0).await;
}

#[tokio::test]
async fn a2a_sdk_is_pushed_to_in_1_0() {
    converse("push_1_0.py", &venv::A2A_SDK_1_0).await;
}

#[tokio::test]
async fn a2a_sdk_is_pushed_to_in_0_3() {
    converse("push_0_3.py", &venv::A2A_SDK_0_3).await;
}

#[tokio::test]
async fn python_a2a_speaks_0_1() {
    converse("python_a2a_0_1.py", &["python-a2a==0.5.10"]).await;
}

#[tokio::test]
async fn the_js_sdk_speaks_1_0() {
    js(&["JSONRPC", "HTTP+JSON", "GRPC"], "1.0").await;
}

#[tokio::test]
async fn the_js_sdk_speaks_0_3() {
    js(&["JSONRPC", "HTTP+JSON", "GRPC"], "0.3").await;
}

/// Lets the client in JavaScript talk over each of these transports.
async fn js(transports: &[&str], version: &str) {
    let modules = node::with(&node::A2A_JS_SDK).await;
    for transport in transports {
        let bridge = serve();
        let mut command = Command::new("node");
        command.env("NODE_PATH", &modules).arg(interop("a2a_js_sdk.mjs")).args([
            bridge.url(),
            transport,
            version,
        ]);
        let (passed, said) = run(&mut command, LIMIT).await;
        assert!(passed, "{version} over {transport}:\n{said}");
    }
}

/// General clients of server-sent events lose no event when their connection is cut.
#[tokio::test]
async fn event_sources_resume_a_stream_that_is_cut() {
    let modules = node::with(&node::EVENT_SOURCES).await;
    let bridge = Bridge::serve(&["--store", "memory", "--builtin", "sample"]);
    let mut command = Command::new("node");
    command.env("NODE_PATH", &modules).arg(interop("event_sources.mjs")).arg(bridge.url());
    let (passed, said) = run(&mut command, LIMIT).await;
    assert!(passed, "{said}");
}

/// The browser asks whether the page may send the token and the version, and reads errors only if the bridge lets it.
#[tokio::test]
async fn the_js_sdk_speaks_from_a_web_page() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page.key"), "key-of-the-page").unwrap();
    let agent = |name| {
        format!(
            "[[agents]]\nname = '{name}'\nbuiltin = '{name}'\n\
             [agents.card]\nsecurity = [{{ key = [] }}]\n\
             [agents.card.security_schemes.key.httpAuthSecurityScheme]\nscheme = 'Bearer'\n\
             [agents.access.key.secrets]\npage = {{ file = 'page.key' }}\n"
        )
    };
    let beginning = "store = 'memory'\ncors.origins = ['*']\npush.allow = ['loopback']\n";
    let config = folder.path().join("bridge.toml");
    fs::write(&config, [beginning, &agent("sample"), &agent("hanging")].concat()).unwrap();
    let modules = node::with(&node::A2A_JS_SDK).await;
    for transport in ["JSONRPC", "HTTP+JSON"] {
        let bridge = Bridge::serve(&["--config", config.to_str().unwrap()]);
        let mut page = Command::new("node");
        page.env("NODE_PATH", &modules).arg(interop("a2a_js_sdk_page.mjs"));
        page.args([bridge.url(), transport, "1.0", "key-of-the-page"]);
        let (passed, said) = run(&mut page, LIMIT).await;
        assert!(passed, "from a page over {transport}:\n{said}");
    }
}

#[tokio::test]
async fn auditors_find_nothing_but_what_is_known() {
    converse("auditors.py", &["a2a-doctor==0.4.0", "a2a-lint==0.1.1"]).await;
}

#[tokio::test]
async fn a2a_proof_keeps_its_contract_over_every_binding() {
    let python = venv::with(&["a2a-proof==0.16.0"]).await.join("bin/python");
    for (card, transports) in [
        (&[][..], &["JSONRPC", "HTTP+JSON"][..]),
        #[cfg(feature = "grpc")]
        (&["--grpc-card=url"], &["JSONRPC", "HTTP+JSON", "GRPC"]),
    ] {
        let agents = ["--store", "memory", "--builtin", "sample", "--builtin", "echo"];
        let bridge = Bridge::serve(&[&agents, card].concat());
        let mut client = Command::new(&python);
        client.arg(interop("a2a_proof.py")).arg(bridge.url());
        let (passed, said) = run(client.args(transports), LIMIT).await;
        assert!(passed, "with {card:?}:\n{said}");
    }
}

#[tokio::test]
async fn a2a_sdk_and_the_bridge_believe_each_others_signatures() {
    let folder = tempfile::tempdir().unwrap();
    let (config, key) = (folder.path().join("bridge.toml"), folder.path().join("key.pem"));
    let text = "store = 'memory'\ncard_key = { file = 'key.pem', id = 'our-key' }\n\
                [[agents]]\nname = 'echo'\nbuiltin = 'echo'\n\
                [agents.card]\ndescription = 'Says \u{e9} again'\nsecurity = [{ key = [] }]\n\
                [agents.card.security_schemes.key.apiKeySecurityScheme]\nlocation = 'header'\nname = 'X-Key'\n\
                [agents.access.key.secrets]\nme = { file = 'key.pem' }\n";
    fs::write(&config, text).unwrap();
    let python = venv::with(&venv::A2A_SDK_1_0).await.join("bin/python");
    for algorithm in ["EdDSA", "ES256"] {
        make_key(&python, algorithm, &key).await;
        let bridge = Bridge::serve(&["--config", config.to_str().unwrap()]);
        let signed = folder.path().join("signed.json");
        let mut client = Command::new(&python);
        client.arg(interop("card_signing.py")).arg(bridge.url()).arg(&signed);
        let (passed, said) = run(&mut client, LIMIT).await;
        assert!(passed, "a2a-sdk does not believe our signature:\n{said}");
        let mut both: Value = serde_json::from_slice(&fs::read(&signed).unwrap()).unwrap();
        let signers = Signers::keys([serde_json::from_value(both["key"].take()).unwrap()]);
        let seen = signers.verify(&both["card"], &BTreeMap::new());
        assert_eq!(seen.unwrap().key_id, "sdk-key");
    }
}

#[tokio::test]
async fn pyjwt_believes_what_is_pushed() {
    let folder = tempfile::tempdir().unwrap();
    let (config, key) = (folder.path().join("bridge.toml"), folder.path().join("key.pem"));
    let python = venv::with(&venv::A2A_SDK_1_0).await.join("bin/python");
    for (algorithm, signing) in [
        ("RS256", "signed = true"),
        ("ES256", "key.file = 'key.pem'"),
        ("EdDSA", "key = { file = 'key.pem', id = 'our-key' }"),
    ] {
        if algorithm != "RS256" {
            make_key(&python, algorithm, &key).await;
        }
        let text = format!(
            "store = 'memory'\n[push]\nallow = ['loopback']\n{signing}\n\
             [[agents]]\nname = 'sample'\nbuiltin = 'sample'\n"
        );
        fs::write(&config, text).unwrap();
        let bridge = Bridge::serve(&["--config", config.to_str().unwrap()]);
        let mut receiver = Command::new(&python);
        receiver.arg(interop("push_signed.py")).arg(bridge.url());
        let (passed, said) = run(receiver.arg(algorithm), LIMIT).await;
        assert!(passed, "PyJWT does not believe {algorithm}:\n{said}");
    }
}

/// Creates a key that only its owner can read, with the signers' own library.
async fn make_key(python: &Path, algorithm: &str, key: &Path) {
    let mut make = Command::new(python);
    make.arg(interop("card_key.py")).arg(algorithm).arg(key);
    let (done, said) = run(&mut make, LIMIT).await;
    assert!(done, "{said}");
    fs::set_permissions(key, fs::Permissions::from_mode(0o600)).unwrap();
}

#[tokio::test]
async fn a2a_client_lf_speaks_1_0() {
    let client = official::program("a2a_client_lf").await;
    talk("a2a_client_lf", Command::new(client)).await;
}

/// Lets a client in Python talk, in an environment with these packages.
async fn converse(client: &str, packages: &[&str]) {
    let mut command = Command::new(venv::with(packages).await.join("bin/python"));
    command.arg(interop(client));
    talk(client, command).await;
}

/// Runs a client with a separate bridge; its checks are those of this test.
async fn talk(client: &str, mut command: Command) {
    let bridge = serve();
    let (passed, said) = run(command.arg(bridge.url()), LIMIT).await;
    println!("{said}");
    assert!(passed, "{client} saw what it did not expect:\n{said}");
}

fn serve() -> Bridge {
    let builtins = ["sample", "echo", "hanging"].map(|name| ["--builtin", name]);
    let settings = [
        "--store",
        "memory",
        "--push-allow",
        "loopback",
        #[cfg(feature = "grpc")]
        "--grpc-card",
    ];
    Bridge::serve(&[&settings, builtins.as_flattened()].concat())
}

pub(crate) fn interop(file: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop");
    PathBuf::from(folder).join(file)
}
