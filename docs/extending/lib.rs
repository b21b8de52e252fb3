//! The examples of the page "Extending", compiled with the dependencies that the page names.
#![cfg(test)]
#![expect(dead_code, reason = "each module is a program of its own")]

#[path = "../../mcp-tools/examples/own_environment.rs"]
mod environment;
#[path = "../../green-agent/examples/own_evaluator.rs"]
mod evaluator;
#[path = "../../bridge/examples/own_executor.rs"]
mod executor;
#[path = "../../purple-agent/examples/own_policy.rs"]
mod policy;
#[path = "../../mcp-tools/examples/own_tool.rs"]
mod tool;
