//! The stored form of settings, with keys and without.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::*;
use crate::{auth::Secret, store::RecordKey};

/// The texts that must not appear unencrypted in the store.
const SECRET: &str = "hunter2";

fn config() -> Value {
    let authentication = json!({"scheme": "Bearer", "credentials": SECRET});
    let url = format!("https://one.test/{SECRET}");
    json!({"id": "a", "url": url, "token": SECRET, "authentication": authentication})
}

/// Returns keys that are filled with these numbers.
fn seal(keys: &[u8]) -> Seal {
    let mut seal = Seal::default();
    for key in keys {
        let key = STANDARD.encode([*key; 32]);
        seal.add(&Secret::new(key)).unwrap();
    }
    seal
}

impl World {
    fn with_keys(self, keys: &[u8]) -> Self {
        self.restarted(seal(keys))
    }

    async fn record(&self) -> String {
        let name = RecordKey { kind: "push".into(), scope: "t".into(), id: "a".into() };
        let record = self.store.record(&me(), &name).await.unwrap().unwrap();
        String::from_utf8(record).unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_encrypts_only_what_is_stored() {
    for (keys, is_sealed) in [(&[][..], false), (&[1], true)] {
        let world = world().with_keys(keys);
        let head = world.begin("t").await;
        world.set(&head, config()).await.unwrap();
        assert_eq!(!world.record().await.contains(SECRET), is_sealed);
        let got = world.push.get(&me(), "t", "a").await.unwrap().unwrap();
        assert_eq!(got.token.as_deref(), Some(SECRET));
        assert_eq!(world.push.list(&me(), "t").await.unwrap(), [got]);
        world.status("t", TaskState::Completed).await;
        world.let_pass(SECOND).await;
        let (_, delivery) = world.sender.sent.lock().unwrap().remove(0);
        assert_eq!(delivery.headers["authorization"], "Bearer hunter2");
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_key_rotation_a_restart_re_encrypts_open_settings() {
    let mut world = world();
    let head = world.begin("t").await;
    world.set(&head, config()).await.unwrap();
    let mut records = vec![world.record().await];
    for keys in [&[1][..], &[2, 1], &[2], &[]] {
        world = world.with_keys(keys);
        let expected = usize::from(!keys.is_empty());
        assert_eq!(world.push.resume().await.unwrap(), expected, "{keys:?}");
        records.push(world.record().await);
    }
    assert!(records[0].contains(SECRET));
    assert!(records[1..].iter().all(|record| !record.contains(SECRET)));
    let is_same: Vec<_> = records.windows(2).map(|pair| pair[0] == pair[1]).collect();
    assert_eq!(is_same, [false, false, true, true]);
}

#[tokio::test(start_paused = true)]
async fn a_setting_without_its_key_waits_for_the_key() {
    let world = world().with_keys(&[1]);
    let head = world.begin("t").await;
    world.set(&head, config()).await.unwrap();
    let world = world.with_keys(&[2]);
    assert_eq!(world.push.resume().await.unwrap(), 0);
    world.status("t", TaskState::Completed).await;
    world.let_pass(100 * SECOND).await;
    assert!(world.sent("one.test").is_empty());
    let undelivered = world.push.undelivered().await.unwrap();
    let [one] = &undelivered[..] else {
        panic!("{undelivered:?}");
    };
    assert_eq!((one.host.as_str(), one.seq), ("one.test:443", 3));
    let expected = "which is not configured: add it to push.seal";
    assert!(one.reason.ends_with(expected), "{}", one.reason);
    assert_eq!(world.counted(), (0, 1));
    assert!(world.push.get(&me(), "t", "a").await.is_err());
    assert!(world.push.retry(one).await.is_err());

    let world = world.with_keys(&[2, 1]);
    assert_eq!(world.push.resume().await.unwrap(), 0);
    assert!(world.push.retry(one).await.unwrap());
    world.let_pass(SECOND).await;
    assert_eq!(world.sent("one.test"), ["TASK_STATE_COMPLETED"]);
}

#[tokio::test(start_paused = true)]
async fn a_setting_without_its_key_can_be_removed_and_replaced() {
    let world = world().with_keys(&[1]);
    let head = world.begin("t").await;
    world.set(&head, config()).await.unwrap();
    let world = world.with_keys(&[2]);
    world.set(&head, config()).await.unwrap();
    assert!(world.push.get(&me(), "t", "a").await.unwrap().is_some());
    let world = world.with_keys(&[3]);
    world.push.remove(&me(), "t", "a").await.unwrap();
    assert!(world.push.list(&me(), "t").await.unwrap().is_empty());
}
