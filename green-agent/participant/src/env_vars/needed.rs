//! The environment variables that every program needs.

use super::secret::says_secret;
use green_agent_scenario::model::Inherits;

/// Variables for paths, the locale, the terminal, proxies and certificates. From APPDATA on they are those of Windows.
const NAMES: &str = "\
    PATH HOME USER LOGNAME SHELL TMPDIR TZ LANG LANGUAGE HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY \
    http_proxy https_proxy all_proxy no_proxy SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE \
    CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS VIRTUAL_ENV XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME \
    LD_LIBRARY_PATH APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA \
    PROGRAMFILES SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE WINDIR";

/// Prefixes of further variables: the locale, Python and uv.
const BEGINNINGS: [&str; 3] = ["LC_", "PYTHON", "UV_"];

/// Returns whether every agent gets this variable. Variables that hold credentials are excluded.
pub(super) fn by_all(name: &str) -> bool {
    let begins = BEGINNINGS.iter().any(|one| name.starts_with(one));
    // Windows writes some names in small letters, such as `Path`.
    let is_it = |one: &str| one == name || (cfg!(windows) && one.eq_ignore_ascii_case(name));
    NAMES.split(' ').any(is_it) || (begins && !says_secret(name))
}

/// Returns whether an agent gets this variable of the runner's environment or of `.env`.
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
