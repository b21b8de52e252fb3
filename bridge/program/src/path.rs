//! Finds programs as the operating system does.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use crate::system::{self, SEPARATORS};

/// Returns the folders in the PATH of this process.
pub fn inherited() -> Vec<PathBuf> {
    folders(&std::env::var_os("PATH").unwrap_or_default())
}

/// Splits a PATH into folders. An empty entry, which would mean the current folder, is omitted.
pub fn folders(path: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty()).collect()
}

/// Joins folders into a PATH. A folder whose name contains a colon, or a quotation mark on Windows, cannot be in a PATH and is
/// omitted.
pub fn joined(folders: &[PathBuf]) -> OsString {
    let usable = folders.iter().filter(|folder| system::can_be_in_path(folder));
    std::env::join_paths(usable).unwrap_or_default()
}

/// Returns the file of a program: a name with a slash is relative to `working_dir`; any other name is the first
/// executable of that name in the folders. On Windows `.exe` and the like may be missing in the name.
pub fn find(program: &str, folders: &[PathBuf], working_dir: &Path) -> Option<PathBuf> {
    if is_place(program) {
        return system::executable(&working_dir.join(program));
    }
    let mut places = folders.iter().map(|folder| working_dir.join(folder).join(program));
    match program {
        "" => None,
        _ => places.find_map(|file| system::executable(&file)),
    }
}

/// Returns whether a program is named by its place, with a slash, and not searched in PATH.
pub fn is_place(program: &str) -> bool {
    program.contains(SEPARATORS)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

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
