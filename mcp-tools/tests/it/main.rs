//! The integration tests of the crate.

#[cfg(test)]
mod a2a_tools;
#[cfg(test)]
mod agent;
#[cfg(test)]
mod agent_tools;
#[cfg(test)]
mod cli;
#[cfg(test)]
#[path = "../../../bridge/tests/it/command_line.rs"]
mod command_line;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod connecting;
mod crashing_tool;
#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "../../../bridge/tests/it/deaf.rs"]
mod deaf;
#[cfg(test)]
mod details;
#[cfg(test)]
mod evaluator;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod inspector;
#[cfg(test)]
#[path = "../../../bridge/tests/it/kept.rs"]
mod kept;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod killed;
#[cfg(test)]
mod node;
#[cfg(test)]
mod openai_agents;
#[cfg(test)]
mod program;
#[cfg(test)]
mod progress;
#[cfg(test)]
#[path = "../../../bridge/tests/it/running.rs"]
mod running;
#[cfg(test)]
mod served;
#[cfg(test)]
mod stranger;
#[cfg(test)]
mod traced;
#[cfg(test)]
#[path = "../../../bridge/tests/it/venv.rs"]
#[expect(dead_code, reason = "only the bridge's tests use the packages that speak 0.3")]
mod venv;
#[cfg(test)]
mod web_search;
