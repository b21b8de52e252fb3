//! Health and reflection over gRPC, asked for with the packages that Google makes for Python.

use std::process::Stdio;

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    process::Command,
    time::timeout,
};

use super::{LIMIT, interop, serve};
use crate::venv;

#[tokio::test]
async fn health_and_reflection_are_what_grpc_s_own_packages_expect() {
    let python = venv::with(&venv::A2A_SDK_1_0).await.join("bin/python");
    let bridge = serve();
    let mut client = Command::new(python)
        .arg(interop("grpc_services.py"))
        .arg(bridge.url())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(client.stdout.take().unwrap());
    let mut said = String::new();
    let passed = timeout(LIMIT, async {
        while !said.ends_with("watching\n") && lines.read_line(&mut said).await.unwrap() > 0 {}
        bridge.terminate();
        lines.read_to_string(&mut said).await.unwrap();
        client.wait().await.unwrap().success()
    });
    let passed = passed.await.expect("the client ends with the bridge");
    assert!(passed, "it saw what it did not expect:\n{said}");
}
