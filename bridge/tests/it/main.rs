//! What needs more than one process, or the whole of the crate.

#[cfg(test)]
mod app;
#[cfg(test)]
mod bots;
#[cfg(test)]
mod client;
#[cfg(test)]
mod configured;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod crash_program;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod foreign;
#[cfg(test)]
#[cfg(feature = "grpc")]
mod grpc;
#[cfg(test)]
#[cfg(feature = "grpc")]
mod grpc_client;
#[cfg(test)]
mod guarded;
#[cfg(test)]
mod interop;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod load;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod node;
#[cfg(test)]
mod program;
#[cfg(test)]
mod queued;
#[cfg(test)]
mod redact;
#[cfg(test)]
mod remote;
#[cfg(test)]
mod server;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod venv;
#[cfg(test)]
mod world;
