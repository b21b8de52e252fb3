//! The errors of policies.

use super::{BUILTINS, llm::ModelError};
use bridge_protocol::wire::FieldError;

/// The reason why a policy failed. The agent then ends and reports it.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum PolicyError {
    /// The model gave no usable answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The MCP server that the agent has from the start refuses it, or is none.
    #[error("its MCP server cannot be used: {0}")]
    Unconnected(String),
    /// A step of a script cannot be executed.
    #[error("step {step} of the script: {error}")]
    Script {
        /// The number of the step, from 1.
        step: usize,
        error: FieldError,
    },
    /// Any other cause, for policies in other crates.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

/// The reason why a policy cannot be created.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum SettingsError {
    /// There is no policy with this name.
    #[error("there is no policy {0:?}; there are {known}", known = names())]
    NoSuchPolicy(String),
    /// A setting is missing, unknown or invalid.
    #[error("settings of policy {policy:?}: {error}")]
    Setting {
        policy: &'static str,
        /// The setting, and what was expected.
        error: FieldError,
    },
    /// The model cannot be used with these settings.
    #[error(transparent)]
    Model(ModelError),
    /// The model's key is not set.
    #[error(
        "the environment variable {0} is not set: put the model's key there, or name another with the setting key_env"
    )]
    NoKey(String),
}

impl SettingsError {
    /// Returns a function that adds the policy's name to the error of a setting.
    pub(super) fn of(policy: &'static str) -> impl Fn(FieldError) -> Self {
        move |error| Self::Setting { policy, error }
    }
}

fn names() -> String {
    BUILTINS.map(|(name, _)| name).join(", ")
}
