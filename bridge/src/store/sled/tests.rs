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

#[test]
fn a_newer_format_is_left_alone() {
    let backend = Sled::new();
    let store = backend.try_open().unwrap();
    store
        .view
        .reader
        .0
        .insert(keys::FORMAT, &99_u32.to_be_bytes())
        .unwrap();
    drop(store);
    let error = backend.try_open().unwrap_err();
    assert!(
        matches!(error, StoreError::Newer { found: 99, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn large_events_stand_in_files_that_outlive_a_sweep() {
    let backend = Sled::new();
    let sample = Sample::new("t");
    let metadata = |size| {
        let text = serde_json::Value::from("x".repeat(size));
        let metadata = [("k".to_owned(), text)].into_iter().collect();
        super::super::Event::Metadata { metadata }
    };
    let files = || {
        fs::read_dir(backend.0.path().join("content"))
            .unwrap()
            .count()
    };
    let store = backend.try_open().unwrap();
    sample.create(&store, 1).await;
    sample.then(&store, 2, metadata(INLINE)).await;
    assert_eq!(files(), 1);
    let refused = sample.append(1, 3, vec![metadata(INLINE)]);
    store.append(&sample.caller, refused).await.unwrap_err();
    assert_eq!(files(), 1, "a conflict writes no file");
    drop(store);
    fs::write(backend.0.path().join("content/left"), b"behind").unwrap();
    let store = backend.try_open().unwrap();
    assert_eq!(files(), 1);
    assert!(
        store
            .task(&sample.caller, "t")
            .await
            .unwrap()
            .task
            .metadata
            .is_some()
    );
}

#[tokio::test]
async fn sled_makes_no_blob_files() {
    let backend = Sled::new();
    let store = backend.try_open().unwrap();
    let sample = Sample::new("t");
    sample.create(&store, 1).await;
    for size in [1, 1 << 10, 8 << 10, INLINE - 100, 2 * INLINE] {
        let text = serde_json::Value::from("x".repeat(size));
        let metadata = [("k".to_owned(), text)].into_iter().collect();
        sample
            .then(&store, 2, super::super::Event::Metadata { metadata })
            .await;
    }
    let blobs = fs::read_dir(backend.0.path().join("blobs")).unwrap();
    assert_eq!(blobs.count(), 0);
}

#[tokio::test]
async fn a_missing_event_is_noticed() {
    let backend = Sled::new();
    let store = backend.try_open().unwrap();
    let sample = Sample::new("t");
    sample.create(&store, 1).await;
    for turn in [1, 2] {
        let metadata = Default::default();
        sample
            .then(&store, turn, super::super::Event::Metadata { metadata })
            .await;
    }
    store.view.reader.0.remove(keys::events("t", 4)).unwrap();
    drop(store);
    let store = backend.try_open().unwrap();
    for error in [
        store.read(&sample.caller, "t", 0, 99).await.unwrap_err(),
        store.task(&sample.caller, "t").await.unwrap_err(),
    ] {
        assert_eq!(
            error.to_string(),
            "task t is corrupt: the events after 3 are missing"
        );
    }
}

#[tokio::test]
async fn ids_have_a_limit() {
    let backend = Sled::new();
    let store = backend.try_open().unwrap();
    let sample = Sample::new("t").within(&"c".repeat(17 << 10));
    let append = sample.append(0, 1, vec![sample.created()]);
    let error = store.append(&sample.caller, append).await.unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
    let error = store.head(&sample.caller, "t").await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
}
