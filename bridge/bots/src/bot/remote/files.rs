//! Stores the files of users and bots, which the other side downloads by URL.
//!
//! A file has an unguessable id, which is valid as long as its task is in the store. The bytes of a user's file are
//! in the task's log already, so only their location is stored. The bytes of a bot's upload are stored in pieces of
//! the size of a record.

use std::{collections::BTreeMap, sync::Arc};

use bridge_protocol::a2a::{Content, Message, Task};
use futures_util::future::{try_join, try_join_all};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::{connector_session::ConnectorError, service_url::records_owner};
use crate::{
    caller::Caller,
    clock,
    store::{Head, RecordKey, Result, Store, StoreError, decoded, encoded},
};

/// The record kind of file descriptions.
const FILE: &str = "attachment";
/// The record kind of the list of a task's files, with their sizes.
const OF_TASK: &str = "attachment-of";
/// The record kind of bytes.
const BYTES: &str = "attachment-bytes";

/// The number of bytes in one record.
const PIECE_SIZE: usize = 48 * 1024;

/// The name of the view with the file's own bytes.
pub(super) const ORIGINAL: &str = "original";
/// The name of the view with a preview image.
pub(super) const THUMBNAIL: &str = "thumbnail";

/// The description of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    caller: Caller,
    task: String,
    /// The file name, if known.
    pub name: Option<String>,
    /// The media type, if known.
    pub media_type: Option<String>,
    views: BTreeMap<String, FileView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileView {
    size: usize,
    place: BytesLocation,
}

/// The location of a view's bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum BytesLocation {
    /// In a part of one of the task's messages.
    Said { message: String, part: usize },
    /// In records.
    Kept,
}

/// A file that a bot uploads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Upload {
    /// The file name, if known.
    pub name: Option<String>,
    /// The media type, if known.
    pub media_type: Option<String>,
    /// The bytes of each view.
    pub views: BTreeMap<String, Vec<u8>>,
}

/// The files of all tasks.
#[derive(Debug)]
pub(super) struct FileStore {
    store: Arc<dyn Store>,
    limit: usize,
    per_task: usize,
    /// Is held while an upload is checked and listed, so that two at once cannot both use the last bytes of a task.
    reserving: Mutex<()>,
}

impl File {
    /// Returns the names of the views with their sizes in bytes.
    pub fn views(&self) -> impl Iterator<Item = (&str, usize)> {
        self.views.iter().map(|(name, view)| (name.as_str(), view.size))
    }
}

impl FileStore {
    /// Creates a store for files of at most `limit` bytes each and `per_task` bytes for each task.
    pub(super) fn new(store: Arc<dyn Store>, limit: usize, per_task: usize) -> Self {
        Self { store, limit, per_task, reserving: Mutex::default() }
    }

    /// Returns an id for a file that is a part of a message in the task's log.
    pub(super) async fn offer(
        &self,
        caller: &Caller,
        task: &Task,
        message: &Message,
        part: usize,
    ) -> Result<String> {
        let found = message.parts.get(part);
        let size = found.and_then(|part| raw(&part.content)).map_or(0, <[u8]>::len);
        let place = BytesLocation::Said { message: message.message_id.clone(), part };
        let file = File {
            caller: caller.clone(),
            task: task.id.clone(),
            name: found.and_then(|part| part.filename.clone()),
            media_type: found.and_then(|part| part.media_type.clone()),
            views: BTreeMap::from([(ORIGINAL.into(), FileView { size, place })]),
        };
        let id = clock::new_secret();
        // The deletion of the task finds the description in the list. The bytes are in the task, so they do not count.
        let (index, name) = (RecordKey::new(OF_TASK, &task.id, &id), RecordKey::new(FILE, "", &id));
        try_join(self.put(&index, b"0".to_vec()), self.put(&name, encoded(&file))).await?;
        Ok(id)
    }

    /// Stores an upload and returns its id.
    pub(super) async fn keep(&self, head: &Head, upload: Upload) -> Result<String, ConnectorError> {
        let size: usize = upload.views.values().map(Vec::len).sum();
        let id = clock::new_secret();
        let reserving = self.reserving.lock().await;
        self.check(head, size).await?;
        // The list is written first: a file whose writing is interrupted counts against the limit, but is not found.
        let index = RecordKey::new(OF_TASK, &*head.task, &id);
        self.put(&index, size.to_string().into_bytes()).await?;
        drop(reserving);
        for (view, bytes) in &upload.views {
            let scope = &format!("{id}.{view}");
            let pieces = bytes.chunks(PIECE_SIZE).enumerate();
            let kept = pieces.map(|(number, piece)| async move {
                let key = RecordKey::new(BYTES, scope, format!("{number:06}"));
                self.put(&key, piece.to_vec()).await
            });
            try_join_all(kept).await?;
        }
        let view = |bytes: Vec<u8>| FileView { size: bytes.len(), place: BytesLocation::Kept };
        let views = upload.views.into_iter();
        let file = File {
            caller: head.owner.clone(),
            task: head.task.to_string(),
            name: upload.name,
            media_type: upload.media_type,
            views: views.map(|(name, bytes)| (name, view(bytes))).collect(),
        };
        self.put(&RecordKey::new(FILE, "", &id), encoded(&file)).await?;
        Ok(id)
    }

    /// Returns the description of a file, if there is one.
    pub(super) async fn find(&self, id: &str) -> Result<Option<File>> {
        if id.len() != clock::SECRET {
            return Ok(None);
        }
        let key = RecordKey::new(FILE, "", id);
        let record = self.store.record(&records_owner(), &key).await?;
        record.map(|record| decoded(&key, &record)).transpose()
    }

    /// Returns the bytes of a view, if there is such a view.
    pub(super) async fn bytes(&self, id: &str, file: &File, view: &str) -> Result<Option<Vec<u8>>> {
        match file.views.get(view).map(|view| &view.place) {
            None => Ok(None),
            Some(BytesLocation::Said { message, part }) => {
                self.bytes_in_message(file, message, *part).await
            }
            Some(BytesLocation::Kept) => {
                let scope = format!("{id}.{view}");
                let pieces = self.store.records(&records_owner(), BYTES, &scope).await?;
                Ok(Some(pieces.into_iter().flat_map(|(_, piece)| piece).collect()))
            }
        }
    }

    async fn bytes_in_message(
        &self,
        file: &File,
        message: &str,
        part: usize,
    ) -> Result<Option<Vec<u8>>> {
        let task = match self.store.task(&file.caller, &file.task).await {
            Ok(found) => found.task,
            // The task is being deleted, or an earlier version has deleted it without the description.
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut history = task.history.iter();
        let message = history.find(|candidate| candidate.message_id == message);
        let part = message.and_then(|message| message.parts.get(part));
        Ok(part.and_then(|part| raw(&part.content)).map(<[u8]>::to_vec))
    }

    async fn check(&self, head: &Head, size: usize) -> Result<(), ConnectorError> {
        let others = self.store.records(&records_owner(), OF_TASK, &head.task).await?;
        let sizes = others.iter().filter_map(|(_, size)| str::from_utf8(size).ok()?.parse().ok());
        let all = sizes.fold(size, usize::saturating_add);
        let checks = [("a file", size, self.limit), ("a task", all, self.per_task)];
        match checks.into_iter().find(|(_, size, limit)| size > limit) {
            Some((of, size, limit)) => Err(ConnectorError::TooLarge { of, size, limit }),
            None => Ok(()),
        }
    }

    async fn put(&self, key: &RecordKey, value: Vec<u8>) -> Result<()> {
        self.store.put_record(&records_owner(), key, value).await
    }
}

/// Returns which of these tasks have files, in the order of the tasks.
///
/// # Errors
/// If the store fails.
pub async fn have_files(store: &dyn Store, tasks: impl Iterator<Item = &str>) -> Result<Vec<bool>> {
    let scopes: Vec<(Caller, String)> =
        tasks.map(|task| (records_owner(), task.to_owned())).collect();
    store.have_records(OF_TASK, &scopes).await
}

/// Deletes the files of a task that is deleted. The bytes of a user's file are deleted with the task.
///
/// # Errors
/// If the store fails.
pub async fn forget_files(store: &dyn Store, task: &str) -> Result<()> {
    let owner = records_owner();
    for (id, _) in store.records(&owner, OF_TASK, task).await? {
        let name = RecordKey::new(FILE, "", &id);
        let file = store.record(&owner, &name).await?;
        let file: Option<File> = file.and_then(|file| decoded(&name, &file).ok());
        // Without a description its writing or deletion was interrupted.
        let usual = || vec![ORIGINAL.to_owned(), THUMBNAIL.to_owned()];
        let views = file.map_or_else(usual, |file| file.views.into_keys().collect());
        for view in views {
            let scope = format!("{id}.{view}");
            for (piece, _) in store.records(&owner, BYTES, &scope).await? {
                let key = RecordKey::new(BYTES, &scope, &piece);
                store.delete_record(&owner, &key).await?;
            }
        }
        store.delete_record(&owner, &name).await?;
        // The list goes last, so that an interrupted deletion finds it again.
        store.delete_record(&owner, &RecordKey::new(OF_TASK, task, &id)).await?;
    }
    Ok(())
}

fn raw(content: &Content) -> Option<&[u8]> {
    match content {
        Content::Raw(bytes) => Some(bytes),
        Content::Text(_) | Content::Url(_) | Content::Data(_) | Content::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Part, Role};

    use super::*;
    use crate::{
        bot::tests::head,
        store::{MemoryStore, SledSettings, SledStore},
    };

    #[tokio::test]
    async fn a_file_of_a_deleted_task_is_not_found() {
        let files = FileStore::new(Arc::new(MemoryStore::new()), 10, 10);
        let part = Part::new(Content::Raw(b"abc".into()));
        let message = Message::new("m", Role::User, vec![part]);
        let task = Task { id: "deleted".into(), ..Task::default() };
        let id = files.offer(&Caller::anonymous(), &task, &message, 0).await.unwrap();
        let file = files.find(&id).await.unwrap().unwrap();
        assert_eq!(files.bytes(&id, &file, ORIGINAL).await.unwrap(), None);
        forget_files(&*files.store, &task.id).await.unwrap();
        assert_eq!(files.find(&id).await.unwrap(), None);
        let have_files = have_files(&*files.store, ["deleted"].into_iter()).await;
        assert_eq!(have_files.unwrap(), [false]);
    }

    #[tokio::test]
    async fn an_upload_may_be_as_large_as_the_limits_of_a_file_and_a_task() {
        let files = FileStore::new(Arc::new(MemoryStore::new()), 5, 10);
        let upload = |size: usize| Upload {
            name: None,
            media_type: None,
            views: BTreeMap::from([(ORIGINAL.into(), vec![0; size])]),
        };
        for (size, limit) in [(5, None), (6, Some(5)), (5, None), (1, Some(10))] {
            let refused = match files.keep(&head(), upload(size)).await {
                Ok(_) => None,
                Err(ConnectorError::TooLarge { limit, .. }) => Some(limit),
                Err(other) => panic!("{other}"),
            };
            assert_eq!(refused, limit, "{size}");
        }
    }

    #[tokio::test]
    async fn uploads_at_the_same_time_do_not_exceed_the_limit_of_their_task() {
        let folder = tempfile::tempdir().unwrap();
        let store = SledStore::open(&SledSettings::in_folder(folder.path())).unwrap();
        let files = FileStore::new(Arc::new(store), 10, 10);
        let head = &head();
        let upload = || Upload {
            name: None,
            media_type: None,
            views: BTreeMap::from([(ORIGINAL.into(), b"123456".to_vec())]),
        };
        let kept = tokio::join!(files.keep(head, upload()), files.keep(head, upload()));
        assert!(kept.0.is_ok(), "{:?}", kept.0);
        assert!(matches!(kept.1, Err(ConnectorError::TooLarge { size: 12, .. })), "{:?}", kept.1);
    }
}
