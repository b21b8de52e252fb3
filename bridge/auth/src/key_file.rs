//! The file with the issuer's private keys, readable only by the user who runs the bridge.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bridge_program::system;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    KeyError,
    keyring::{Keyring, StoredKey},
};

/// The reason why the issuer has no keys.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum KeyFileError {
    /// The file or its folder cannot be read or written.
    #[error("the issuer's keys in {path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    /// Other users can read the file.
    #[error(
        "other users can read the issuer's keys in {path} (mode {mode:03o}): run chmod 600 {path}, or remove the \
         file to create new keys"
    )]
    NotPrivate { path: PathBuf, mode: u32 },
    /// The file is invalid.
    #[error("the issuer's keys in {path}: {problem}; remove the file to create new keys")]
    Broken { path: PathBuf, problem: String },
    /// No key could be created.
    #[error("the issuer has no key: {0}")]
    Key(KeyError),
}

/// Returns the permissions of a file if users can read or write it who should not; `None` on Windows, where the folder
/// protects it. A group to which another user, such as root, gives the file may read it.
///
/// # Errors
/// If the metadata of the file cannot be read.
pub fn not_private(file: &File) -> io::Result<Option<u32>> {
    Ok(system::exposed_mode(&file.metadata()?))
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    keys: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    made: String,
    /// The key as PKCS #8 in base64.
    private: String,
}

/// Reads the keys in this file; an empty ring if there is no file.
pub(super) fn read(path: &Path) -> Result<Keyring, KeyFileError> {
    let io = |error| KeyFileError::Io { path: path.to_owned(), error };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Keyring::default()),
        Err(error) => return Err(io(error)),
    };
    if let Some(mode) = not_private(&file).map_err(io)? {
        return Err(KeyFileError::NotPrivate { path: path.to_owned(), mode });
    }
    let text = io::read_to_string(file).map_err(io)?;
    parse(&text).map_err(|problem| KeyFileError::Broken { path: path.to_owned(), problem })
}

fn parse(text: &str) -> Result<Keyring, String> {
    let document: Document = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let keys = document.keys.iter().map(read_key);
    keys.collect::<Result<_, _>>().map(Keyring::new)
}

fn read_key(entry: &Entry) -> Result<StoredKey, String> {
    let made: Timestamp = entry.made.parse().map_err(|error| format!("made: {error}"))?;
    let pkcs8 = STANDARD.decode(&entry.private);
    let pkcs8 = pkcs8.map_err(|error| format!("private: {error}"))?;
    StoredKey::of(&pkcs8, made).map_err(|error| error.to_string())
}

/// Writes the keys to this file atomically.
pub(super) fn write(path: &Path, ring: &Keyring) -> Result<(), KeyFileError> {
    replace(path, &document(ring))
        .map_err(|error| KeyFileError::Io { path: path.to_owned(), error })
}

fn document(ring: &Keyring) -> String {
    let keys = ring.keys().iter().map(|kept| Entry {
        made: kept.made.to_string(),
        private: kept.private.expose().to_owned(),
    });
    let document = Document { keys: keys.collect() };
    serde_json::json!(document).to_string()
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    system::private_folder().create(folder)?;
    let new = path.with_extension("new");
    // A file left by an earlier attempt may have any permissions.
    if let Err(error) = fs::remove_file(&new)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut options = system::private_file();
    let mut file = options.write(true).create_new(true).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    system::sync_folder(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::testing;

    fn ring() -> Keyring {
        Keyring::new(vec![testing::stored_key(0, Timestamp::UNIX_EPOCH)])
    }

    #[test]
    fn keys_are_kept_for_their_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("issuer/keys.json");
        assert!(read(&path).unwrap().keys().is_empty());
        write(&path, &ring()).unwrap();
        write(&path, &ring()).unwrap();
        assert_eq!(not_private(&File::open(&path).unwrap()).unwrap(), None);
        let again = read(&path).unwrap();
        assert_eq!(again.keys()[0].key.public(), testing::key(0).public());
        assert!(!format!("{again:?}").contains(again.keys()[0].private.expose()));
        assert_eq!(again.keys()[0].made, Timestamp::UNIX_EPOCH);
    }

    #[test]
    fn a_file_name_alone_is_in_the_working_folder() {
        let folder = Path::new("keys.json").parent().unwrap();
        system::private_folder().create(folder).unwrap();
        system::sync_folder(folder).unwrap();
        assert!(system::sync_folder(Path::new("no such folder")).is_err());
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        write(&path, &ring()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("(mode 640)") && error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn a_broken_file_is_reported_and_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        for (text, problem) in [
            ("", "EOF while parsing"),
            (r#"{"keys": [], "more": 1}"#, "unknown field `more`"),
            (r#"{"keys": [{"made": "now", "private": ""}]}"#, "made: "),
            (r#"{"keys": [{"made": "1970-01-01T00:00:00Z", "private": "?"}]}"#, "private: "),
            (r#"{"keys": [{"made": "1970-01-01T00:00:00Z", "private": "AA=="}]}"#, "PKCS #8"),
        ] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
