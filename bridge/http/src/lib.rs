//! What all HTTP clients of the workspace have in common: [`Connections`] to a server, and [`read_body`].

mod body;
mod connections;

pub use body::{BodyError, read_body};
pub use connections::{Connections, IDLE_TIMEOUT};
