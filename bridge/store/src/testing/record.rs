//! Tests of small records.

use super::Backend;
use crate::{RecordKey, StoreError, caller::Caller};

/// Checks that records can be stored, replaced, listed by scope and removed, and that each caller has its own records.
pub async fn small_records_are_read_back(backend: &impl Backend) {
    let store = backend.open();
    let (alice, bob) = (Caller::new("alice"), Caller::new("bob"));
    let key = |scope: &str, id: &str| RecordKey {
        kind: "push".into(),
        scope: scope.into(),
        id: id.into(),
    };
    for (caller, scope, id, value) in [
        (&alice, "t", "b", "old"),
        (&alice, "t", "b", "two"),
        (&alice, "t", "a", "one"),
        (&alice, "tt", "c", "other scope"),
        (&bob, "t", "d", "other caller"),
    ] {
        let key = key(scope, id);
        store.put_record(caller, &key, value.into()).await.unwrap();
    }
    let records = store.records(&alice, "push", "t").await.unwrap();
    assert_eq!(records, [("a".into(), b"one".to_vec()), ("b".into(), b"two".to_vec())]);
    let one = store.record(&alice, &key("t", "b")).await.unwrap();
    assert_eq!(one.as_deref(), Some(b"two".as_slice()));
    assert_eq!(store.record(&bob, &key("t", "b")).await.unwrap(), None);

    assert!(store.delete_record(&alice, &key("t", "b")).await.unwrap());
    assert!(!store.delete_record(&alice, &key("t", "b")).await.unwrap());
    assert!(!store.delete_record(&alice, &key("t", "d")).await.unwrap());
    assert_eq!(store.records(&alice, "push", "t").await.unwrap().len(), 1);
    assert_eq!(store.records(&bob, "push", "t").await.unwrap().len(), 1);

    let scopes = [(&alice, "t"), (&bob, "tt"), (&alice, "tt"), (&alice, "")];
    let scopes = scopes.map(|(caller, scope)| (caller.clone(), scope.to_owned()));
    let found = store.have_records("push", &scopes).await.unwrap();
    assert_eq!(found, [true, false, true, false]);
    let found = store.have_records("other", &scopes).await.unwrap();
    assert_eq!(found, [false; 4]);
    assert!(store.have_records("push", &[]).await.unwrap().is_empty());

    // Nothing lies between the records of these callers.
    for caller in ["carol", "dave"] {
        store.put_record(&Caller::new(caller), &key("t", "x"), caller.into()).await.unwrap();
    }
    let records = store.records(&Caller::new("carol"), "push", "t").await.unwrap();
    assert_eq!(records, [("x".into(), b"carol".to_vec())]);

    let large = store.put_record(&alice, &key("t", "l"), vec![0; 1 << 20]).await;
    assert!(matches!(large, Err(StoreError::TooLarge { .. })));
}
