//! `bridge check`: finds mistakes in agent cards and configurations.
//!
//! - `subject`: reads the subjects of the check
//! - `signed`: verifies signatures of cards
//! - `show`: prints the findings

mod show;
mod signed;
mod subject;

use std::path::PathBuf;

use bridge_client::discovery::DiscoveryOptions;
use bridge_program::{Exit, errln, out, outln};
use bridge_verify::lint::{Finding, Level};
use clap::Args;
use url::Url;

use super::{card_file::CardFileError, chat::credentials::CredentialArgs, runtime, trust::Trust};
use show::Checked;
use subject::Subject;

/// Look for mistakes in agent cards and configurations
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Check {
    /// Cards of any version of A2A, in files or at an agent's address, and configurations (*.toml)
    #[arg(required = true, value_name = "CARD.json|URL|bridge.toml")]
    what: Vec<Subject>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    /// Require a signature by one of the keys in this file, a JSON Web Key Set (RFC 7517)
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Require a signature by a key published at this URL or below it; may be repeated
    #[arg(long, value_name = "URL")]
    keys_below: Vec<Url>,
    #[command(flatten)]
    shown: CredentialArgs,
    #[command(flatten)]
    trust: Trust,
}

const EXAMPLES: &str = "\
Examples:
  bridge check agent-card.json                     a file
  bridge check --json http://localhost:3978/a2a    a running agent, for programs
  bridge check --bearer-env TOKEN https://agents.example/a2a    an agent that requires a token
  bridge check --keys-below https://agents.example/ https://agents.example/a2a

Exit codes: 0 no mistakes, 1 mistakes, 2 the command line is wrong, 3 a file cannot be read, \
4 an address cannot be reached.";

/// The reason why something could not be checked.
#[derive(Debug, thiserror::Error)]
pub(super) enum CheckError {
    /// An environment variable that the command line names has no fitting secret.
    #[error("{0}")]
    Usage(String),
    /// A file is missing or has no JSON.
    #[error(transparent)]
    File(#[from] CardFileError),
    /// A file has other content.
    #[error("{0}")]
    Unreadable(String),
    /// The server cannot be reached or has no card.
    #[error("{0}")]
    Unreachable(String),
}

impl CheckError {
    fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::File(_) | Self::Unreadable(_) => Exit::Unreadable,
            Self::Unreachable(_) => Exit::Infrastructure,
        }
    }
}

impl Check {
    pub(super) fn execute(&self) -> Exit {
        match runtime() {
            Ok(runtime) => runtime.block_on(self.check()),
            Err(error) => {
                errln!("error: {error}");
                Exit::Failed
            }
        }
    }

    async fn check(&self) -> Exit {
        let prepared = signed::signers(self.keys.as_deref(), &self.keys_below)
            .and_then(|signers| Ok((signers, self.options()?)));
        let (signers, options) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                errln!("error: {error}");
                return error.exit();
            }
        };
        let mut all = Vec::new();
        for subject in &self.what {
            let found = subject.check(signers.as_ref(), &options).await;
            all.push(Checked { subject: subject.to_string(), found });
        }
        match self.json {
            true => outln!("{}", show::json(&all)),
            false => all.iter().for_each(|one| out!("{one}")),
        }
        all.iter().map(|one| self.exit(one)).max().unwrap_or_default()
    }

    /// Returns the options. Private addresses are allowed, because the user has named the address.
    fn options(&self) -> Result<DiscoveryOptions, CheckError> {
        let credentials = self.shown.credentials(&|name| std::env::var(name).ok());
        Ok(DiscoveryOptions {
            credentials: credentials.map_err(|error| CheckError::Usage(error.to_string()))?,
            tls: self.trust.tls().map_err(|error| CheckError::Unreadable(error.to_string()))?,
            allow_private: true,
            ..DiscoveryOptions::default()
        })
    }

    fn exit(&self, checked: &Checked) -> Exit {
        let is_wrong = |finding: &Finding| match finding.level {
            Level::Error => true,
            Level::Warning => self.strict,
            Level::Note => false,
        };
        match &checked.found {
            Ok(report) if report.findings.iter().any(is_wrong) => Exit::Failed,
            Ok(_) => Exit::Passed,
            Err(error) => error.exit(),
        }
    }
}
