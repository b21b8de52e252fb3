//! Folders that are slow to fill, filled once and kept below `target/`.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::running::target;

/// Written last: a folder without it was not filled to its end.
const MARKER: &str = "ready";

/// Returns a folder of this kind that contains the wanted packages. Tests that want the same at the same time wait for
/// the first.
pub(crate) async fn folder(
    kind: &str,
    wanted: &[&str],
    fill: impl AsyncFnOnce(&Path, &[&str]),
) -> PathBuf {
    let listed = wanted.join("\n");
    let hash = format!("{:x}", Sha256::digest(&listed));
    let folder = target().join(kind).join(&hash[..16]);
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    let lock = File::create(folder.with_extension("lock")).unwrap();
    // The test that holds the lock has a separate time limit.
    let _lock = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock))
        .await
        .unwrap()
        .expect("the folder's lock can be had");
    if fs::read_to_string(folder.join(MARKER)).ok().as_deref() != Some(&*listed) {
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        fill(&folder, wanted).await;
        fs::write(folder.join(MARKER), &listed).unwrap();
    }
    folder
}
