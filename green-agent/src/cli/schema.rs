//! `green-agent schema`: prints JSON Schemas.

use clap::Args;

use crate::scenario;
use bridge_program::{Exit, outln};
use green_agent_results::schema::ResultFile;

/// Print the JSON Schema of scenario files, or of a file that runs write
#[derive(Debug, Args)]
pub(super) struct Schema {
    /// The file that a run writes; without it, scenario files
    #[arg(value_enum, value_name = "FILE")]
    file: Option<ResultFile>,
}

impl Schema {
    pub(super) fn execute(&self) -> Result<Exit, Exit> {
        let schema = self.file.map_or_else(scenario::schema::schema, ResultFile::schema);
        outln!("{schema:#}");
        Ok(Exit::Passed)
    }
}
