//! The suite on sled, and what only a store on disk has to promise.

use std::{fs, sync::Arc};

use super::*;
use crate::store::testing::{Backend, Sample};

struct Sled(tempfile::TempDir);

impl Sled {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn settings(&self) -> SledSettings {
        SledSettings {
            page_cache: 16 << 20,
            ..SledSettings::in_folder(self.0.path())
        }
    }

    fn try_open(&self) -> Result<SledStore, StoreError> {
        SledStore::open(&self.settings())
    }
}

impl Backend for Sled {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.try_open().unwrap())
    }

    fn is_durable(&self) -> bool {
        true
    }
}

crate::store_tests!(Sled::new());

#[test]
fn a_folder_is_opened_once() {
    let backend = Sled::new();
    let _open = backend.try_open().unwrap();
    let error = backend.try_open().unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    assert!(error.to_string().ends_with("is another bridge using it?"));
}
