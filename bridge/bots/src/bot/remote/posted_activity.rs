//! An activity after it was posted.

use serde::{Deserialize, Serialize};

/// An activity after it was posted.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostedActivity {
    /// Its id.
    pub(super) id: String,
    /// Whether it was dropped because the task had ended.
    pub(super) is_late: bool,
}
