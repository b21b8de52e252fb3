use super::{probe::PLACES, *};
use axum::{Router, http, routing::get};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

async fn served(app: Router) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/").parse().unwrap()
}

async fn never_ready(endpoint: &Url) -> CardProbe {
    let limit = Duration::from_millis(400);
    match wait_ready(
        "purple",
        endpoint,
        ReadyCheck::Card,
        None,
        Duration::ZERO,
        limit,
        &Tls::default(),
    )
    .await
    {
        Err(ReadyError::NeverReady { seen, .. }) => seen,
        other => panic!("{other:?}"),
    }
}

async fn card_of(endpoint: &Url) -> Value {
    let (awaited, limit) = (ReadyCheck::Card, Duration::from_secs(60));
    let tls = Tls::default();
    wait_ready("purple", endpoint, awaited, None, Duration::ZERO, limit, &tls).await.unwrap()
}

#[test]
fn cards_are_looked_for_below_the_endpoint_and_the_origin() {
    let cases: [(&str, &[&str]); 3] = [
        ("http://h:9009", &["/"]),
        ("http://h:9009/a2a/bot?x=1#y", &["/a2a/bot/", "/"]),
        ("http://h:9009/a2a/", &["/a2a/", "/"]),
    ];
    for (endpoint, bases) in cases {
        let urls = card_urls(&endpoint.parse().unwrap());
        let expected: Vec<_> = bases
            .iter()
            .flat_map(|base| PLACES.map(|path| format!("http://h:9009{base}{path}")))
            .collect();
        assert_eq!(urls.iter().map(Url::as_str).collect::<Vec<_>>(), expected);
    }
    let own = "http://h:9009/.well-known/agent-card.json?assistant_id=a";
    assert_eq!(card_urls(&own.parse().unwrap()), [own.parse().unwrap()]);
}

#[tokio::test]
async fn a_card_is_found_in_each_place() {
    let card = || async { r#"{"name": "Debater"}"# };
    let places = [
        "/.well-known/agent-card.json",
        "/.well-known/agent.json",
        "/a/.well-known/agent.json",
        "/agent-card",
    ];
    for place in places {
        let endpoint = served(Router::new().route(place, get(card))).await;
        let endpoint = endpoint.join("a").unwrap();
        assert_eq!(card_of(&endpoint).await["name"], "Debater", "{place}");
    }
}

#[tokio::test]
async fn the_found_server_is_reported() {
    let wrong = |body: &'static str| {
        Router::new().route("/.well-known/agent-card.json", get(move || async move { body }))
    };
    let redirect = (http::StatusCode::FOUND, [("location", "https://agents.test/elsewhere?key=1")]);
    let moved = Router::new().fallback(move || async move { redirect });
    let cases = [
        (Router::new(), "answered HTTP 404"),
        (moved, "answered HTTP 302: it redirects to https://agents.test/elsewhere;"),
        (
            Router::new().fallback(async || (http::StatusCode::BAD_REQUEST, "name\n an assistant")),
            "answered HTTP 400: name an assistant",
        ),
        (wrong("<html>"), "not JSON"),
        (wrong("{}"), "no `name`"),
        (wrong("[1]"), "no `name`"),
    ];
    for (app, expected) in cases {
        let seen = never_ready(&served(app).await).await.to_string();
        assert!(seen.contains(expected), "{seen}");
    }
}

#[tokio::test]
async fn the_first_place_is_reported_with_advice_for_its_answer() {
    for (status, expected) in [
        (http::StatusCode::UNAUTHORIZED, "[[config.credential]]"),
        (http::StatusCode::NOT_IMPLEMENTED, "can be a bot"),
        (http::StatusCode::OK, "can be a bot"),
    ] {
        let app = Router::new().fallback(move || async move { (status, "ok") });
        let seen = never_ready(&served(app).await).await;
        let first = format!("/{} answered", PLACES[0]);
        assert!(seen.to_string().contains(&first), "{seen}");
        assert!(seen.remedy().contains(expected), "{seen}");
    }
}

#[tokio::test]
async fn a_server_is_ready_when_it_opens_a_stream() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        const HEAD: &[u8] =
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n";
        let mut open = Vec::new();
        while let Ok((mut connection, _)) = listener.accept().await {
            let read = connection.read(&mut [0; 1024]).await;
            assert!(read.unwrap() > 0);
            connection.write_all(HEAD).await.unwrap();
            open.push(connection);
        }
    });
    let answered = wait_ready(
        "shop",
        &endpoint.parse().unwrap(),
        ReadyCheck::Answer,
        None,
        Duration::ZERO,
        Duration::from_secs(60),
        &Tls::default(),
    )
    .await;
    assert_eq!(answered.unwrap(), Value::Null);
}

#[tokio::test]
async fn a_server_is_ready_when_it_answers_anything() {
    let endpoint = served(Router::new()).await;
    let limit = Duration::from_secs(60);
    let answered = wait_ready(
        "bot",
        &endpoint,
        ReadyCheck::Answer,
        None,
        Duration::ZERO,
        limit,
        &Tls::default(),
    )
    .await;
    assert_eq!(answered.unwrap(), Value::Null);
}

#[tokio::test]
async fn a_refused_connection_is_called_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let seen = never_ready(&format!("http://{address}").parse().unwrap()).await;
    assert_eq!(seen.to_string(), "connection refused");
}

#[test]
fn a_starting_agent_is_checked_often() {
    let refused = CardProbe::NoConnection { why: "connection refused".into() };
    let ms = Duration::from_millis;
    let millis = |seen: &CardProbe, waited| pause(seen, ms(waited), Duration::ZERO).as_millis();
    for (waited, unconnected, silent) in
        [(0, 10, 10), (240, 15, 60), (400, 25, 100), (9_999, 25, 500), (10_000, 500, 500)]
    {
        assert_eq!(millis(&refused, waited), unconnected, "after {waited} ms");
        assert_eq!(millis(&CardProbe::Silence, waited), silent, "after {waited} ms");
    }
    for (waited, quiet, expected) in [(1, 301, 300), (0, 3_000, 500), (301, 301, 18)] {
        let pause = pause(&refused, ms(waited), ms(quiet)).as_millis();
        assert_eq!(pause, expected, "after {waited} of {quiet} ms");
    }
}

#[tokio::test]
async fn an_agent_that_needs_long_for_its_card_is_ready() {
    let card = || async {
        tokio::time::sleep(SHORTEST_REQUEST + Duration::from_millis(200)).await;
        r#"{"name": "Debater"}"#
    };
    let endpoint = served(Router::new().route(&format!("/{}", PLACES[0]), get(card))).await;
    let limit = Duration::from_secs(60);
    let awaited = ReadyCheck::Card;
    let card =
        wait_ready("p", &endpoint, awaited, None, Duration::ZERO, limit, &Tls::default()).await;
    assert_eq!(card.unwrap()["name"], "Debater");
}

/// A built-in evaluator, and most others, would not find the agent behind the wrong path, which is no fault of the agent.
#[tokio::test]
async fn a_card_at_the_origin_that_names_another_path_is_of_another_agent() {
    let card = r#"{"name": "Debater", "url": "http://127.0.0.1:1/a2a", "additionalInterfaces": [{"url": "http://127.0.0.1:1/rpc/"}]}"#;
    let app = Router::new().route("/.well-known/agent-card.json", get(move || async move { card }));
    let server = served(app).await;
    for path in ["a2a", "rpc", "rpc/", ""] {
        let endpoint = server.join(path).unwrap();
        assert_eq!(card_of(&endpoint).await["name"], "Debater", "{path}");
    }
    let seen = never_ready(&server.join("wrong").unwrap()).await;
    let expected = format!(
        "{server}.well-known/agent-card.json answered with the card of the agent at /a2a, which is not this one"
    );
    assert_eq!(seen.to_string(), expected);
}

#[tokio::test(start_paused = true)]
async fn the_time_in_which_everything_was_stopped_does_not_count() {
    let limit = Duration::from_secs(60);
    let mut over = std::pin::pin!(running_for(limit));
    assert!(tokio::time::timeout(Duration::ZERO, &mut over).await.is_err());
    tokio::time::advance(limit * 2).await;
    assert!(tokio::time::timeout(Duration::ZERO, &mut over).await.is_err());
    let resumed = Instant::now();
    over.await;
    assert_eq!(resumed.elapsed(), limit - TICK);
}
