//! The crate from outside: over real sockets, with clients that speak each era of MCP.

mod client;
mod evaluator;
mod server;
