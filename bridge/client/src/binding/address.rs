//! Where a card has its interfaces: URLs, and for gRPC mostly `HOST:PORT`, as gRPC's own libraries take it.

use bridge_protocol::wire::FieldError;
use url::Url;

/// The address of an interface over plain HTTP.
pub(super) fn below(base: &Url, said: &str) -> Result<Url, FieldError> {
    base.join(said)
        .map_err(|error| FieldError::new("a URL", error.to_string()).inside("url"))
}

/// The address of an interface over gRPC. What names no scheme is encrypted if the agent itself was reached so.
///
/// # Errors
/// If there is no host in it.
pub(super) fn of_grpc(base: &Url, said: &str) -> Result<Url, FieldError> {
    let wrong = |found: String| FieldError::new("HOST:PORT or a URL", found).inside("url");
    let (scheme, rest) = match said.split_once("://") {
        None => (base.scheme(), said),
        Some(("http" | "grpc", rest)) => ("http", rest),
        Some(("https" | "grpcs", rest)) => ("https", rest),
        // As gRPC's libraries name what is looked up by them: `dns:///HOST:PORT`.
        Some(("dns:", rest)) | Some(("dns", rest)) => (base.scheme(), rest.trim_start_matches('/')),
        Some((other, _)) => return Err(wrong(format!("the scheme {other:?}"))),
    };
    let url = Url::parse(&format!("{scheme}://{rest}"));
    let mut url = url.map_err(|error| wrong(error.to_string()))?;
    // gRPC knows no paths but those of methods.
    url.set_path("");
    url.set_query(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for (base, said, expected) in [
            (
                "http://h/",
                "localhost:50051",
                Some("http://localhost:50051/"),
            ),
            (
                "https://h/",
                "grpc.example:443",
                Some("https://grpc.example/"),
            ),
            (
                "http://h/",
                "https://grpc.example/a2a?x=1",
                Some("https://grpc.example/"),
            ),
            ("http://h/", "grpc://[::1]:1", Some("http://[::1]:1/")),
            (
                "https://h/",
                "dns:///grpc.example:1",
                Some("https://grpc.example:1/"),
            ),
            ("http://h/", "unix:///tmp/socket", None),
            ("http://h/", "", None),
        ] {
            let found = of_grpc(&Url::parse(base).unwrap(), said).ok();
            assert_eq!(found.as_ref().map(Url::as_str), expected, "{said}");
        }
    }
}
