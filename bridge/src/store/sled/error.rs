//! sled's errors, as those of the store.

use std::io;

use crate::store::StoreError;

/// For `map_err`: says what was being done.
pub(super) fn sled_error(doing: &str) -> impl FnOnce(sled::Error) -> StoreError {
    move |error| match error {
        sled::Error::Io(error) => StoreError::io(format!("{doing} the database"), error),
        sled::Error::Corruption { at, .. } => {
            let place = at.map_or("an unknown place".into(), |at| format!("{at:?}"));
            StoreError::corrupt("the database", &place)
        }
        error @ (sled::Error::CollectionNotFound(_)
        | sled::Error::Unsupported(_)
        | sled::Error::ReportableBug(_)) => {
            StoreError::io(format!("{doing} the database"), io::Error::other(error))
        }
    }
}
