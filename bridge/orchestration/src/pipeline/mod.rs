//! Pipelines: agents that are found by skill work one after the other, or in parallel if no step needs the output of
//! another.
//!
//! A pipeline contains no addresses of agents. Before every step, an agent with the skill is looked up: among
//! the participants, at other addresses, or in a registry.
//!
//! - [`Pipeline`] and the other types of `model`: the steps, with the references from inputs to outputs; [`ValuePath`]
//! - [`Engine`]: runs a pipeline, and reports to a [`Progress`]; [`PipelineResult`], [`PipelineError`]
//! - `schedule`, `document`: the order of steps, and their inputs
//! - `run`, `step`: runs the steps in that order, each with its retries
//! - `directory`: finds agents; `agent`: a call to one of them, with the settings of `call_context`
//! - [`Keyring`]: the credentials that agents are sent
//! - `result`, `error`: the result, and the reasons for a failure

mod agent;
mod call_context;
mod directory;
mod document;
mod engine;
mod error;
#[cfg(test)]
mod fixture;
mod keyring;
mod model;
mod progress;
mod result;
mod run;
mod schedule;
mod step;
mod value_path;

pub use call_context::AgentMeter;
pub use engine::Engine;
pub use error::PipelineError;
pub use keyring::{Key, Keyring, KeyringError};
pub use model::{
    AgentAddress, Agents, Credential, CredentialForm, Input, Pipeline, REQUIREMENTS,
    RESERVED_RESULTS, Reference, SecretSource, Step,
};
pub use progress::Progress;
pub use result::PipelineResult;
pub use value_path::{ValuePath, first_name};
