//! Checks the interfaces of a card (specification 4.4.6, 8.3; 0.3, 5.6).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Level, Linter, content::absent};
use bridge_protocol::{
    a2a::Binding,
    dialect::{Version, card::Generation},
};

/// The characters around placeholders, which no URL contains (RFC 3986).
const NEVER_IN_URLS: [u8; 4] = *b"<>{}";

impl Linter<'_> {
    pub(super) fn addresses(&mut self) {
        match self.generation {
            Generation::V1_0 => self.interfaces(),
            Generation::V0_3 | Generation::V0_2 => self.main_url(),
            Generation::V0_1 | Generation::Execute => {
                for name in ["url", "base_url"] {
                    self.url(self.card, "", name);
                }
            }
        }
        for name in ["documentationUrl", "iconUrl"] {
            self.url(self.card, "", name);
        }
    }

    /// Checks the interfaces of a 1.0 card.
    fn interfaces(&mut self) {
        let interfaces = self.card.get("supportedInterfaces").and_then(Value::as_array);
        let mut known = BTreeSet::new();
        let mut is_spoken = false;
        for (index, interface) in interfaces.into_iter().flatten().enumerate() {
            let path = format!("supportedInterfaces[{index}]");
            let Some(interface) = interface.as_object() else {
                continue;
            };
            let binding = text(interface, "protocolBinding");
            self.address(interface, &path, binding);
            self.binding(&format!("{path}.protocolBinding"), interface.get("protocolBinding"));
            let version = text(interface, "protocolVersion");
            self.version(&format!("{path}.protocolVersion"), interface.get("protocolVersion"));
            is_spoken |= Binding::of(binding).is_some() && is_known(version);
            let tenant = text(interface, "tenant");
            if !known.insert([text(interface, "url"), binding, version, tenant]) {
                let fix = "leave it out";
                self.add(Level::Warning, "unique-interfaces", path, "occurs twice", fix);
            }
        }
        if !is_spoken && !known.is_empty() {
            let message = "none of them is of a version and a binding that clients know";
            let fix = "add one of protocolVersion \"1.0\" whose protocolBinding is JSONRPC, HTTP+JSON or GRPC";
            self.add(Level::Error, "reachable", "supportedInterfaces", message, fix);
        }
    }

    fn version(&mut self, path: &str, said: Option<&Value>) {
        let Some(version) = self.required_text(path, "protocol-version", said, "\"1.0\"") else {
            return;
        };
        let parts: Vec<&str> = version.split('.').collect();
        let is_number =
            |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        match parts[..] {
            [_, _] if parts.iter().all(is_number) && !is_known(version) => self.add(
                Level::Warning,
                "protocol-version",
                path,
                format!("{version:?} is no version of A2A that clients know"),
                "write \"1.0\", or \"0.3\", if that is what is spoken there",
            ),
            [_, _] if parts.iter().all(is_number) => {}
            [major, minor, _] if parts.iter().all(is_number) => self.add(
                Level::Warning,
                "protocol-version",
                path,
                format!("{version:?} has a patch number, which clients need not know"),
                format!("write \"{major}.{minor}\""),
            ),
            _ => self.add(
                Level::Error,
                "protocol-version",
                path,
                format!("{version:?} is no version of the protocol"),
                "write major and minor version, such as \"1.0\"",
            ),
        }
    }

    /// Checks the main and additional addresses of a 0.3 or 0.2 card.
    fn main_url(&mut self) {
        let transport = text(self.card, "preferredTransport");
        self.address(self.card, "", transport);
        if self.generation == Generation::V0_3 {
            self.transport();
        } else {
            let message = match self.card.get("protocolVersion").and_then(Value::as_str) {
                None => "is missing, so that clients take the card for one of A2A 0.2".to_string(),
                Some("") => {
                    "is empty, so that clients take the card for one of A2A 0.2".to_string()
                }
                Some(version) => format!("{version:?} is A2A 0.2, whose cards few clients read"),
            };
            let fix = "write \"protocolVersion\": \"0.3.0\", if that is what is spoken";
            self.add(Level::Warning, "protocol-version", "protocolVersion", message, fix);
        }
        let more = self.card.get("additionalInterfaces").and_then(Value::as_array);
        for (index, interface) in more.into_iter().flatten().enumerate() {
            let path = format!("additionalInterfaces[{index}]");
            if let Some(interface) = interface.as_object() {
                self.address(interface, &path, text(interface, "transport"));
                self.binding(&format!("{path}.transport"), interface.get("transport"));
            }
        }
    }

    fn transport(&mut self) {
        match self.card.get("preferredTransport") {
            Some(transport) => self.binding("preferredTransport", Some(transport)),
            None => self.add(
                Level::Note,
                "transport",
                "preferredTransport",
                "is missing, so that clients speak JSON-RPC",
                "add it, such as \"preferredTransport\": \"JSONRPC\"",
            ),
        }
    }

    /// Checks a binding: a standard name or a URI.
    fn binding(&mut self, path: &str, said: Option<&Value>) {
        let Some(binding) = self.required_text(path, "transport", said, "\"JSONRPC\"") else {
            return;
        };
        let names = [Binding::JsonRpc, Binding::Grpc, Binding::HttpJson].map(Binding::as_str);
        if names.contains(&binding) || binding.contains(':') {
            return;
        }
        let known = names.join(", ");
        let message = format!("{binding:?} is no binding that clients know");
        let fix = format!("write one of {known}, or the URI of a custom binding");
        self.add(Level::Error, "transport", path, message, fix);
    }

    /// Returns a required text. Its absence is reported.
    fn required_text<'v>(
        &mut self,
        path: &str,
        rule: &'static str,
        said: Option<&'v Value>,
        example: &str,
    ) -> Option<&'v str> {
        let message = match said {
            Some(Value::String(text)) if !text.is_empty() => return Some(text),
            Some(Value::String(_)) => "is empty".to_string(),
            other => absent("a text", other),
        };
        self.add(Level::Error, rule, path, message, format!("write it, such as {example}"));
        None
    }

    /// Checks the address of an interface. Standard bindings other than gRPC need HTTP.
    fn address(&mut self, object: &Map<String, Value>, path: &str, binding: &str) {
        let url = text(object, "url");
        if binding == Binding::Grpc.as_str() && !url.is_empty() && !url.contains("://") {
            return self.channel(url, super::below(path, "url"));
        }
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        let schemes: &[&str] = match Binding::of(binding) {
            Some(Binding::JsonRpc | Binding::HttpJson) => &["http", "https"],
            Some(Binding::Grpc) => &["http", "https", "grpc", "grpcs"],
            // Before 1.0 the transport is optional.
            None if binding.is_empty() => &["http", "https"],
            None => &[],
        };
        let is_known =
            schemes.is_empty() || schemes.iter().any(|one| scheme.eq_ignore_ascii_case(one));
        if !scheme.is_empty() && !is_known {
            let message = format!("{scheme:?} is not a scheme of such an interface");
            let fix = "write its address with https";
            return self.add(Level::Error, "url", super::below(path, "url"), message, fix);
        }
        self.url(object, path, "url");
    }

    /// Checks the address of a gRPC channel: gRPC libraries take host and port.
    fn channel(&mut self, url: &str, path: String) {
        let is_port = |port: &str| port.parse::<u16>().is_ok();
        match url.rsplit_once(':').filter(|(_, port)| is_port(port)) {
            None | Some(("", _)) => {
                let message = format!("{url:?} is no address of gRPC");
                let fix = "write it as HOST:PORT, or with scheme and host";
                self.add(Level::Error, "url", path, message, fix);
            }
            Some(_) => {
                self.local(host(url), url, &path);
            }
        }
    }

    /// Reports a host that clients on other machines cannot reach. Returns whether it is one.
    fn local(&mut self, host: &str, url: &str, path: &str) -> bool {
        let (level, code, why) = if is_near(host) {
            (Level::Note, "local-address", "can be reached from the machine itself only")
        } else if is_unspecified(host) {
            let why = "leads nowhere: a server that listens there has other addresses";
            (Level::Warning, "unspecified-address", why)
        } else {
            return false;
        };
        let fix = "write the address by which clients reach the agent";
        self.add(level, code, path.to_owned(), format!("{url:?} {why}"), fix);
        true
    }

    /// Checks a URL, if the field is present.
    pub(super) fn url(&mut self, object: &Map<String, Value>, path: &str, name: &str) {
        let Some(url) = object.get(name).and_then(Value::as_str) else {
            return;
        };
        let path = super::below(path, name);
        if has_user(url) {
            let message = "contains a user or a password, which every reader of the card sees";
            let fix =
                "leave it out, and declare in securitySchemes the credentials that clients need";
            return self.add(Level::Error, "url-credentials", path, message, fix);
        }
        let Some((scheme, rest)) = url.split_once("://") else {
            let message = format!("{url:?} is no absolute URL");
            let fix = "write it with scheme and host, such as \"https://agents.example/a2a\"";
            return self.add(Level::Error, "url", path, message, fix);
        };
        let host = host(rest);
        let is_allowed = |byte: u8| byte.is_ascii_graphic() && !NEVER_IN_URLS.contains(&byte);
        if host.is_empty() || !rest.bytes().all(is_allowed) {
            let message = format!("{url:?} is no URL that can be requested");
            let fix = "write it with a host, and without white space and placeholders";
            return self.add(Level::Error, "url", path, message, fix);
        }
        if !self.local(host, url, &path) && scheme.eq_ignore_ascii_case("http") {
            let message = format!("{url:?} is not encrypted: others can read the traffic");
            let fix = "serve it with https, and write the https URL (specification 7.1)";
            self.add(Level::Warning, "encryption", path, message, fix);
        }
    }
}

fn text<'a>(object: &'a Map<String, Value>, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns whether clients know a version: 1.0 and its minor versions, and the older ones.
fn is_known(version: &str) -> bool {
    Version::of(version).is_some() || version.starts_with("1.")
}

/// Returns whether a URL contains a user name.
fn has_user(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    authority.contains('@')
}

/// Returns the host in a URL without its scheme.
fn host(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let address = authority.rsplit('@').next().unwrap_or_default();
    match address.strip_prefix('[') {
        Some(literal) => literal.split(']').next().unwrap_or_default(),
        None => address.split(':').next().unwrap_or_default(),
    }
}

fn is_near(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost") || host == "::1" || host.starts_with("127.")
}

/// Returns whether a host is the address of a listener on all addresses of its machine.
fn is_unspecified(host: &str) -> bool {
    host == "0.0.0.0" || host == "::"
}
