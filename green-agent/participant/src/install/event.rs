//! The progress events of an installation.

use std::{fmt, path::PathBuf, time::Duration};

/// A step of an installation. `what` is for people, such as `python packages six==1.16.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallEvent {
    /// Another run is installing the same packages; this one waits for it.
    Waiting {
        /// The packages to install, for people.
        what: String,
        /// The folder they are installed in.
        folder: PathBuf,
    },
    /// The installation begins, which may take minutes.
    Started {
        /// The packages to install, for people.
        what: String,
        /// The folder they are installed in.
        folder: PathBuf,
    },
    /// The installation is complete.
    Finished {
        /// The installed packages, for people.
        what: String,
        /// The folder they are in.
        folder: PathBuf,
        /// The duration.
        took: Duration,
    },
    /// The packages had been installed before.
    Reused {
        /// The packages found, for people.
        what: String,
        /// The folder they are in.
        folder: PathBuf,
    },
}

impl fmt::Display for InstallEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting { what, .. } => write!(f, "waiting for another run that installs {what}"),
            Self::Started { what, folder } => {
                write!(f, "installing {what} into {}", folder.display())
            }
            Self::Finished { what, took, .. } => {
                write!(f, "installed {what} in {:.1} s", took.as_secs_f64())
            }
            Self::Reused { what, folder } => write!(f, "using {what} in {}", folder.display()),
        }
    }
}
