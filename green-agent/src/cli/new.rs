//! `green-agent new`: writes a new scenario file from a template.

use std::{
    fs,
    io::{ErrorKind, Write as _},
    path::PathBuf,
};

use clap::{Args, ValueEnum};

use super::complain;
use crate::scenario::template::Template;
use bridge_program::{Exit, outln};

/// Write a new scenario file to start from
#[derive(Debug, Args)]
pub(super) struct New {
    /// The file to write, which must not exist
    #[arg(value_name = "FILE", default_value = "scenario.toml")]
    path: PathBuf,
    /// The kind of scenario to write
    #[arg(long, value_enum, default_value_t = Kind::Conversation)]
    kind: Kind,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// A scripted conversation with one agent, checked by the built-in evaluator
    Conversation,
    /// An environment that a participant works in over MCP, offered by the built-in evaluator
    Episode,
    /// Steps that agents carry out, each found by skill, run by the built-in evaluator
    Pipeline,
    /// A green agent that assesses participants, in AgentBeats' form
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
                complain(&match error.kind() {
                    ErrorKind::AlreadyExists => {
                        format!("{path} exists already: name another file")
                    }
                    _ => format!("cannot write {path}: {error}"),
                });
                Exit::Usage
            }
        }
    }
}
