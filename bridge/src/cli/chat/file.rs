//! Reads files to send.

use std::{fs::File, io::Read as _, path::Path};

use bridge_protocol::a2a::{Content, Part};

/// The size of the largest file, in bytes; agents refuse larger messages.
const LIMIT: u64 = 16 << 20;

/// Media types by file extension, for common files.
const TYPES: [(&str, &str); 14] = [
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("mp3", "audio/mpeg"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("txt", "text/plain"),
    ("wav", "audio/wav"),
    ("webp", "image/webp"),
    ("xml", "application/xml"),
];

/// Reads a file as a part of a message.
pub(super) fn part(path: &Path) -> Result<Part, String> {
    let message = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut bytes = Vec::new();
    // The size of a device or pipe is not in its metadata.
    let read = File::open(path).and_then(|file| file.take(LIMIT + 1).read_to_end(&mut bytes));
    if read.map_err(|error| message(&error))? as u64 > LIMIT {
        return Err(message(&format!("expected at most {LIMIT} bytes, found more")));
    }
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let known = TYPES.iter().find(|(name, _)| Some(*name) == ending.as_deref());
    let media_type = known.map_or("application/octet-stream", |(_, kind)| kind);
    Ok(Part {
        filename: path.file_name().map(|name| name.to_string_lossy().into_owned()),
        media_type: Some(media_type.to_owned()),
        ..Part::new(Content::Raw(bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_without_an_end_is_refused() {
        let error = part(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error, "/dev/zero: expected at most 16777216 bytes, found more");
    }
}
