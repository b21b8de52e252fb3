//! Runs a scenario file from a program, and prints each trial from the folder of the run.
//!
//! `cargo run --example run_scenario -- scenario.toml FOLDER [ROLE=URL]...`

use std::{env, error::Error, path::PathBuf, process::ExitCode, sync::Arc};

use green_agent::{
    Exit,
    participant::supervisor,
    record::{RunFlags, RunFolder},
    run::{RunEvent, RunLog, RunOptions, run},
    scenario::{collect, supplied::AgentOverrides},
};

/// This program starts agents, so it must be able to run again as their supervisor: `main` does nothing before this.
fn main() -> ExitCode {
    supervisor::main(|| match run_scenario() {
        Ok(exit) => ExitCode::from(u8::from(exit)),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(u8::from(Exit::Infrastructure))
        }
    })
}

#[tokio::main]
async fn run_scenario() -> Result<Exit, Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [file, folder, agents @ ..] = &arguments[..] else {
        return Err("expected SCENARIO FOLDER [ROLE=URL]...".into());
    };
    let found = collect(&[PathBuf::from(file)], None)?;
    let options = RunOptions {
        jobs: 2,
        // Agents that run already, such as those of this program.
        supplied: AgentOverrides::new(None, agents)?,
        listener: Arc::new(|event| {
            if let RunEvent::TrialEnded { record, .. } = event {
                eprintln!("{} has ended", record.title());
            }
        }),
        ..RunOptions::in_folder(folder)?
    };
    let RunOptions { folder, settings, supplied, .. } = &options;
    let log = RunLog::begin(folder, &found, settings.clone(), RunFlags::default(), supplied)?;
    let report = run(&found, &options, &log).await;

    // The same can be read later, and from the run of another program.
    for record in RunFolder::read(folder)?.counted() {
        println!("{}: {:?} {:?}", record.title(), record.outcome, record.metrics);
        for problem in &record.problems {
            println!("  {}", problem.message);
        }
    }
    Ok(report.exit)
}
