use std::{net::IpAddr, num::NonZeroU32, time::Duration};

use tokio::time::advance;

use super::{
    Exceeded, Limit, Quota, QuotaSettings,
    buckets::{Buckets, CallerState, Pace},
};
use crate::{caller::Caller, metrics::Metrics};

fn of(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

/// Returns limits of ten requests a second, two streams, three open tasks, four wrong credentials a minute.
fn quota() -> Quota {
    let settings = QuotaSettings {
        requests: of(10),
        requests_at_once: of(5),
        streams: of(2),
        open_tasks: of(3),
        wrong_credentials: of(4),
    };
    Quota::new(settings, Metrics::default())
}

fn address(text: &str) -> Option<IpAddr> {
    Some(text.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_is_too_fast_waits_and_is_then_refused() {
    let (quota, alice) = (quota(), Caller::new("alice"));
    let ask = |caller: &Caller| {
        let admitted = quota.request("a", caller, None);
        admitted.map(|admission| admission.wait)
    };
    for _ in 0..20 {
        assert_eq!(ask(&alice), Ok(None), "two seconds' worth at once");
    }
    for tenth in 1..=10 {
        let wait = Duration::from_millis(100 * tenth);
        assert_eq!(ask(&alice), Ok(Some(wait)));
    }
    let refused = ask(&alice).unwrap_err();
    assert_eq!((refused.limit, refused.retry_after), (Limit::Requests, 2));
    assert_eq!(ask(&Caller::new("bob")), Ok(None), "others notice nothing");
    assert_eq!(ask(&alice.within("other")), Err(refused), "tenants do not help");
    // Refused requests use no tokens.
    advance(Duration::from_secs(1)).await;
    assert_eq!(ask(&alice), Ok(Some(Duration::from_millis(100))));
    advance(Duration::from_secs(10)).await;
    assert_eq!(ask(&alice), Ok(None));
}

#[tokio::test(start_paused = true)]
async fn callers_without_credentials_are_distinguished_by_address() {
    let (quota, nobody) = (quota(), Caller::anonymous());
    let refused_of = |source: Option<IpAddr>| {
        let asked = (0..50).map(|_| quota.request("a", &nobody, source));
        asked.filter(Result::is_err).count()
    };
    for (source, refused) in [
        (address("192.0.2.1"), 20),
        (address("192.0.2.2"), 20),
        (address("2001:db8::1"), 20),
        (address("2001:db8::2"), 50),
        (address("2001:db8:0:1::1"), 20),
        (address("127.0.0.1"), 0),
        (address("::ffff:127.0.0.1"), 0),
        (address("::1"), 0),
        (None, 0),
    ] {
        assert_eq!(refused_of(source), refused, "{source:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn so_many_requests_of_a_caller_are_answered_at_once() {
    let (quota, alice) = (quota(), Caller::new("alice"));
    let ask = |caller: &Caller| quota.request("a", caller, None);
    let mut held: Vec<_> = (0..5).map(|_| ask(&alice).unwrap()).collect();
    let refused = ask(&alice.within("other")).unwrap_err();
    assert_eq!((refused.limit, refused.retry_after), (Limit::RequestsAtOnce, 1));
    assert!(ask(&Caller::new("bob")).is_ok(), "others notice nothing");
    // A request counts as long as it is being answered.
    advance(Duration::from_secs(3_600)).await;
    assert!(ask(&alice).is_err());
    held.pop();
    assert!(ask(&alice).is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_ended_stream_leaves_its_place() {
    let (quota, alice) = (quota(), Caller::new("alice"));
    let open = |caller: &Caller| quota.stream("a", caller, None);
    let mut held = vec![open(&alice), open(&alice)];
    assert_eq!(open(&alice).err().map(|it| it.limit), Some(Limit::Streams));
    assert!(open(&Caller::new("bob")).is_ok());
    // A caller is not forgotten as long as its stream is open.
    advance(Duration::from_secs(3_600)).await;
    assert!(open(&alice).is_err());
    held.pop();
    assert!(open(&alice).is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_store_counts_open_tasks_only_when_it_has_to() {
    let (quota, alice) = (quota(), Caller::new("alice"));
    let asked = std::cell::Cell::new(0);
    let begin = async |open: usize| {
        let count = async {
            asked.set(asked.get() + 1);
            Ok::<_, ()>(open)
        };
        quota.task("a", &alice, count).await.unwrap()
    };
    for _ in 0..3 {
        assert_eq!(begin(0).await, Ok(()));
    }
    assert_eq!(asked.get(), 1);
    // One of the tasks has ended.
    assert_eq!(begin(2).await, Ok(()));
    assert_eq!(asked.get(), 2);
    assert_eq!(begin(3).await.map_err(|it| it.limit), Err(Limit::OpenTasks));
    assert!(begin(0).await.is_err(), "the refusal counts for a second");
    assert_eq!(asked.get(), 3);
    advance(Duration::from_secs(2)).await;
    assert_eq!(begin(0).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn guesses_block_no_other_address() {
    let (quota, attacker) = (quota(), address("192.0.2.1"));
    let may_try = |source, shown: &str| quota.may_try("a", source, || shown.to_owned());
    quota.right(|| "before anybody guessed".to_owned());
    quota.wrong(attacker);
    quota.right(|| "good".to_owned());
    for _ in 0..3 {
        assert_eq!(may_try(attacker, "guess"), Ok(()));
        quota.wrong(attacker);
    }
    let refused: Exceeded = may_try(attacker, "guess").unwrap_err();
    assert_eq!((refused.limit, refused.retry_after), (Limit::WrongCredentials, 15));
    assert_eq!(may_try(attacker, "good"), Ok(()), "the same address");
    assert!(may_try(attacker, "before anybody guessed").is_err());
    assert_eq!(may_try(address("192.0.2.2"), "guess"), Ok(()));
    advance(Duration::from_secs(15)).await;
    assert_eq!(may_try(attacker, "guess"), Ok(()));
    quota.wrong(attacker);
    assert!(may_try(attacker, "guess").is_err());
}

#[test]
fn very_many_callers_take_no_more_memory() {
    let (buckets, pace) = (Buckets::keeping_counts(), Pace::new(of(1), Duration::from_secs(60), 1));
    let now = Duration::from_secs(1);
    let stays = buckets.key(&"stays");
    buckets.with(stays, now, |state| state.count = 1);
    for number in 0..200_000 {
        let key = buckets.key(&number);
        let _ = buckets.with(key, now, |state| pace.take(state, now, Duration::ZERO));
    }
    assert!(buckets.len() <= 64 << 10, "{}", buckets.len());
    assert_eq!(buckets.with(stays, now, |state| state.count), 1);
    assert!(size_of::<(u64, CallerState)>() <= 40);
}

#[test]
fn an_idle_caller_is_forgotten() {
    let (buckets, now) = (Buckets::default(), Duration::from_secs(5));
    buckets.with(1, now, |state| state.until = now + Duration::from_secs(1));
    assert_eq!(buckets.len(), 1);
    buckets.with(1, now + Duration::from_secs(1), |_| ());
    assert_eq!(buckets.len(), 0);
}
