//! Tests with clients that are busy or stopped for long, and go on.

use async_trait::async_trait;
use tokio::io::duplex;

use super::*;

/// The preface of HTTP/2, no settings, and a request for `/never`.
const HTTP_2_NEVER: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\
    \0\0\0\x04\0\0\0\0\0\
    \0\0\x0d\x01\x05\0\0\0\x01\x82\x86\x04\x06/never\x41\x01a";

/// A client over HTTP/2 that is stopped does not answer pings. Over HTTP/1.1 nobody would notice.
#[tokio::test(start_paused = true)]
async fn a_client_over_http_2_may_be_stopped_for_a_minute() {
    let limits = Limits::default();
    let (_stopping, stopped) = watch::channel(false);
    let server = Server {
        limits,
        app: app().into(),
        acceptor: Arc::new(PlainTcp),
        request_limits: Arc::new(RequestLimits::new(&limits)),
        reserved_limits: Arc::new(RequestLimits::new(&limits)),
        connections: Arc::new(Connections::new(limits.connections)),
        accept_failures: Arc::default(),
        stopped,
    };
    let (mut client, io) = duplex(64 << 10);
    client.write_all(HTTP_2_NEVER).await.unwrap();
    let serving = tokio::spawn(async move {
        let (monitor, peer) = (Arc::new(ConnectionMonitor::new()), ([127, 0, 0, 1], 1).into());
        server.serve_http(Io::new(io), peer, Extensions::new(), &monitor).await;
    });
    sleep(Duration::from_secs(60)).await;
    assert!(!serving.is_finished());
}

/// A handshake whose client never sends anything.
struct Silent;

#[async_trait]
impl Acceptor for Silent {
    async fn accept(&self, _: TcpStream) -> io::Result<(Io, Extensions)> {
        pending().await
    }
}

/// A client that is busy for long may have connected before, or be in the middle of its handshake.
#[tokio::test]
async fn a_handshake_has_the_time_of_an_idle_connection_but_delays_no_stop() {
    let limits = Limits::default();
    assert_eq!(limits.handshake, limits.idle);
    let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = Arc::new(Notify::new());
    let stopped = stop.clone();
    let stopping = async move { stopped.notified().await };
    let serving = tokio::spawn(serve_within(limits, listener, Silent, app(), stopping));
    let mut connection = connect_and_send(address, "").await;
    stop.notify_one();
    assert_eq!(read_all(&mut connection).await, "");
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
}
