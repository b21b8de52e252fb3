//! Reloads valid and invalid configurations while other clients use the program.

use std::{fs, path::Path, time::Duration};

use serde_json::Value;
use tokio::time::sleep;

use crate::harness::{BackgroundClients, Error, Harness, Program};

/// The agent that other clients use, which is part of every configuration.
const ECHO: &str = "[[agents]]\nname = 'echo'\nbuiltin = 'echo'\n";

/// An agent that must not exist while the configuration that contains it is invalid.
const NEW: &str = "[[agents]]\nname = 'new'\nbuiltin = 'echo'\n";

/// An error that is only found when the agents are created: credentials that nobody checks.
const BROKEN: &str = "[agents.card.security_schemes.token.httpAuthSecurityScheme]\nscheme = 'Bearer'\n\
    [[agents.card.security]]\ntoken = []\n";

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let reloads = harness.pick(200, 30);
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("bridge.toml");
    write(&file, ECHO)?;
    let program = Program::start(&["--config", &file.display().to_string()])?;
    let background = BackgroundClients::new(&program);
    let attack = async {
        let mut wrong = 0;
        for number in 0..reloads {
            let (config, expected): (_, &[&str]) = match number % 3 {
                0 => (format!("{ECHO}{NEW}{BROKEN}"), &["echo"]),
                1 => (format!("{ECHO}{NEW}"), &["echo", "new"]),
                _ => (ECHO.to_owned(), &["echo"]),
            };
            write(&file, &config)?;
            program.reload()?;
            wrong += usize::from(!has_agents(&program, expected).await?);
        }
        Ok::<usize, Error>(wrong)
    };
    let (wrong, latencies) = background.run_during(attack).await;
    let wrong = wrong?;
    harness.note(format_args!(
        "{reloads} reloads, {wrong} of them with wrong agents; other clients waited {:.1?} at most, {} of {} failed",
        latencies.longest(),
        latencies.failed,
        latencies.failed + latencies.times.len(),
    ));
    harness.check(wrong == 0, "a valid configuration is applied, an invalid one changes nothing");
    harness.check(latencies.failed == 0, "a reload drops no request");
    let lost = background.lost_tasks().await?;
    harness.check(lost.is_empty(), "acknowledged tasks are kept");
    Ok(())
}

fn write(file: &Path, config: &str) -> Result<(), Error> {
    Ok(fs::write(file, config)?)
}

/// Waits until exactly these agents exist. Returns false if they do not within a second.
async fn has_agents(program: &Program, expected: &[&str]) -> Result<bool, Error> {
    for _ in 0..50 {
        sleep(Duration::from_millis(20)).await;
        let found = reqwest::get(format!("{}/a2a/catalog", program.url())).await?;
        let found: Value = found.json().await?;
        let agents = found["agents"].as_array().into_iter().flatten();
        if agents.map(|agent| agent["name"].as_str()).eq(expected.iter().map(|name| Some(*name))) {
            return Ok(true);
        }
    }
    Ok(false)
}
