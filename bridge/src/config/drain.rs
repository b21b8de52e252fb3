//! The end of the program, in the configuration file.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Period;

/// The times between a request to stop, by Ctrl-C or SIGTERM, and the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrainConfig {
    /// The time for which everything is served while /readyz says that the bridge stops, so that load balancers notice
    /// it; none if absent.
    pub notice: Option<Period>,
    /// The time that running turns have to end, after the notice; 5s if absent. When it begins, streams are broken off, so
    /// that clients resume them elsewhere, and nothing new is accepted. The next start recovers turns that have not ended.
    pub turns: Option<Period>,
}
