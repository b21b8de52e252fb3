//! What scenarios require on this machine: whether it is there, and getting it.
//!
//! It never runs an agent and never installs anything system-wide: packages go into folders of a cache, one for
//! each set of packages, and a missing command is only reported.
//!
//! - [`environment`]: one such folder, what belongs into it, and whether it is complete
//! - [`installer`]: checking and installing a scenario's requirements
//! - [`interpreter`]: which Python is there
//! - [`error`]: what is missing, and why it could not be installed
//! - [`event`]: what is told while installing

pub mod error;
pub mod event;
mod fill;
pub mod installer;
pub mod interpreter;
pub mod package_folder;

pub use error::{InstallError, Missing};
pub use event::InstallEvent;
pub use installer::{Installer, Prepared, default_cache, engine};
pub use interpreter::MissingPython;
pub use package_folder::{PackageFolder, PackageManager};
