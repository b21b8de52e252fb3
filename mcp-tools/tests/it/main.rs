//! The package as its users see it.

mod agent_tools;
mod connecting;
mod details;
mod examples;
mod stranger;
