//! Computes and checks digests of content (image specification, "Digests").

use sha2::{Digest as _, Sha256, Sha512};

/// Returns the SHA-256 digest of these bytes.
pub(super) fn of(bytes: &[u8]) -> String {
    format!("sha256:{:x}", Sha256::digest(bytes))
}

/// Checks bytes against their expected digest.
pub(super) fn check(bytes: &[u8], expected: &str) -> Result<(), String> {
    let found = match expected.split_once(':').map(|(algorithm, _)| algorithm) {
        Some("sha256") => of(bytes),
        Some("sha512") => format!("sha512:{:x}", Sha512::digest(bytes)),
        Some(_) | None => return Err(format!("expected sha256 or sha512, found {expected:?}")),
    };
    match found == expected {
        true => Ok(()),
        false => Err(format!("expected the digest {expected}, found {found}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_their_digests_and_no_others() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(of(b""), empty);
        let long = format!("sha512:{:x}", Sha512::digest(b"x"));
        assert_eq!(check(b"", empty), Ok(()));
        assert_eq!(check(b"x", &long), Ok(()));
        for (expected, told) in [
            (empty, "expected the digest sha256:e3b0"),
            ("md5:1", "expected sha256 or sha512, found \"md5:1\""),
            ("none", "expected sha256 or sha512"),
        ] {
            let error = check(b"x", expected).unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
    }
}
