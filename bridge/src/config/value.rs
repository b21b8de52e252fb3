//! Types of values with their own syntax.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ipnet::IpNet;
use jiff::{SignedDuration, Span, SpanRelativeTo};
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};
use toml::Spanned;
use url::{Host, Url};

use crate::host;

/// Reads a value as it stands in the file, for flags.
pub(crate) fn parsed<T: TryFrom<String>>(text: &str) -> Result<T, T::Error> {
    text.to_owned().try_into()
}

/// Reads a text with its own syntax. A value without quotes is refused with the advice in `expected`.
struct Quoted<T> {
    expected: &'static str,
    parse: fn(&str) -> Result<T, String>,
}

fn quoted<'de, D: Deserializer<'de>, T>(
    from: D,
    expected: &'static str,
    parse: fn(&str) -> Result<T, String>,
) -> Result<T, D::Error> {
    from.deserialize_str(Quoted { expected, parse })
}

impl<T> Visitor<'_> for Quoted<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }
}

/// Reads an address to listen on.
pub(crate) fn listening(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!(
            "expected an IP address and a port such as 127.0.0.1:3978 or [::1]:3978, found {text:?}"
        )
    })
}

pub(super) fn read_listening<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<SocketAddr>, D::Error> {
    quoted(from, "an IP address and a port such as \"127.0.0.1:3978\"", listening).map(Some)
}

/// The longest span of time: what waits for so long waits for ever, and no moment so far ahead is out of range.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

/// A span of time of at least a millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String", extend("examples" = ["30s", "5m", "1h 30m"]))]
pub struct Period(pub Duration);

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        quoted(from, "a span of time such as \"30s\", \"5m\" or \"2h\"", parsed)
    }
}

impl TryFrom<String> for Period {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let expected = || format!("expected a span of time such as 30s, 5m or 2h, found {text:?}");
        let parsed: SignedDuration = text.parse().map_err(|_| expected())?;
        let period = Duration::try_from(parsed).map_err(|_| expected())?;
        match period < Duration::from_millis(1) {
            true => Err(format!("expected at least 1ms, found {text:?}")),
            false => Ok(Self(period.min(LONGEST))),
        }
    }
}

impl Period {
    /// Returns a configured time, or the usual one.
    pub(crate) fn or(configured: Option<Self>, usual: Duration) -> Duration {
        configured.map_or(usual, |period| period.0)
    }
}

/// Reads the time for which a key of the issuer signs: a new key is published for a day before it signs.
pub(super) fn read_rotation<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Period>, D::Error> {
    let period = Period::deserialize(from)?;
    match period.0 < Duration::from_secs(48 * 60 * 60) {
        true => Err(D::Error::custom(format!(
            "expected at least 48h, found {:?}: a key is published for a day before it signs",
            period.0
        ))),
        false => Ok(Some(period)),
    }
}

/// A span of time that may be days or weeks, or forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String", extend("examples" = ["30d", "12h", "forever"]))]
pub struct Age(pub Option<Duration>);

impl<'de> Deserialize<'de> for Age {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        quoted(from, "a span of time such as \"30d\" or \"12h\", or \"forever\"", parsed)
    }
}

impl TryFrom<String> for Age {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text == "forever" {
            return Ok(Self(None));
        }
        let expected =
            || format!("expected a span of time such as 30d or 12h, or forever, found {text:?}");
        let span: Span = text.parse().map_err(|_| expected())?;
        let age = span.to_duration(SpanRelativeTo::days_are_24_hours());
        let age = age.ok().and_then(|age| Duration::try_from(age).ok());
        age.map(|age| Self(Some(age))).ok_or_else(expected)
    }
}

/// A number of bytes, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(
    with = "String",
    extend("pattern" = "^[0-9]+ ?(B|kB|MB|GB|KiB|MiB|GiB)$", "examples" = ["16 MiB", "500 kB"])
)]
pub struct Size(pub usize);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        quoted(from, "a size such as \"16 MiB\" or \"500 kB\"", parsed)
    }
}

/// Units of sizes, with their bytes.
const UNITS: [(&str, usize); 7] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

impl TryFrom<String> for Size {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let expected = || format!("expected a size such as 16 MiB or 500 kB, found {text:?}");
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit = UNITS.iter().find(|(name, _)| *name == unit.trim_start());
        let (_, unit) = unit.ok_or_else(expected)?;
        let number: usize = number.parse().map_err(|_| expected())?;
        let bytes = number.checked_mul(*unit).filter(|bytes| *bytes > 0);
        bytes.map(Self).ok_or_else(expected)
    }
}

/// A web address: http or https, with a host and without a user.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("pattern" = "^https?://"))]
pub struct HttpUrl(pub Url);

impl TryFrom<String> for HttpUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let url = Url::parse(&text).map_err(|error| {
            format!("expected a URL such as https://agents.example.com: {error}")
        })?;
        // The message does not repeat the URL, because it may have a password.
        if !url.username().is_empty() || url.password().is_some() {
            return Err("expected a URL without user and password".to_owned());
        }
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(format!(
                "expected a URL that begins with http:// or https://, found {text:?}"
            ));
        }
        Ok(Self(url))
    }
}

/// A host name without a port, or `*` for all names.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("examples" = ["agents.example.com", "*"]))]
pub struct HostName(pub String);

impl TryFrom<String> for HostName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self(text));
        }
        let host = Host::parse(&text).map_err(|_| {
            format!(
                "expected a host name without a port, such as agents.example.com, found {text:?}"
            )
        })?;
        Ok(Self(host.to_string()))
    }
}

/// The origin of web pages, or `*` for all.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("examples" = ["https://app.example", "*"]))]
pub struct PageOrigin(pub String);

impl TryFrom<String> for PageOrigin {
    type Error = String;

    /// Browsers write an origin in lower case, without the default port and without a path.
    fn try_from(text: String) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self(text));
        }
        let url = Url::parse(&text).ok();
        let url = url.filter(|url| {
            let only_origin = matches!(url.path(), "" | "/") && url.username().is_empty();
            let has_host = url.host_str().is_some_and(|host| !host.contains('*'));
            has_host && only_origin && url.query().is_none() && url.fragment().is_none()
        });
        let url = url.ok_or_else(|| {
            format!(
                "expected the origin of pages such as https://app.example, or *, found {text:?}"
            )
        })?;
        let origin = url.origin();
        Ok(Self(match origin.is_tuple() {
            true => origin.ascii_serialization(),
            // Pages of extensions and apps.
            false => url.as_str().trim_end_matches('/').to_owned(),
        }))
    }
}

/// The name of an agent, which is used in paths and in the task log.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
#[schemars(with = "String", extend("pattern" = "^[A-Za-z0-9_-]+$"))]
pub struct AgentName {
    /// The name.
    pub text: String,
    /// Its offset in the file; 0 if it does not come from there.
    pub at: usize,
}

impl<'de> Deserialize<'de> for AgentName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Spanned::<String>::deserialize(from)?;
        let at = text.span().start;
        let name = Self::try_from(text.into_inner()).map_err(D::Error::custom)?;
        Ok(Self { at, ..name })
    }
}

impl TryFrom<String> for AgentName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if host::is_own_name(&text) {
            return Err(format!("{text:?} is the bridge's own; expected another name"));
        }
        match !text.is_empty() && text.chars().all(plain) {
            true => Ok(Self { text, at: 0 }),
            false => Err(format!("expected letters, digits, - and _, found {text:?}")),
        }
    }
}

/// A path at which an agent is served.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("pattern" = "^(/[A-Za-z0-9._~-]+)+$"))]
pub struct AgentPath(pub String);

impl TryFrom<String> for AgentPath {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        host::check_path(&text)?;
        Ok(Self(text))
    }
}

/// An address or a network, such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct Network(pub IpNet);

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let one = || text.parse().map(|address: IpAddr| address.into());
        let net = text.parse().or_else(|_| one());
        net.map(Self).map_err(|_| {
            format!("expected an address or a network such as 10.0.0.0/8, found {text:?}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds<T: TryFrom<String>>(right: &[&str], wrong: &[&str]) {
        for text in right {
            assert!(T::try_from((*text).to_owned()).is_ok(), "{text}");
        }
        for text in wrong {
            assert!(T::try_from((*text).to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn values_have_a_form() {
        holds::<Period>(&["1ms", "30s", "5m", "1h 30m", "2h"], &["", "0s", "30", "-1s", "soon"]);
        holds::<Size>(
            &["16 MiB", "1MiB", "500 kB", "1 B"],
            &["", "16", "MiB", "0 B", "-1 B", "1.5 MiB", "99999999999 GiB"],
        );
        holds::<HttpUrl>(
            &["http://localhost:1/x", "https://h.test"],
            &["", "localhost:1", "ftp://h", "http://", "https://me:word@h.test"],
        );
        holds::<PageOrigin>(
            &["*", "https://app.example", "http://localhost:5173", "app://here"],
            &["", "app.example", "https://*.example", "https://app.example/page", "null"],
        );
        holds::<AgentName>(&["a", "A-1_b"], &["", "a b", "a/b", "ä", "v1", "tasks", "catalog"]);
        holds::<AgentPath>(
            &["/a", "/a/b.c~d", "/a2a/docs", "/a/tasks"],
            &[
                "",
                "/",
                "a",
                "/a/",
                "/a//b",
                "/a/..",
                "/v3",
                "/bots/x",
                "/{a}",
                "/.well-known/a",
                "/docs",
                "/tasks",
                "/a2a/v1/x",
            ],
        );
        holds::<Network>(&["10.0.0.0/8", "127.0.0.1", "::1"], &["", "10.0.0.0/40", "host"]);
    }

    #[test]
    fn a_longer_time_than_any_wait_is_a_moment_that_can_be_reached() {
        let period = Period::try_from("2562047788015215h".to_owned()).unwrap();
        assert!(std::time::Instant::now().checked_add(period.0).is_some());
    }

    #[test]
    fn origins_are_as_browsers_write_them() {
        for (text, origin) in [
            ("https://App.example:443/", "https://app.example"),
            ("http://localhost:5173", "http://localhost:5173"),
            ("chrome-extension://abc/", "chrome-extension://abc"),
        ] {
            assert_eq!(PageOrigin::try_from(text.to_owned()).unwrap().0, origin);
        }
    }

    #[test]
    fn a_password_is_not_repeated() {
        for url in ["http://me:hunter2@h", "htp://me:hunter2@h"] {
            let error = HttpUrl::try_from(url.to_owned()).unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
