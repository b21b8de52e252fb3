//! The progress events of an installation.

use std::{fmt, path::PathBuf, time::Duration};

/// A step of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallEvent {
    /// The packages, for people, such as `python packages six==1.16.0`.
    pub what: String,
    /// The folder they are in.
    pub folder: PathBuf,
    /// The progress of their installation.
    pub step: InstallStep,
}

/// The progress of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallStep {
    /// Another run is installing the same packages; this one waits for it.
    Waiting,
    /// The installation begins, which may take minutes.
    Started,
    /// A package does not have an extra that a requirement names, in the installer's words. The agent then usually lacks a module that it
    /// imports.
    NoExtra(String),
    /// The installation is complete, and took this long.
    Finished(Duration),
    /// The packages had been installed before.
    Reused,
}

impl fmt::Display for InstallEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, folder) = (&self.what, self.folder.display());
        match &self.step {
            InstallStep::Waiting => write!(f, "waiting for another run that installs {what}"),
            InstallStep::Started => write!(f, "installing {what} into {folder}"),
            InstallStep::NoExtra(said) => f.write_str(said),
            InstallStep::Finished(took) => {
                write!(f, "installed {what} in {:.1} s", took.as_secs_f64())
            }
            InstallStep::Reused => write!(f, "using {what} in {folder}"),
        }
    }
}
