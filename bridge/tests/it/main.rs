//! Tests that need several processes or the whole crate.

#[cfg(test)]
mod access;
#[cfg(test)]
mod agent_address;
#[cfg(test)]
mod app;
#[cfg(test)]
mod authorities;
#[cfg(test)]
mod blocked;
#[cfg(test)]
mod bots;
#[cfg(test)]
mod boundary;
#[cfg(test)]
mod callbacks;
#[cfg(test)]
mod chatting;
#[cfg(test)]
mod checked;
#[cfg(test)]
mod client;
#[cfg(test)]
mod command_line;
#[cfg(test)]
mod configured;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod crash_program;
#[cfg(test)]
mod crowded;
#[cfg(test)]
mod dead_collector;
#[cfg(test)]
mod deploy;
#[cfg(test)]
mod discover;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod execute;
#[cfg(test)]
mod exits;
#[cfg(test)]
mod foreign;
#[cfg(test)]
mod former;
#[cfg(test)]
mod fuzz;
#[cfg(feature = "grpc")]
#[cfg(test)]
mod grpc;
#[cfg(feature = "grpc")]
#[cfg(test)]
mod grpc_0_3;
#[cfg(feature = "grpc")]
#[cfg(test)]
mod grpc_client;
#[cfg(all(feature = "grpc", feature = "tls"))]
#[cfg(test)]
mod grpc_tls;
#[cfg(test)]
mod guarded;
#[cfg(test)]
mod heavy;
#[cfg(test)]
mod hosted;
#[cfg(test)]
mod interop;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod load;
#[cfg(test)]
mod logged;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod minimal;
#[cfg(test)]
mod node;
#[cfg(test)]
mod official;
#[cfg(test)]
mod openapi;
#[cfg(test)]
mod operator;
#[cfg(test)]
mod own_store;
#[cfg(feature = "grpc")]
#[cfg(test)]
mod packages;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod placeholders;
#[cfg(test)]
mod ports;
#[cfg(feature = "postgres")]
#[cfg(test)]
mod postgres;
#[cfg(test)]
mod presets;
#[cfg(test)]
mod program;
#[cfg(feature = "grpc")]
#[cfg(test)]
mod proxies;
#[cfg(test)]
mod push;
#[cfg(test)]
mod queued;
#[cfg(test)]
mod redact;
#[cfg(test)]
mod remote;
#[cfg(test)]
mod repeats;
#[cfg(test)]
mod rest;
#[cfg(test)]
mod running;
#[cfg(feature = "grpc")]
#[cfg(test)]
mod sequence;
#[cfg(test)]
mod server;
#[cfg(test)]
mod sign_in;
#[cfg(test)]
mod subscribe;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod threats;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod traces;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod venv;
#[cfg(test)]
mod whole;
#[cfg(test)]
mod world;
