//! The interfaces of a card: which of them this client supports, and their addresses (specification 4.4.6).
//! For gRPC cards mostly have `HOST:PORT` in place of a URL, which is what gRPC libraries take.

use bridge_protocol::{
    a2a::{AgentCard, AgentInterface, Binding},
    dialect::Version,
    wire::FieldError,
};
use url::{Host, Url};

/// Returns whether this client supports a version in this binding.
pub(crate) fn carries(binding: Binding, version: Version) -> bool {
    match (binding, version) {
        (Binding::JsonRpc, Version::V0_1 | Version::V0_3 | Version::V1_0) => true,
        (Binding::HttpJson, Version::V0_3 | Version::V1_0) => true,
        (Binding::HttpJson, Version::V0_1) => false,
        (Binding::Grpc, Version::V0_3 | Version::V1_0) => cfg!(feature = "grpc"),
        (Binding::Grpc, Version::V0_1) => false,
    }
}

/// Returns the version to try at an interface whose version is unknown, if no other interface can be used. Some agents
/// write the version of JSON-RPC in place of that of A2A; they speak 1.0, since which cards have such a list.
pub(crate) fn presumed_version(interface: &AgentInterface) -> Option<Version> {
    let is_that_of_json_rpc = interface.protocol_version == "2.0"
        && Binding::of(&interface.protocol_binding) == Some(Binding::JsonRpc);
    is_that_of_json_rpc.then_some(Version::V1_0)
}

/// Returns the bindings and versions of a card, for error messages.
pub(crate) fn offered(card: &AgentCard) -> String {
    let shown: Vec<_> = card
        .supported_interfaces
        .iter()
        .map(|one| format!("{} {}", one.protocol_binding, one.protocol_version))
        .collect();
    if shown.is_empty() { "no interface".to_owned() } else { shown.join(", ") }
}

/// Returns the address of an interface of the agent at `base`; cards may have relative addresses. Many programs write the address
/// at which they listen into their cards. `0.0.0.0` means all addresses and leads nowhere, so the host is that of `base`.
pub(crate) fn address(binding: Binding, base: &Url, text: &str) -> Result<Url, FieldError> {
    let mut url = match binding {
        Binding::Grpc => of_grpc(base, text),
        Binding::JsonRpc | Binding::HttpJson => below(base, text),
    }?;
    let is_all_addresses = match url.host() {
        Some(Host::Ipv4(host)) => host.is_unspecified(),
        Some(Host::Ipv6(host)) => host.is_unspecified(),
        Some(Host::Domain(_)) | None => false,
    };
    if is_all_addresses {
        // A base without a host, which is no address of an agent, changes nothing.
        let _ = url.set_host(base.host_str());
    }
    Ok(url)
}

/// Returns the address of an interface over HTTP.
fn below(base: &Url, text: &str) -> Result<Url, FieldError> {
    let wrong = |expected, found: String| FieldError::new(expected, found).inside("url");
    let url = base.join(text).map_err(|error| wrong("a URL", error.to_string()))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(wrong("a URL over http or https", format!("the scheme {other:?}"))),
    }
}

/// Returns the address of an interface over gRPC. Without a scheme it is encrypted if `base` is.
fn of_grpc(base: &Url, text: &str) -> Result<Url, FieldError> {
    let wrong = |found: String| FieldError::new("HOST:PORT or a URL", found).inside("url");
    let (scheme, rest) = match text.split_once("://") {
        None => (base.scheme(), text),
        Some(("http" | "grpc", rest)) => ("http", rest),
        Some(("https" | "grpcs", rest)) => ("https", rest),
        // gRPC libraries write names to be resolved as `dns:///HOST:PORT`.
        Some(("dns:", rest)) | Some(("dns", rest)) => (base.scheme(), rest.trim_start_matches('/')),
        Some((other, _)) => return Err(wrong(format!("the scheme {other:?}"))),
    };
    let url = Url::parse(&format!("{scheme}://{rest}"));
    let mut url = url.map_err(|error| wrong(error.to_string()))?;
    // In gRPC the path is that of the method.
    url.set_path("");
    url.set_query(None);
    Ok(url)
}

/// Returns the URL in a text if it is one over HTTP, with a host.
pub fn web_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Returns the address without user name and password.
pub fn without_user(url: &Url) -> String {
    let mut url = url.clone();
    // A URL without a host has no secrets to remove.
    let _ = url.set_password(None).and_then(|()| url.set_username(""));
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for (base, said, expected) in [
            ("http://h/", "localhost:50051", Some("http://localhost:50051/")),
            ("https://h/", "grpc.example:443", Some("https://grpc.example/")),
            ("http://h/", "https://grpc.example/a2a?x=1", Some("https://grpc.example/")),
            ("http://h/", "grpc://[::1]:1", Some("http://[::1]:1/")),
            ("https://h/", "dns:///grpc.example:1", Some("https://grpc.example:1/")),
            ("http://h/", "unix:///tmp/socket", None),
            ("http://h/", "", None),
        ] {
            let found = of_grpc(&Url::parse(base).unwrap(), said).ok();
            assert_eq!(found.as_ref().map(Url::as_str), expected, "{said}");
        }
    }

    #[test]
    fn what_http_cannot_reach_is_no_address() {
        let base = Url::parse("https://agent.example/").unwrap();
        for (text, expected) in [
            (
                "ws://agent.example/",
                "url: expected a URL over http or https, found the scheme \"ws\"",
            ),
            ("agent:1/a2a", "url: expected a URL over http or https, found the scheme \"agent\""),
            ("http://[", "url: expected a URL, found invalid IPv6 address"),
        ] {
            let error = address(Binding::JsonRpc, &base, text).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn an_agent_on_all_addresses_is_where_its_card_is() {
        for (binding, said, expected) in [
            (Binding::JsonRpc, "http://0.0.0.0:9009/a2a", "http://agent.example:9009/a2a"),
            (Binding::HttpJson, "http://[::]:9009/", "http://agent.example:9009/"),
            (Binding::Grpc, "0.0.0.0:50051", "https://agent.example:50051/"),
            (Binding::JsonRpc, "http://127.0.0.1:9009/", "http://127.0.0.1:9009/"),
            (Binding::JsonRpc, "/a2a", "https://agent.example/a2a"),
        ] {
            let base = Url::parse("https://agent.example/").unwrap();
            assert_eq!(address(binding, &base, said).unwrap().as_str(), expected, "{said}");
        }
    }
}
