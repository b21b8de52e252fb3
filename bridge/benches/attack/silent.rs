//! Connections that are made and never say anything: at a low limit of open files, and before TLS.

use std::{path::Path, time::Duration};

use tokio::time::sleep;

use crate::frame::{Failed, Program, Scene, raw};

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let program = Program::with_descriptors(200, &[])?;
    scene.note("250 connections at a limit of 200 open files");
    silence(scene, &program, 250).await?;
    drop(program);
    let folder = tempfile::tempdir()?;
    let program = Program::configured(folder.path(), &certificate(folder.path())?)?;
    scene.note("300 connections before TLS");
    silence(scene, &program, 300).await
}

async fn silence(scene: &mut Scene, program: &Program, connections: usize) -> Result<(), Failed> {
    let wait = Duration::from_secs(scene.pick(20, 3));
    let attack = async {
        let mut open = Vec::new();
        for _ in 0..connections {
            open.extend(raw::connect(program.address()).await);
        }
        // A client that comes now must be served too.
        let client = reqwest::Client::builder().danger_accept_invalid_certs(true);
        let client = client.no_proxy().timeout(wait).build()?;
        let begun = std::time::Instant::now();
        let answer = client
            .get(format!("{}/healthz", program.url()))
            .send()
            .await;
        let waited = begun.elapsed();
        sleep(wait).await;
        Ok::<_, Failed>((
            open.len(),
            answer.is_ok_and(|it| it.status().is_success()),
            waited,
        ))
    };
    let (made, is_served, waited) = scene.attack(program, 300, attack).await??;
    scene.note(format_args!(
        "{made} of {connections} were made; one that asks something waited {waited:.1?} among them"
    ));
    scene.must(
        is_served,
        "who asks something is served among silent connections",
    );
    Ok(())
}

/// What a configuration says of a certificate of its own.
fn certificate(folder: &Path) -> Result<String, Failed> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    std::fs::write(folder.join("cert.pem"), made.cert.pem())?;
    std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem())?;
    Ok("tls = { certificate = \"cert.pem\", key = \"key.pem\" }\n".to_owned())
}
