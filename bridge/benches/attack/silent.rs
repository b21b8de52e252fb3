//! Connections that are made and never say anything, at a low limit of open files.

use std::time::Duration;

use tokio::time::sleep;

use crate::frame::{Failed, Program, Scene, raw};

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let (connections, wait) = scene.pick((250, 20), (250, 5));
    let program = Program::with_descriptors(200, &[])?;
    let attack = async {
        let mut open = Vec::new();
        for _ in 0..connections {
            open.extend(raw::connect(program.address()).await);
        }
        sleep(Duration::from_secs(wait)).await;
        open.len()
    };
    let made = scene.attack(&program, 300, attack).await?;
    scene.note(format_args!(
        "{made} of {connections} connections were made"
    ));
    Ok(())
}
