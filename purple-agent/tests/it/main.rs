//! The package as its users see it.

#[cfg(test)]
mod asking;
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
mod llm;
#[cfg(test)]
mod model;
#[cfg(test)]
mod program;
#[cfg(test)]
mod scripted;
#[cfg(test)]
mod sdk;
