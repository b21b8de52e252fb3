//! The package as its users see it.

mod agent;
mod evaluator;
mod served;
