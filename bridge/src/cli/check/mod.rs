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
use bridge_program::{Exit, out, outln};
use bridge_verify::lint::{Finding, Level};
use clap::Args;
use url::Url;

use super::{Result, chat::credentials::CredentialArgs, exit_code, runtime, trust::Trust};
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

impl Check {
    pub(super) fn execute(&self) -> Result<Exit> {
        runtime()?.block_on(self.check())
    }

    async fn check(&self) -> Result<Exit> {
        let signers = signed::signers(self.keys.as_deref(), &self.keys_below)?;
        let options = self.options()?;
        let mut all = Vec::new();
        for subject in &self.what {
            let found = subject.check(signers.as_ref(), &options).await;
            all.push(Checked { subject: subject.to_string(), found });
        }
        match self.json {
            true => outln!("{}", show::json(&all)),
            false => all.iter().for_each(|one| out!("{one}")),
        }
        Ok(all.iter().map(|one| self.exit(one)).max().unwrap_or_default())
    }

    /// Returns the options. Private addresses are allowed, because the user has named the address.
    fn options(&self) -> Result<DiscoveryOptions> {
        Ok(DiscoveryOptions {
            credentials: self.shown.credentials(&|name| std::env::var(name).ok())?,
            tls: self.trust.tls()?,
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
            Ok(report) if report.is_unreadable => Exit::Unreadable,
            Ok(report) if report.findings.iter().any(is_wrong) => Exit::Failed,
            Ok(_) => Exit::Passed,
            Err(error) => exit_code::of(&**error),
        }
    }
}
