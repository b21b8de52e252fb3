//! Pipelines: agents that are found by skill work one after the other, and in parallel where no step needs the
//! other's output.
//!
//! A pipeline contains no addresses of agents. Before every step, an agent with the skill is looked up: among
//! the participants, at other addresses, or in a registry.
//!
//! - [`Pipeline`] and the other types of `model`: the steps, and how outputs become inputs; [`ValuePath`]
//! - [`Engine`]: runs a pipeline, and tells a [`Progress`] what happens; [`PipelineResult`], [`PipelineError`]
//! - `schedule`, `document`: which step may begin, and its input
//! - `run`, `step`: runs the steps in that order, each with its retries
//! - `agent_directory`: the traits for finding agents, implemented by `address_directory` and
//!   `registry_directory`; `agent`: a call to one of them, with the settings of `call_context`
//! - [`Keyring`]: the credentials that agents are sent
//! - `result`, `error`: the result, and the reasons for a failure

mod address_directory;
mod agent;
mod agent_directory;
mod call_context;
mod document;
mod engine;
mod error;
#[cfg(test)]
mod fixture;
mod keyring;
mod model;
mod progress;
mod registry_directory;
mod result;
mod run;
mod schedule;
mod step;
mod value_path;

pub use engine::Engine;
pub use error::PipelineError;
pub use keyring::{Key, Keyring, KeyringError};
pub use model::{
    Agents, Credential, CredentialForm, Input, Pipeline, Place, REQUIREMENTS, RESERVED_RESULTS,
    Reference, SecretPlace, Step,
};
pub use progress::Progress;
pub use result::PipelineResult;
pub use value_path::{ValuePath, first_name};
