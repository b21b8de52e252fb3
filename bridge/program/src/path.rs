//! Finds programs as the operating system does.

use std::{
    ffi::{OsStr, OsString},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Returns the folders in the PATH of this process.
pub fn inherited() -> Vec<PathBuf> {
    folders(&std::env::var_os("PATH").unwrap_or_default())
}

/// Splits a PATH into folders. An empty entry, which would mean the current folder, is omitted.
pub fn folders(path: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| !folder.as_os_str().is_empty())
        .collect()
}

/// Joins folders into a PATH. A folder whose name contains a colon cannot be in a PATH and is omitted.
pub fn joined(folders: &[PathBuf]) -> OsString {
    let usable = folders.iter().filter(|folder| {
        let name = folder.as_os_str().as_encoded_bytes();
        !name.contains(&b':')
    });
    std::env::join_paths(usable).unwrap_or_default()
}

/// Returns the file of a program: a name with a slash is relative to `working_dir`; any other name is the first
/// executable of that name in the folders.
pub fn find(program: &str, folders: &[PathBuf], working_dir: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(working_dir.join(program)).filter(|file| is_executable(file));
    }
    let mut places = folders
        .iter()
        .map(|folder| working_dir.join(folder).join(program));
    places.find(|file| !program.is_empty() && is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_executable_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        for (folder, mode) in [(&one, 0o644), (&two, 0o755)] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("tool"), "").unwrap();
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(folder.join("tool"), mode).unwrap();
        }
        let found = |program| find(program, &[one.clone(), two.clone()], dir.path());
        assert_eq!(found("tool"), Some(two.join("tool")));
        assert_eq!(found("two/tool"), Some(two.join("tool")));
        assert_eq!(found("./one/tool"), None);
        assert_eq!(found("other"), None);
        assert_eq!(found(""), None);
    }

    #[test]
    fn a_folder_that_no_path_can_hold_is_left_out() {
        let path = joined(&["/a".into(), "/b:c".into(), "/d".into()]);
        assert_eq!(path, "/a:/d");
    }
}
