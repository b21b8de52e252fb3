//! `green-agent new`: writes a new scenario file from a template.

use std::{
    fs,
    io::{ErrorKind, Write as _},
    path::PathBuf,
};

use clap::Args;

use super::complain;
use crate::scenario::template::Template;
use bridge_program::{Exit, outln, shell_word};

/// Write a new scenario file to start from
#[derive(Debug, Args)]
pub(super) struct New {
    /// The file to write, which must not exist
    #[arg(value_name = "FILE", default_value = "scenario.toml")]
    path: PathBuf,
    /// The kind of scenario to write
    #[arg(long, value_enum, default_value_t = Template::Conversation)]
    kind: Template,
}

impl New {
    pub(super) fn execute(&self) -> Result<Exit, Exit> {
        let written = fs::File::create_new(&self.path)
            .and_then(|mut file| file.write_all(self.kind.text().as_bytes()));
        let path = self.path.display();
        written.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                complain(&format!("{path} exists already: name another file"));
                Exit::Usage
            }
            _ => {
                complain(&format!("cannot write {path}: {error}"));
                Exit::Infrastructure
            }
        })?;
        outln!("wrote {path}; edit it, then: green-agent run {}", shell_word(&self.path));
        Ok(Exit::Passed)
    }
}
