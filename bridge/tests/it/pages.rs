//! Pages of ListTasks have a bound in bytes, over every binding.

use axum::{Router, body::to_bytes};
use bridge::host::Grpc;
use bridge_protocol::{
    a2a::{ListTasksRequest, ListTasksResponse, Message, Part, Role, SendMessageRequest},
    dialect::Call,
    protobuf::v1,
};
use serde_json::{Value, json};

use crate::{
    app::{get, rpc},
    grpc::{self, call},
};

/// The largest size of a page, with room for the parts around the texts.
const PAGE: usize = (2 << 20) + 4096;

/// Returns a page over one of the bindings: ids, the next page's token, and how large the answer is.
async fn page(app: &Router, binding: &str, token: &str) -> (Vec<String>, String, usize) {
    let of = |page: &Value| {
        let ids = page["tasks"].as_array().unwrap().iter();
        let ids = ids.map(|task| task["id"].as_str().unwrap().to_owned());
        (ids.collect(), page["nextPageToken"].as_str().unwrap().to_owned())
    };
    match binding {
        "JSONRPC" => {
            let page = rpc(app, Some("1.0"), "ListTasks", json!({"pageToken": token})).await;
            let (ids, next) = of(&page["result"]);
            (ids, next, page.to_string().len())
        }
        "HTTP+JSON" => {
            let header = Some(("a2a-version", "1.0"));
            let page = get(app, &format!("/tasks?pageToken={token}"), header).await;
            let bytes = to_bytes(page.into_body(), usize::MAX).await.unwrap();
            let (ids, next) = of(&serde_json::from_slice(&bytes).unwrap());
            (ids, next, bytes.len())
        }
        _ => {
            let request = ListTasksRequest {
                page_token: Some(token.to_owned()),
                ..ListTasksRequest::default()
            };
            let metadata = [("a2a-version", "1.0")];
            let page = call(app, &metadata, &Call::ListTasks(request)).await;
            let size = page.messages[0].len();
            let page = page.one::<v1::ListTasksResponse, ListTasksResponse>();
            let ids = page.tasks.into_iter().map(|task| task.id);
            (ids.collect(), page.next_page_token, size)
        }
    }
}

#[tokio::test]
async fn a_page_ends_where_its_bytes_do_and_a_large_task_comes_alone() {
    let app = grpc::app(&["echo"], Grpc::Here).await;
    // Each text is in its task once in the list, as the message: the answer is an artifact.
    for (number, size) in
        [600_000, 600_000, 3_000_000, 600_000, 600_000, 600_000, 600_000].into_iter().enumerate()
    {
        let parts = vec![Part::text("x".repeat(size))];
        let request =
            SendMessageRequest::new(Message::new(format!("m-{number}"), Role::User, parts));
        let sent = call(&app, &[("a2a-version", "1.0")], &Call::SendMessage(request)).await;
        assert_eq!(sent.code, 0, "{}", sent.error);
    }
    for binding in ["JSONRPC", "HTTP+JSON", "GRPC"] {
        let (mut seen, mut token, mut counts) = (Vec::new(), String::new(), Vec::new());
        loop {
            let (ids, next, size) = page(&app, binding, &token).await;
            assert!(size <= PAGE || ids.len() == 1, "{binding}: {size} bytes in {ids:?}");
            counts.push(ids.len());
            seen.extend(ids);
            token = next;
            if token.is_empty() {
                break;
            }
        }
        assert_eq!(counts, [3, 1, 1, 2], "{binding}");
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 7, "{binding}");
    }
}
