//! Commands that are printed for the user to repeat.

use std::path::Path;

/// Returns a path as shells read it: in quotation marks if it has characters that mean something to them.
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let (plain, quote) = if cfg!(windows) { (r"\/:._-", "''") } else { ("/:._-", r"'\''") };
    match text.chars().all(|one| one.is_alphanumeric() || plain.contains(one)) {
        true => text,
        false => format!("'{}'", text.replace('\'', quote)),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_paths_as_they_are() {
        for path in ["./a-b/bridge.toml", "/größe/token", "my dir/it's $HOME/token", "~/x"] {
            let mut shell = std::process::Command::new("sh");
            shell.arg("-c").arg(format!("printf %s {}", shell_word(Path::new(path))));
            assert_eq!(String::from_utf8(shell.output().unwrap().stdout).unwrap(), path);
        }
        assert_eq!(shell_word(Path::new("./a-b/bridge.toml")), "./a-b/bridge.toml");
    }
}
