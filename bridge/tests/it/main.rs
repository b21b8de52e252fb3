//! What needs more than one process, or the whole of the crate.

#[cfg(test)]
mod app;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod examples;
mod interop;
#[cfg(test)]
mod program;
#[cfg(test)]
mod server;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod venv;
