//! A link between two of the processes, which delays, holds and cuts what goes through it.

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

use crate::Failed;

/// What becomes of bytes on their way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mode {
    /// Nothing goes through, and nobody is told.
    pub(crate) is_held: bool,
    pub(crate) delay: Duration,
}

/// Where a link leads.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Nowhere,
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// A link; its connections end with it.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    address: String,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    place: watch::Sender<Place>,
    mode: watch::Sender<Mode>,
    cuts: watch::Sender<u64>,
    halves: watch::Sender<u64>,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Link {
    fn new(address: String, place: Place) -> Self {
        let shared = Arc::new(Shared {
            place: watch::Sender::new(place),
            mode: watch::Sender::default(),
            cuts: watch::Sender::default(),
            halves: watch::Sender::default(),
        });
        Self { address, shared }
    }

    /// A link on a port of its own.
    pub(crate) async fn tcp(place: Place) -> Result<Self, Failed> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let link = Self::new(format!("http://{}", listener.local_addr()?), place);
        let shared = Arc::clone(&link.shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                tokio::spawn(carry(Box::new(stream), Arc::clone(&shared)));
            }
        });
        Ok(link)
    }

    /// A link on a socket in the file system.
    pub(crate) fn unix(path: &Path, place: Place) -> Result<Self, Failed> {
        let listener = UnixListener::bind(path)?;
        let link = Self::new(path.display().to_string(), place);
        let shared = Arc::clone(&link.shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(carry(Box::new(stream), Arc::clone(&shared)));
            }
        });
        Ok(link)
    }

    /// Where it is reached: a URL without a path, or a path.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Leads new connections elsewhere.
    pub(crate) fn lead_to(&self, place: Place) {
        self.shared.place.send_replace(place);
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.shared.mode.send_replace(mode);
    }

    /// Breaks all connections off.
    pub(crate) fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Closes all connections in the direction of whoever has connected.
    pub(crate) fn half_close(&self) {
        self.shared.halves.send_modify(|halves| *halves += 1);
    }
}

async fn carry(near: Box<dyn Stream>, shared: Arc<Shared>) {
    let (mut cuts, mut halves) = (shared.cuts.subscribe(), shared.halves.subscribe());
    let place = shared.place.borrow().clone();
    let far: Box<dyn Stream> = match place {
        Place::Nowhere => return,
        Place::Tcp(address) => match TcpStream::connect(address).await {
            Ok(stream) => {
                let _ = stream.set_nodelay(true);
                Box::new(stream)
            }
            Err(_) => return,
        },
        Place::Unix(path) => match UnixStream::connect(path).await {
            Ok(stream) => Box::new(stream),
            Err(_) => return,
        },
    };
    let ((mut near_in, mut near_out), (mut far_in, mut far_out)) = (split(near), split(far));
    let there = pump(&mut near_in, &mut far_out, &shared);
    let back = async {
        tokio::select! {
            () = pump(&mut far_in, &mut near_out, &shared) => {}
            _ = halves.changed() => drop(near_out.shutdown().await),
        }
    };
    tokio::select! {
        _ = cuts.changed() => {}
        ((), ()) = async { tokio::join!(there, back) } => {}
    }
}

/// Passes bytes on until there are no more, or one of both ends is gone.
async fn pump(
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
