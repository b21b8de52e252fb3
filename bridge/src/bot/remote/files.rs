//! Files on their way: what users send by bytes and what bots upload, for the other side to fetch.
//!
//! A file is found by an unguessable id for as long as its task is in the store. The bytes of a user's
//! file stand in the task's log already, so only their place is kept; those of a bot's upload are kept in
//! pieces of the size of a record.

use std::{collections::BTreeMap, sync::Arc};

use bridge_protocol::a2a::{Content, Message, Task};
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};

use super::service_url::records_owner;
use crate::{
    caller::Caller,
    clock,
    store::{Head, RecordKey, Store, StoreError, decoded, encoded},
};

/// The records that say what a file is.
const FILE: &str = "attachment";
/// The records that say which files a task has, with their sizes.
const OF_TASK: &str = "attachment-of";
/// The records that hold the bytes.
const BYTES: &str = "attachment-bytes";

/// How many bytes stand in one record.
const PIECE_SIZE: usize = 48 * 1024;

/// The view of a file that is the file itself.
pub(crate) const ORIGINAL: &str = "original";
/// The view of a file that is a small picture of it.
pub(crate) const THUMBNAIL: &str = "thumbnail";

/// What is known of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct File {
    caller: Caller,
    task: String,
    /// Its name, if it has one.
    pub(crate) name: Option<String>,
    /// Its media type, if it is known.
    pub(crate) media_type: Option<String>,
    views: BTreeMap<String, FileView>,
}

/// One way to see a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileView {
    size: usize,
    place: BytesLocation,
}

/// Where the bytes are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum BytesLocation {
    /// In a part of a message of the task.
    Said { message: String, part: usize },
    /// In records of their own.
    Kept,
}

/// A file that a bot uploads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Upload {
    /// Its name, if it has one.
    pub(crate) name: Option<String>,
    /// Its media type, if it is known.
    pub(crate) media_type: Option<String>,
    /// The bytes of each view.
    pub(crate) views: BTreeMap<String, Vec<u8>>,
}

/// Why an upload is not kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UploadError {
    /// It is too large by itself, or with the others.
    #[error("expected at most {limit} bytes {of}, found {size}")]
    TooLarge {
        of: &'static str,
        size: usize,
        limit: usize,
    },
    /// The store failed.
    #[error("the file could not be kept: {0}")]
    Store(#[from] StoreError),
}

/// All files of all tasks.
#[derive(Debug)]
pub(super) struct FileStore {
    store: Arc<dyn Store>,
    limit: usize,
    per_task: usize,
}

impl File {
    /// The names of its views, with their sizes in bytes.
    pub(crate) fn views(&self) -> impl Iterator<Item = (&str, usize)> {
        self.views
            .iter()
            .map(|(name, view)| (name.as_str(), view.size))
    }
}

impl FileStore {
    /// Files of which each has at most `limit` bytes, and those of one task `per_task`.
    pub(super) fn new(store: Arc<dyn Store>, limit: usize, per_task: usize) -> Self {
        Self {
            store,
            limit,
            per_task,
        }
    }

    /// The id under which a file is found that is a part of a message in the task's log.
    pub(super) async fn offer(
        &self,
        caller: &Caller,
        task: &Task,
        message: &Message,
        part: usize,
    ) -> Result<String, StoreError> {
        let said = message.parts.get(part);
        let size = said
            .and_then(|part| raw(&part.content))
            .map_or(0, <[u8]>::len);
        let place = BytesLocation::Said {
            message: message.message_id.clone(),
            part,
        };
        let file = File {
            caller: caller.clone(),
            task: task.id.clone(),
            name: said.and_then(|part| part.filename.clone()),
            media_type: said.and_then(|part| part.media_type.clone()),
            views: BTreeMap::from([(ORIGINAL.into(), FileView { size, place })]),
        };
        let id = clock::new_secret();
        self.put(&key(FILE, "", &id), encoded(&file)).await?;
        Ok(id)
    }

    /// Keeps an upload of the task's bot and gives the id under which it is found.
    pub(super) async fn keep(&self, head: &Head, upload: Upload) -> Result<String, UploadError> {
        let size: usize = upload.views.values().map(Vec::len).sum();
        self.check(head, size).await?;
        let id = clock::new_secret();
        // The index first: what is cut off in the middle counts, but is not found.
        let index = key(OF_TASK, &head.task, &id);
        self.put(&index, size.to_string().into_bytes()).await?;
        for (view, bytes) in &upload.views {
            let scope = &format!("{id}.{view}");
            let pieces = bytes.chunks(PIECE_SIZE).enumerate();
            let kept = pieces.map(|(number, piece)| async move {
                let key = key(BYTES, scope, &format!("{number:06}"));
                self.put(&key, piece.to_vec()).await
            });
            try_join_all(kept).await?;
        }
        let view = |bytes: Vec<u8>| FileView {
            size: bytes.len(),
            place: BytesLocation::Kept,
        };
        let views = upload.views.into_iter();
        let file = File {
            caller: head.owner.clone(),
            task: head.task.clone(),
            name: upload.name,
            media_type: upload.media_type,
            views: views.map(|(name, bytes)| (name, view(bytes))).collect(),
        };
        self.put(&key(FILE, "", &id), encoded(&file)).await?;
        Ok(id)
    }

    /// What is known of a file, if there is one.
    pub(super) async fn find(&self, id: &str) -> Result<Option<File>, StoreError> {
        if id.len() != clock::SECRET {
            return Ok(None);
        }
        let key = key(FILE, "", id);
        let record = self.store.record(&records_owner(), &key).await?;
        record.map(|record| decoded(&key, &record)).transpose()
    }

    /// The bytes of a view, if there is such a view.
    pub(super) async fn bytes(
        &self,
        id: &str,
        file: &File,
        view: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        match file.views.get(view).map(|view| &view.place) {
            None => Ok(None),
            Some(BytesLocation::Said { message, part }) => self.said(file, message, *part).await,
            Some(BytesLocation::Kept) => {
                let scope = format!("{id}.{view}");
                let pieces = self.store.records(&records_owner(), BYTES, &scope).await?;
                Ok(Some(
                    pieces.into_iter().flat_map(|(_, piece)| piece).collect(),
                ))
            }
        }
    }

    async fn said(
        &self,
        file: &File,
        message: &str,
        part: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let task = self.store.task(&file.caller, &file.task).await?.task;
        let mut history = task.history.iter();
        let message = history.find(|said| said.message_id == message);
        let part = message.and_then(|message| message.parts.get(part));
        Ok(part.and_then(|part| raw(&part.content)).map(<[u8]>::to_vec))
    }

    async fn check(&self, head: &Head, size: usize) -> Result<(), UploadError> {
        let others = self
            .store
            .records(&records_owner(), OF_TASK, &head.task)
            .await?;
        let sizes = others
            .iter()
            .filter_map(|(_, size)| str::from_utf8(size).ok()?.parse().ok());
        let all = sizes.fold(size, usize::saturating_add);
        let checks = [("a file", size, self.limit), ("a task", all, self.per_task)];
        match checks.into_iter().find(|(_, size, limit)| size > limit) {
            Some((of, size, limit)) => Err(UploadError::TooLarge { of, size, limit }),
            None => Ok(()),
        }
    }

    async fn put(&self, key: &RecordKey, value: Vec<u8>) -> Result<(), StoreError> {
        self.store.put_record(&records_owner(), key, value).await
    }
}

fn raw(content: &Content) -> Option<&[u8]> {
    match content {
        Content::Raw(bytes) => Some(bytes),
        Content::Text(_) | Content::Url(_) | Content::Data(_) | Content::Unknown => None,
    }
}

fn key(kind: &str, scope: &str, id: &str) -> RecordKey {
    RecordKey {
        kind: kind.into(),
        scope: scope.into(),
        id: id.into(),
    }
}
