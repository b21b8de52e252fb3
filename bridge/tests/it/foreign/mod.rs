//! Tests our client with agents on the SDKs of others: each goes through the whole life of a task, over every binding
//! that its card names; agents of frameworks, which support less, are tested with the program. The agents are in
//! `tests/interop/servers/`; their known faults are in `KNOWN.md` beside them.

mod frameworks;
mod life;

use std::{path::PathBuf, process::Command, time::Duration};

use bridge_client::{Binding, Client, Options};
use bridge_protocol::dialect::Version;
use futures_util::future::join_all;
use url::Url;

use self::life::{Life, live};
use crate::{node, official, program::Bridge, venv};

/// The abilities of every agent of 1.0.
const WHOLE: Life = Life {
    streams: true,
    tells_cancel: true,
    lists: true,
    pushes: true,
    lists_pushes: true,
    extends: true,
};

#[tokio::test]
async fn a2a_sdk_is_spoken_to_in_1_0_and_in_0_3_over_grpc() {
    let agent = python("a2a_sdk_1_0.py", &venv::A2A_SDK_1_0).await;
    for binding in Binding::ALL {
        speak(&agent, Version::V1_0, binding, WHOLE).await;
    }
    let life = Life { lists: false, ..WHOLE };
    speak(&agent, Version::V0_3, Binding::Grpc, life).await;
}

#[tokio::test]
async fn a2a_sdk_is_spoken_to_in_0_3() {
    let agent = python("a2a_sdk_0_3.py", &venv::A2A_SDK_0_3).await;
    let life = Life { tells_cancel: false, lists: false, ..WHOLE };
    speak(&agent, Version::V0_3, Binding::JsonRpc, life).await;
    let life = Life { lists_pushes: false, ..life };
    for binding in [Binding::HttpJson, Binding::Grpc] {
        speak(&agent, Version::V0_3, binding, life).await;
    }
}

async fn js_sdk() -> Bridge {
    let modules = node::with(&node::A2A_JS_SDK).await;
    let mut node = Command::new("node");
    node.arg(interop("a2a_js_sdk.mjs")).env("NODE_PATH", modules);
    Bridge::listening(&mut node)
}

#[tokio::test]
async fn the_js_sdk_is_spoken_to_in_1_0_and_0_3() {
    let agent = js_sdk().await;
    for binding in Binding::ALL {
        speak(&agent, Version::V1_0, binding, WHOLE).await;
    }
    let life = Life { lists: false, ..WHOLE };
    for binding in Binding::ALL {
        speak(&agent, Version::V0_3, binding, life).await;
    }
}

/// Node.js closes connections that have been silent for 5 s before it reads from them.
#[tokio::test]
async fn an_agent_that_blocks_its_only_thread_loses_no_message() {
    let agent = js_sdk().await;
    for binding in [Binding::JsonRpc, Binding::HttpJson] {
        let connect = || connect(&agent, Version::V1_0, binding);
        let clients = [connect().await, connect().await];
        for text in ["hi", "block", "block"] {
            join_all(clients.iter().map(|client| life::send(client, text, None))).await;
        }
    }
}

#[tokio::test]
async fn python_a2a_is_spoken_to_in_0_1() {
    let packages = ["python-a2a==0.5.10"];
    let agent = python("python_a2a_0_1.py", &packages).await;
    let life = Life {
        streams: false,
        tells_cancel: false,
        lists: false,
        pushes: false,
        lists_pushes: false,
        extends: false,
    };
    speak(&agent, Version::V0_1, Binding::JsonRpc, life).await;
}

#[tokio::test]
async fn a2a_server_lf_is_spoken_to_in_1_0() {
    let program = official::program("a2a_server_lf").await;
    let agent = Bridge::listening(&mut Command::new(program));
    for binding in Binding::ALL {
        speak(&agent, Version::V1_0, binding, WHOLE).await;
    }
}

/// Starts an agent in Python with these packages.
async fn python(agent: &str, packages: &[&str]) -> Bridge {
    let python = venv::with(packages).await.join("bin/python");
    Bridge::listening(Command::new(python).arg(interop(agent)))
}

async fn connect(agent: &Bridge, version: Version, binding: Binding) -> Client {
    let options = Options { version: Some(version), binding: Some(binding), ..Options::default() };
    Client::connect(&Url::parse(agent.url()).unwrap(), &options).await.unwrap()
}

async fn speak(agent: &Bridge, version: Version, binding: Binding, life: Life) {
    let client = connect(agent, version, binding).await;
    assert_eq!((client.version(), client.binding()), (version, binding));
    let name = &client.card().name;
    let lived = tokio::time::timeout(Duration::from_secs(300), live(&client, life)).await;
    assert!(lived.is_ok(), "{name} took too long over {binding}");
}

fn interop(file: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/servers");
    PathBuf::from(folder).join(file)
}
