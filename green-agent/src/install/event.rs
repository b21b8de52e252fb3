//! What an installation says about itself while it goes on.

use std::{fmt, path::PathBuf, time::Duration};

/// A step of an installation. `what` is for people, such as `python packages six==1.16.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallEvent {
    /// Another run is installing the same; this one waits for it.
    Waiting {
        /// What is to be installed.
        what: String,
        /// The folder it goes into.
        folder: PathBuf,
    },
    /// Installing begins, which may take minutes.
    Started {
        /// What is installed.
        what: String,
        /// The folder it goes into.
        folder: PathBuf,
    },
    /// It is complete.
    Finished {
        /// What was installed.
        what: String,
        /// The folder it is in.
        folder: PathBuf,
        /// How long it took.
        took: Duration,
    },
    /// It was there already.
    Reused {
        /// What was found.
        what: String,
        /// The folder it is in.
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
