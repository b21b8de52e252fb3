//! What all HTTP clients of the workspace have in common: [`Connections`] to a server, [`read_body`] and
//! [`redirect_target`].

mod body;
mod connections;
mod redirect;

pub use body::{BodyError, read_body};
pub use connections::{Connections, IDLE_TIMEOUT};
pub use redirect::redirect_target;
