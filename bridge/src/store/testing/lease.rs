//! Leases.

use super::{
    Backend,
    sample::{Sample, at},
};
use crate::store::StoreError;

/// A lease is held by one, renewed by that one, and free when it ran out or was given back.
pub async fn one_holder_at_a_time(backend: &impl Backend) {
    let store = backend.open();
    let sample = Sample::new("t");
    let caller = &sample.caller;
    sample.create(&*store, 1).await;
    let acquire =
        async |holder, now, until| store.acquire(caller, "t", holder, at(now), at(until)).await;
    let renew =
        async |holder, now, until| store.renew(caller, "t", holder, at(now), at(until)).await;

    acquire("one", 0, 10).await.unwrap();
    acquire("one", 5, 20).await.unwrap();
    match acquire("two", 19, 30).await {
        Err(StoreError::Leased { holder, until, .. }) => {
            assert_eq!((holder.as_str(), until), ("one", at(20)));
        }
        other => panic!("expected that one has it, found {other:?}"),
    }
    renew("one", 19, 40).await.unwrap();
    assert!(acquire("two", 39, 50).await.is_err());
    acquire("two", 40, 50).await.unwrap();
    for (holder, now) in [("one", 41), ("two", 50), ("three", 41)] {
        let error = renew(holder, now, 99).await.unwrap_err();
        assert!(matches!(error, StoreError::LeaseLost { .. }));
    }
    store.release(caller, "t", "one").await.unwrap();
    assert!(acquire("three", 41, 60).await.is_err());
    store.release(caller, "t", "two").await.unwrap();
    acquire("three", 41, 60).await.unwrap();
}
