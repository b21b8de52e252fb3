//! Where a card has gRPC: `HOST:PORT` mostly, as gRPC's own libraries take it, or a URL.

use bridge_protocol::wire::FieldError;
use url::Url;

/// The address of an interface in the card of the agent at `base`. What names no scheme is encrypted if the
/// agent itself was reached so.
///
/// # Errors
/// If there is no host in it.
pub(crate) fn address(base: &Url, said: &str) -> Result<Url, FieldError> {
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
            let found = address(&Url::parse(base).unwrap(), said).ok();
            assert_eq!(found.as_ref().map(Url::as_str), expected, "{said}");
        }
    }
}
