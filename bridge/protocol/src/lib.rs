//! What is said on the wire: A2A types and their older dialects, activities, JSON-RPC; and the translation
//! between agents that speak A2A and bots that speak activities.
//!
//! The types follow A2A 1.0 (`specification/a2a.proto`, package `lf.a2a.v1`) with the names of its JSON
//! form; older generations are dialects, translated at the edge. Nothing here reads a clock, opens a
//! socket or draws a random number: times and ids come in as arguments, and `no_std` keeps it so.
//!
//! - [`a2a`]: the types of A2A 1.0
//! - [`activity`]: the types of the Activity protocol
//! - [`address`]: which IP addresses are of the public internet
//! - [`dialect`]: older generations, to 1.0 and back
//! - [`jose`]: public keys
//! - [`jsonrpc`]: the envelope of JSON-RPC 2.0
//! - [`lint`]: what is wrong with a card
//! - [`signing`]: what is signed of a card
//! - [`translate`]: A2A to activities and back
//! - `protobuf`: A2A 1.0 as protocol buffers, with the feature of that name
//! - [`wire`]: how objects are read from JSON, with errors that name the field
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod a2a;
pub mod activity;
pub mod address;
#[cfg(test)]
mod arbitrary;
pub mod dialect;
pub mod jose;
pub mod jsonrpc;
pub mod lint;
#[cfg(feature = "protobuf")]
pub mod protobuf;
pub mod signing;
pub mod translate;
pub mod wire;
