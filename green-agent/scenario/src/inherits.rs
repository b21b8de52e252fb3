//! The environment variables that agents get from the caller.

/// The variables that a started agent inherits from the runner's environment and from `.env`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inherits {
    /// All of them: `env = "inherit"`, and the default of plain AgentBeats files.
    Everything,
    /// Those that every program needs, and those with these names; a `*` at the end matches any rest.
    Named(Vec<String>),
}

impl Inherits {
    /// Adds the variables of another setting.
    pub fn extend(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Everything, _) => {}
            (Self::Named(_), Self::Everything) => *self = Self::Everything,
            (Self::Named(names), Self::Named(others)) => names.extend_from_slice(others),
        }
    }
}

impl Default for Inherits {
    fn default() -> Self {
        Self::Named(Vec::new())
    }
}
