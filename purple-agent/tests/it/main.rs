//! The integration tests of the crate.

#[cfg(test)]
mod asking;
#[cfg(test)]
mod assistant;
#[cfg(test)]
#[path = "../../../bridge/tests/it/command_line.rs"]
mod command_line;
#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "../../../bridge/tests/it/deaf.rs"]
mod deaf;
#[cfg(test)]
mod environments;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod faulty;
#[cfg(test)]
mod green;
#[cfg(test)]
mod hosted;
#[cfg(test)]
#[path = "../../../bridge/tests/it/kept.rs"]
mod kept;
#[cfg(test)]
mod llm;
#[cfg(test)]
mod model;
#[cfg(test)]
mod program;
#[cfg(test)]
#[path = "../../../bridge/tests/it/running.rs"]
mod running;
#[cfg(test)]
mod scripted;
#[cfg(test)]
mod sdk;
#[cfg(test)]
mod useless_answers;
#[cfg(test)]
#[path = "../../../bridge/tests/it/venv.rs"]
#[expect(dead_code, reason = "only the bridge's tests use the other packages")]
mod venv;
