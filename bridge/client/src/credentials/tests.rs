use bridge_protocol::{jsonrpc::RpcError, wire::FieldError};

use super::*;

fn secret() -> Credentials {
    let credentials = Credentials::default().bearer("hunter2").unwrap();
    credentials.header("X-API-Key", "swordfish").unwrap()
}

#[test]
fn secrets_are_not_shown() {
    assert_eq!(format!("{:?}", secret()), r#"["authorization", "x-api-key"]"#);
    let text = "no hunter2, no swordfish";
    let http = secret().mask_fault(Fault::Http { status: 401, body: text.into() });
    let rpc = secret().mask_fault(Fault::Rpc(RpcError {
        code: -1,
        message: text.into(),
        data: Some(text.into()),
    }));
    let invalid = FieldError::new("a number", text).inside("hunter2");
    let invalid = secret().mask_fault(Fault::Invalid(invalid));
    for fault in [http, rpc, invalid] {
        let shown = format!("{fault} {fault:?}");
        assert!(shown.contains("no ***, no ***"), "{shown}");
        assert!(!shown.contains("hunter2") && !shown.contains("swordfish"));
    }
}

/// The beginning of a page that shows the request may end within a secret, which is then not in it as a whole.
#[test]
fn a_secret_that_is_cut_off_is_not_shown() {
    let token = "0123456789".repeat(50);
    let page = format!("Bad request. Authorization: Bearer {token}");
    let body = crate::http::beginning(page.as_bytes());
    assert!(body.contains("0123456789"));
    let secret = Credentials::default().bearer(&token).unwrap();
    let shown = secret.mask_fault(Fault::Http { status: 400, body }).to_string();
    assert!(shown.ends_with("Authorization: Bearer ***…"), "{shown}");
}

#[test]
fn an_empty_token_is_refused() {
    assert!(Credentials::default().bearer("").is_err());
    let token = BearerToken::new("x").unwrap();
    assert!(token.replace("").is_err());
}

#[test]
fn an_invalid_header_value_is_refused_without_showing_it() {
    for (name, value) in [("a b", "x"), ("X-Key", "a\nb"), ("X-Key", ""), ("X-Key", "ä")] {
        let error = Credentials::default().header(name, value).unwrap_err();
        let shown = error.to_string();
        assert!(shown.starts_with("expected"), "{shown}");
        assert!(!shown.contains('\n') && !shown.contains('ä'), "{shown}");
    }
}

#[test]
fn they_go_to_one_server_only() {
    for (base, url, is_same) in [
        ("https://h/a", "https://h:443/b", true),
        ("http://localhost:1/", "http://127.0.0.1:1/x", true),
        ("http://localhost:1/", "http://127.0.0.1:2/", false),
        ("https://h/", "http://h/", false),
        ("https://h/", "https://h.evil/", false),
    ] {
        let (base, url) = (Url::parse(base).unwrap(), Url::parse(url).unwrap());
        assert_eq!(secret().check(&base, &url).is_ok(), is_same, "{url}");
        assert!(Credentials::default().check(&base, &url).is_ok());
    }
}
