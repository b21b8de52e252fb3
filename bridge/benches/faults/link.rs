//! A link between two processes, which can delay, hold and cut its connections.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, split},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::watch,
    time::sleep,
};

use crate::Error;

/// The way in which a link treats bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mode {
    /// Whether no bytes pass; the connections stay open.
    pub(crate) is_held: bool,
    pub(crate) delay: Duration,
}

/// The address that a link connects to.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Nowhere,
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// A link, which accepts connections and forwards each to its target.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    address: String,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: watch::Sender<Target>,
    mode: watch::Sender<Mode>,
    cuts: watch::Sender<u64>,
    half_closes: watch::Sender<u64>,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Link {
    fn new(address: String, target: Target) -> Self {
        let shared = Arc::new(Shared {
            target: watch::Sender::new(target),
            mode: watch::Sender::default(),
            cuts: watch::Sender::default(),
            half_closes: watch::Sender::default(),
        });
        Self { address, shared }
    }

    /// Creates a link that listens on a new port.
    pub(crate) async fn tcp(target: Target) -> Result<Self, Error> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let link = Self::new(format!("http://{}", listener.local_addr()?), target);
        let shared = Arc::clone(&link.shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                tokio::spawn(proxy(Box::new(stream), Arc::clone(&shared)));
            }
        });
        Ok(link)
    }

    /// Creates a link that listens on a Unix socket.
    pub(crate) fn unix(path: &Path, target: Target) -> Result<Self, Error> {
        let listener = UnixListener::bind(path)?;
        let link = Self::new(path.display().to_string(), target);
        let shared = Arc::clone(&link.shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(proxy(Box::new(stream), Arc::clone(&shared)));
            }
        });
        Ok(link)
    }

    /// Returns the address that it listens on: a URL without a path, or the path of the socket.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Sets the target of new connections.
    pub(crate) fn set_target(&self, target: Target) {
        self.shared.target.send_replace(target);
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.shared.mode.send_replace(mode);
    }

    /// Breaks all connections.
    pub(crate) fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Closes all connections in the direction of the process that has connected.
    pub(crate) fn half_close(&self) {
        self.shared.half_closes.send_modify(|half_closes| *half_closes += 1);
    }
}

async fn proxy(near: Box<dyn Stream>, shared: Arc<Shared>) {
    let (mut cuts, mut half_closes) = (shared.cuts.subscribe(), shared.half_closes.subscribe());
    let target = shared.target.borrow().clone();
    let far: Box<dyn Stream> = match target {
        Target::Nowhere => return,
        Target::Tcp(address) => match TcpStream::connect(address).await {
            Ok(stream) => {
                let _ = stream.set_nodelay(true);
                Box::new(stream)
            }
            Err(_) => return,
        },
        Target::Unix(path) => match UnixStream::connect(path).await {
            Ok(stream) => Box::new(stream),
            Err(_) => return,
        },
    };
    let ((mut near_in, mut near_out), (mut far_in, mut far_out)) = (split(near), split(far));
    let there = copy(&mut near_in, &mut far_out, &shared);
    let back = async {
        tokio::select! {
            () = copy(&mut far_in, &mut near_out, &shared) => {}
            _ = half_closes.changed() => drop(near_out.shutdown().await),
        }
    };
    tokio::select! {
        _ = cuts.changed() => {}
        ((), ()) = async { tokio::join!(there, back) } => {}
    }
}

/// Copies bytes until there are no more, or until one end is closed.
async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    shared: &Shared,
) {
    let mut bytes = vec![0; 16 << 10];
    let mut mode = shared.mode.subscribe();
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let open = mode.wait_for(|mode| !mode.is_held).await;
        let delay = open.map_or(Duration::ZERO, |mode| mode.delay);
        sleep(delay).await;
        if to.write_all(&bytes[..count]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}
