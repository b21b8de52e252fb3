//! `green-agent new`: writes a scenario to begin with.

use std::{fs, io::Write as _, path::PathBuf};

use clap::{Args, ValueEnum};

use super::complain;
use crate::scenario::template::Template;
use bridge_program::{Exit, outln};

/// Write a scenario to begin with
#[derive(Debug, Args)]
pub(super) struct New {
    /// The file to write; it must not be there yet
    #[arg(value_name = "FILE", default_value = "scenario.toml")]
    path: PathBuf,
    /// What kind of scenario
    #[arg(long, value_enum, default_value_t = Kind::Conversation)]
    kind: Kind,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// A scripted conversation with one agent, checked by the built-in evaluator
    Conversation,
    /// An environment that a participant works in over MCP, offered by the built-in evaluator
    Episode,
    /// Steps that agents do who are found by skill, led by the built-in evaluator
    Pipeline,
    /// A green agent that assesses participants, as AgentBeats has it
    Agentbeats,
}

impl New {
    pub(super) fn execute(&self) -> Exit {
        let template = match self.kind {
            Kind::Conversation => Template::Conversation,
            Kind::Episode => Template::Episode,
            Kind::Pipeline => Template::Pipeline,
            Kind::Agentbeats => Template::AgentBeats,
        };
        let written = fs::File::create_new(&self.path)
            .and_then(|mut file| file.write_all(template.text().as_bytes()));
        let path = self.path.display();
        match written {
            Ok(()) => {
                outln!("wrote {path}; edit it, then: green-agent run {path}");
                Exit::Passed
            }
            Err(error) => {
                complain(&format!("cannot write {path}: {error}"));
                Exit::Usage
            }
        }
    }
}
