//! The package as its users see it.

mod asking;
mod environments;
mod faulty;
mod green;
mod hosted;
mod llm;
mod program;
mod scripted;
