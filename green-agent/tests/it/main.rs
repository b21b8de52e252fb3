//! Tests that need the built program and real processes.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod arrows;
#[cfg(test)]
mod card_address;
#[cfg(test)]
#[path = "../../../bridge/tests/it/command_line.rs"]
mod command_line;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod compare;
#[cfg(test)]
#[path = "../../../bridge/tests/it/dead_collector.rs"]
mod dead_collector;
#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "../../../bridge/tests/it/deaf.rs"]
mod deaf;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod features;
#[cfg(test)]
mod frameworks;
#[cfg(test)]
mod gates;
#[cfg(test)]
mod html_report;
#[cfg(test)]
mod install;
#[cfg(test)]
#[path = "../../../bridge/tests/it/kept.rs"]
mod kept;
#[cfg(test)]
#[path = "../../../bridge/tests/it/ports.rs"]
mod ports;
// Only on Linux can descendants that left the process group be found, and the tests search for them in
// `/proc`.
#[cfg(test)]
mod process;
#[cfg(test)]
mod profiles;
#[cfg(test)]
mod program;
#[cfg(test)]
mod queue;
#[cfg(test)]
mod reuse;
#[cfg(test)]
#[path = "../../../bridge/tests/it/running.rs"]
mod running;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod schemas;
#[cfg(test)]
mod scorers;
#[cfg(test)]
mod statistics;
#[cfg(test)]
mod stdio_wrapper;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(test)]
mod support;
#[cfg(test)]
mod traces;
#[cfg(test)]
#[path = "../../../bridge/tests/it/venv.rs"]
#[expect(dead_code, reason = "only the bridge's tests use the other packages")]
mod venv;
