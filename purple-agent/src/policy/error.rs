//! What can be wrong with a policy.

use super::{BUILTINS, llm::ModelError};
use bridge_protocol::wire::FieldError;

/// Why a policy cannot go on. The agent ends and says so.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The model could not be asked, or not understood.
    #[error("{0}")]
    Model(#[from] ModelError),
    /// A step of a script cannot be carried out.
    #[error("step {step} of the script: {source}")]
    Script {
        /// Which one, from 1.
        step: usize,
        /// What is wrong with it.
        #[source]
        source: FieldError,
    },
    /// Any other reason, for policies of other crates.
    #[error("{0}")]
    Other(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Why a policy cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// There is no policy of this name.
    #[error("there is no policy {name:?}; there are {}", names())]
    NoSuchPolicy {
        /// The name.
        name: String,
    },
    /// A setting is missing, unknown or not as it should be.
    #[error("settings of policy {policy:?}: {source}")]
    Setting {
        /// The policy.
        policy: &'static str,
        /// Which one, and what was expected.
        #[source]
        source: FieldError,
    },
    /// The model cannot be asked on this machine.
    #[error("{0}")]
    Model(#[source] ModelError),
    /// The model's key is not there.
    #[error(
        "the environment variable {variable} is not set: put the model's key there, or name another with the setting key_env"
    )]
    NoKey {
        /// Where it was looked for.
        variable: String,
    },
}

fn names() -> String {
    BUILTINS.map(|(name, _)| name).join(", ")
}
