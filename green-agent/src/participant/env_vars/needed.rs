//! Which variables every program needs, whoever wrote it.

use super::secret::says_secret;
use crate::scenario::model::Inherits;

/// Where things are, how text is written, how the network is reached and who is trusted there.
const NAMES: [&str; 27] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TZ",
    "LANG",
    "LANGUAGE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "LD_LIBRARY_PATH",
];

/// The locale, and the variables of Python and uv.
const BEGINNINGS: [&str; 3] = ["LC_", "PYTHON", "UV_"];

/// Whether every agent gets a variable; those that hold credentials it does not.
pub(super) fn by_all(name: &str) -> bool {
    let begins = BEGINNINGS.iter().any(|one| name.starts_with(one));
    NAMES.contains(&name) || (begins && !says_secret(name))
}

/// Whether an agent gets a variable of the runner's environment or of `.env`.
pub(super) fn is_given(name: &str, inherits: &Inherits) -> bool {
    let is_it = |pattern: &String| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    };
    match inherits {
        Inherits::Everything => true,
        Inherits::Named(names) => by_all(name) || names.iter().any(is_it),
    }
}
