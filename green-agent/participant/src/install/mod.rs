//! Checks and installs the requirements of scenarios on this machine.
//!
//! It never runs an agent and never installs anything system-wide: packages go into folders of a cache, one
//! for each set of packages, and a missing command is only reported.
//!
//! - [`package_folder`]: one such folder, its packages, and whether it is complete
//! - [`installer`]: checks and installs a scenario's requirements
//! - [`interpreter`]: finds a Python interpreter
//! - [`error`]: missing requirements, and failed installations
//! - [`event`]: progress events

pub mod error;
pub mod event;
mod fill;
pub mod installer;
pub mod interpreter;
pub mod package_folder;

pub use error::{InstallError, Missing};
pub use event::{InstallEvent, InstallStep};
pub use fill::given_up_have_ended;
pub use installer::{Installer, Prepared, default_cache, engine};
pub use interpreter::MissingPython;
pub use package_folder::{PackageFolder, PackageManager};
