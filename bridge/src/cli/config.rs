//! `bridge config`: works with configuration files.

use std::{fs::OpenOptions, io::ErrorKind, path::PathBuf};

use bridge_program::{Exit, outln};
use clap::{Args, Subcommand};

use super::{
    Result,
    card_file::CardFileError,
    exit_code::{self, failure},
    runtime, serve, write_new,
};
use crate::{
    builtin,
    config::{self, TEMPLATE},
};

/// Check, create or describe a configuration
#[derive(Debug, Args)]
pub(super) struct ConfigCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Report mistakes in a file, with line and column; secrets are looked up
    Check {
        /// The file
        #[arg(default_value = "bridge.toml")]
        file: PathBuf,
    },
    /// Write a file to start with
    New {
        /// The file, which must not exist yet
        #[arg(default_value = "bridge.toml")]
        file: PathBuf,
    },
    /// Print the JSON Schema of such files, for editors
    Schema,
}

impl ConfigCommand {
    pub(super) fn execute(&self) -> Result<()> {
        match &self.action {
            Action::Check { file } => {
                let config = config::read(file, &builtin::names())?;
                let judged = runtime()?.block_on(serve::judge(&config));
                judged.map_err(|error| match error.is::<CardFileError>() {
                    // It names its own file.
                    true => error,
                    false => {
                        failure(exit_code::of(&*error))(format!("{}: {error}", file.display()))
                            .into()
                    }
                })?;
                let names = config.agents.iter().map(|agent| agent.name.text.as_str());
                let names: Vec<&str> = names.collect();
                outln!("{}: agents {}", file.display(), names.join(", "));
                if let Some(concern) = serve::concern(&config) {
                    outln!("{}: warning: {concern}", file.display());
                }
            }
            Action::New { file } => {
                let written = write_new(&mut OpenOptions::new(), file, TEMPLATE);
                written.map_err(|error| match error.kind() {
                    ErrorKind::AlreadyExists => failure(Exit::Usage)(format!(
                        "{} exists already: name another file",
                        file.display()
                    )),
                    _ => failure(Exit::Infrastructure)(format!(
                        "cannot write {}: {error}",
                        file.display()
                    )),
                })?;
                outln!("wrote {}", file.display());
            }
            Action::Schema => outln!("{}", serde_json::to_string_pretty(&config::schema())?),
        }
        Ok(())
    }
}
