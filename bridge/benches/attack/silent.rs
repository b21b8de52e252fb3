//! Opens connections and sends nothing: with a low limit of open files, and before a TLS handshake.

use std::{path::Path, time::Duration};

use tokio::time::sleep;

use crate::harness::{Error, Harness, Program, raw};

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let program = Program::with_descriptors(200, &[])?;
    harness.note("250 connections at a limit of 200 open files");
    open_silent_connections(harness, &program, 250).await?;
    drop(program);
    let folder = tempfile::tempdir()?;
    let program = Program::with_config(folder.path(), &certificate(folder.path())?)?;
    harness.note("300 connections before TLS");
    open_silent_connections(harness, &program, 300).await
}

async fn open_silent_connections(
    harness: &mut Harness,
    program: &Program,
    connections: usize,
) -> Result<(), Error> {
    let wait = Duration::from_secs(harness.pick(20, 3));
    let attack = async {
        let mut open = Vec::new();
        for _ in 0..connections {
            open.extend(raw::connect(program.address()).await);
        }
        // A new client must be served too.
        let client = reqwest::Client::builder().danger_accept_invalid_certs(true);
        let client = client.no_proxy().timeout(wait).build()?;
        let begun = std::time::Instant::now();
        let answer = client.get(format!("{}/healthz", program.url())).send().await;
        let waited = begun.elapsed();
        sleep(wait).await;
        Ok::<_, Error>((open.len(), answer.is_ok_and(|it| it.status().is_success()), waited))
    };
    let (made, is_served, waited) = harness.attack(program, 300, attack).await??;
    harness.note(format_args!(
        "{made} of {connections} connections were made; a client with a request waited {waited:.1?} meanwhile"
    ));
    harness.check(is_served, "a client with a request is served beside silent connections");
    Ok(())
}

/// Writes a self-signed certificate, and returns the configuration that uses it.
fn certificate(folder: &Path) -> Result<String, Error> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    std::fs::write(folder.join("cert.pem"), made.cert.pem())?;
    std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem())?;
    Ok("tls = { certificate = \"cert.pem\", key = \"key.pem\" }\n".to_owned())
}
