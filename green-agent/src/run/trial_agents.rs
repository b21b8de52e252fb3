//! The agents of one trial: their addresses, and the way in which each is started.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use mcp_tools::{connection::ConnectionDetails, secret::Secret};
use url::Url;

use super::{hosted::Hosted, plan::file_name};
use crate::{
    evaluator::pipeline::Keyring,
    participant::{
        Launch, LocalServer,
        ports::{PortLease, replace_port},
    },
    recorder::Masker,
    scenario::model::{Policy, ServerKind},
};

/// One agent in one trial.
pub(super) struct AgentHandle {
    pub(super) role: String,
    /// The address at which it listens; `None` for an agent that only calls.
    pub(super) endpoint: Option<Url>,
    /// The kind of server at that address.
    pub(super) server_kind: ServerKind,
    /// The MCP server whose address and token it has from the start, set by [`TrialAgents::fill_in`].
    pub(super) tools: Option<ConnectionDetails>,
    pub(super) start: AgentStart,
}

impl AgentHandle {
    /// Returns the command that starts a server as a program. Its port is 0, so that the command is the same in each trial.
    pub(super) fn program(&self) -> Option<String> {
        let AgentStart::Program { launch, .. } = &self.start else {
            return None;
        };
        let mut argv = launch.argv.clone();
        if let Some(port) = self.endpoint.as_ref().and_then(Url::port) {
            replace_port(&mut argv, port, 0);
        }
        Some(argv.join(" "))
    }
}

/// The way in which an agent of the trial is started.
pub(super) enum AgentStart {
    /// Not at all: it has been running since before the run or since an earlier trial.
    None,
    /// As a program.
    Program {
        launch: Box<Launch>,
        /// The reservation of its port, held as long as it runs, so that no other trial takes the port.
        port: Option<PortLease>,
    },
    /// As a server in this process.
    Hosted { local_server: LocalServer, agent: Hosted, message_only: bool },
    /// As a program that calls the green agent, once that is ready.
    Client(Box<Launch>),
    /// As a policy in this process that calls the green agent.
    Caller(Policy),
}

/// All agents of one trial, with their secrets.
pub(super) struct TrialAgents {
    /// The agents in the order in which they are started, the green agent last.
    pub(super) handles: Vec<AgentHandle>,
    /// The server of the built-in evaluator's environment, if it has one.
    pub(super) environment_server: Option<LocalServer>,
    pub(super) masker: Masker,
    /// The credentials that the built-in evaluator sends.
    pub(super) keyring: Keyring,
    /// The token of each MCP server whose tools a policy uses, by the server's role.
    pub(super) tokens: BTreeMap<String, Secret>,
}

impl TrialAgents {
    /// Returns the address at which the agent in a role listens.
    pub(super) fn endpoint(&self, role: &str) -> Option<Url> {
        let handle = self.handles.iter().find(|handle| handle.role == role)?;
        handle.endpoint.clone()
    }
}

/// Returns the file for the output of the agent in a role.
pub(super) fn log_path(folder: &Path, role: &str) -> PathBuf {
    folder.join(format!("{}.log", file_name(role)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_do_not_share_a_log() {
        let log = |role| log_path(Path::new("trial"), role);
        assert_eq!(log("a_b"), Path::new("trial/a_b.log"));
        assert_ne!(log("a b"), log("a_b"));
    }
}
