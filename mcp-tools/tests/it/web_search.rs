//! The tool `web_search` with a simulated SearXNG instance whose answers follow its documentation.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    http::{StatusCode, Uri, header},
    routing::get,
};
use jiff::Timestamp;
use mcp_tools::{
    allow_list::AllowList,
    context::{AgentContext, Settings},
    sites::{Engine, Site, Sites},
    tools::{Tool as _, WebSearch},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

type Asked = Arc<Mutex<Vec<Vec<(String, String)>>>>;

/// Starts an instance below a path, which answers every search with this status and body.
async fn instance(status: u16, body: String) -> (Url, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/searx/", listener.local_addr().unwrap());
    let asked = Asked::default();
    let kept = asked.clone();
    let answer = get(async move |uri: Uri| {
        let query = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        kept.lock().unwrap().push(query.into_owned().collect());
        let status = StatusCode::from_u16(status).unwrap();
        (status, [(header::CONTENT_TYPE, "application/json")], body)
    });
    let app = Router::new().route("/searx/search", answer);
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url.parse().unwrap(), asked)
}

/// Returns a result with all of its documented fields.
fn result(url: &str, title: &str) -> Value {
    json!({
        "url": url, "title": title, "content": "Junior football.", "publishedDate": null, "thumbnail": null,
        "engine": "bing", "engines": ["bing", "brave"], "template": "default.html", "parsed_url": ["https", "h", "/"],
        "img_src": "", "priority": "", "positions": [1, 2], "score": 1.5, "category": "general",
    })
}

fn page(results: &Value, unresponsive: &Value) -> String {
    let page = json!({
        "query": "q", "number_of_results": 0, "results": results, "answers": [], "corrections": [], "infoboxes": [],
        "suggestions": ["urmston"], "unresponsive_engines": unresponsive,
    });
    page.to_string()
}

async fn search(tool: &WebSearch, arguments: Value) -> Result<Value, String> {
    let context = AgentContext::new(Settings {
        allowed: AllowList::default(),
        client: crate::connecting::short(),
        acknowledger: None,
        clock: Arc::new(|| Timestamp::UNIX_EPOCH),
    });
    let arguments = arguments.as_object().cloned().unwrap();
    let result = tool.call(&context, arguments).await;
    match result.structured_content {
        Some(found) => Ok(found),
        None => Err(result.content[0].as_text().unwrap().text.clone()),
    }
}

fn by(instance: &Url, index: Sites) -> WebSearch {
    WebSearch::new(Arc::new(index)).with_engine(Engine::new(instance).unwrap())
}

#[tokio::test]
async fn sites_are_found_by_an_instance_of_searxng() {
    let results = json!([
        result("https://urmstontownjfc.co.uk/", "Urmston Town Juniors FC"),
        result("ftp://files.example/", "No site"),
        {"title": "no address"},
        result("https://league.example/u10", "The league"),
    ]);
    let (url, asked) = instance(200, page(&results, &json!([["google", "timeout"]]))).await;
    let query = json!({"query": "Urmston Town & juniors"});
    let found = search(&by(&url, Sites::default()), query).await.unwrap();
    let sites = json!([
        {"url": "https://urmstontownjfc.co.uk", "title": "Urmston Town Juniors FC", "description": "Junior football."},
        {"url": "https://league.example/u10", "title": "The league", "description": "Junior football."},
    ]);
    assert_eq!(found, json!({"query": "Urmston Town & juniors", "results": sites}));
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let asked = asked.lock().unwrap().pop().unwrap();
    assert_eq!(asked, [pair("q", "Urmston Town & juniors"), pair("format", "json")]);
}

#[tokio::test]
async fn entries_of_the_index_come_first_and_once() {
    let results = json!([
        result("https://club.example/", "The same"),
        result("https://other.example/", "Another"),
        result("https://third.example/", "A third"),
    ]);
    let (url, asked) = instance(200, page(&results, &json!([]))).await;
    let index = || {
        Sites::new([Site {
            url: "https://club.example".parse().unwrap(),
            title: "Club".to_owned(),
            description: String::new(),
            keywords: Vec::new(),
        }])
    };
    let tool = by(&url, index());
    let found = search(&tool, json!({"query": "club", "limit": 2})).await.unwrap();
    let titles: Vec<&str> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["Club", "Another"]);
    // The engine is not queried if the index has enough results.
    search(&tool, json!({"query": "club", "limit": 1})).await.unwrap();
    assert_eq!(asked.lock().unwrap().len(), 1);
    // The results of the index are returned even if the engine fails.
    let (broken, _) = instance(500, String::new()).await;
    let found = search(&by(&broken, index()), json!({"query": "club"})).await;
    assert_eq!(found.unwrap()["results"][0]["title"], "Club");
}

#[tokio::test]
async fn a_failing_search_engine_is_reported() {
    for (status, body, expected) in [
        (403, String::new(), "add json to search.formats in its settings.yml"),
        (429, String::new(), "HTTP status 429"),
        (200, "<html>".to_owned(), "no valid results"),
        (200, "{}".to_owned(), "missing field `results`"),
        (200, " ".repeat((2 << 20) + 1), "more than 2097152 bytes"),
        (
            200,
            page(&json!([]), &json!([["google", "Suspended: CAPTCHA"], ["brave", "timeout"]])),
            "google (Suspended: CAPTCHA), brave (timeout)",
        ),
    ] {
        let (url, _) = instance(status, body).await;
        let told = search(&by(&url, Sites::default()), json!({"query": "club"})).await;
        let told = told.unwrap_err();
        assert!(told.contains(expected) && told.contains("/searx/search"), "{told}");
    }
    let nobody = "http://127.0.0.1:9/".parse().unwrap();
    let told = search(&by(&nobody, Sites::default()), json!({"query": "club"})).await;
    let told = told.unwrap_err();
    assert!(told.contains("cannot be reached: Connection refused"), "{told}");
    let (url, _) = instance(200, page(&json!([]), &json!([]))).await;
    let found = search(&by(&url, Sites::default()), json!({"query": "club"})).await;
    assert_eq!(found.unwrap()["results"], json!([]));
}
