//! Configurations that are read again, good ones and broken ones, while others use the program.

use std::{fs, path::Path, time::Duration};

use serde_json::Value;
use tokio::time::sleep;

use crate::frame::{Failed, Others, Program, Scene};

/// The agent that others use, which stands in every configuration.
const ECHO: &str = "[[agents]]\nname = 'echo'\nbuiltin = 'echo'\n";

/// An agent that must not be there as long as the configuration that names it is broken.
const NEW: &str = "[[agents]]\nname = 'new'\nbuiltin = 'echo'\n";

/// What is only found to be wrong when the agents are made: credentials that nobody checks.
const BROKEN: &str = "[agents.card.security_schemes.token.httpAuthSecurityScheme]\nscheme = 'Bearer'\n\
    [[agents.card.security]]\ntoken = []\n";

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let reloads = scene.pick(200, 30);
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("bridge.toml");
    write(&file, ECHO)?;
    let program = Program::start(&["--config", &file.display().to_string()])?;
    let others = Others::of(&program);
    let attack = async {
        let mut wrong = 0;
        for number in 0..reloads {
            let (config, expected): (_, &[&str]) = match number % 3 {
                0 => (format!("{ECHO}{NEW}{BROKEN}"), &["echo"]),
                1 => (format!("{ECHO}{NEW}"), &["echo", "new"]),
                _ => (ECHO.to_owned(), &["echo"]),
            };
            write(&file, &config)?;
            program.hang_up()?;
            wrong += usize::from(!comes(&program, expected).await?);
        }
        Ok::<usize, Failed>(wrong)
    };
    let (wrong, waited) = others.watch(attack).await;
    let wrong = wrong?;
    scene.note(format_args!(
        "{reloads} times read again, {wrong} times with other agents than the file says; others waited {:.1?} at most, {} of {} failed",
        waited.longest(),
        waited.failed,
        waited.failed + waited.times.len(),
    ));
    scene.must(
        wrong == 0,
        "a good configuration counts, a broken one changes nothing",
    );
    scene.must(waited.failed == 0, "a reload drops no request");
    let lost = others.lost().await?;
    scene.must(lost.is_empty(), "acknowledged tasks are kept");
    Ok(())
}

fn write(file: &Path, config: &str) -> Result<(), Failed> {
    Ok(fs::write(file, config)?)
}

/// Whether these agents are there in the end.
async fn comes(program: &Program, expected: &[&str]) -> Result<bool, Failed> {
    for _ in 0..50 {
        sleep(Duration::from_millis(20)).await;
        let found = reqwest::get(format!("{}/a2a/catalog", program.url())).await?;
        let found: Value = found.json().await?;
        let agents = found["agents"].as_array().into_iter().flatten();
        if agents
            .map(|agent| agent["name"].as_str())
            .eq(expected.iter().map(|name| Some(*name)))
        {
            return Ok(true);
        }
    }
    Ok(false)
}
