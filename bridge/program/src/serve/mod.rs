//! Serving an app on a listener, in the one way that everything here is served: slow, silent and many clients
//! cost only themselves.
//!
//! - `limits`: what connections and requests may take
//! - `listen`: where connections come in
//! - `door`: what happens on a connection before HTTP is spoken
//! - `connections`: how many there are, and which one goes when there are too many
//! - `activity`: what a connection does, and when it has taken too long
//! - `watched`: the bytes of a connection, which tell its activity
//! - `gate`: how many requests there are, and the bytes of their bodies
//! - `question`, `answer`: bodies, of requests and of responses; `pace`: an answer that is cut off if nobody takes it
//! - `trouble`, `refusal`: why a body was not read, or a request not looked at
//! - `flight`: a request while it is answered
//! - `service`: one request and its answer
//! - `talk`: what is spoken on a connection
//! - `quiet`: event streams that have nothing to say at present
//! - `early`: answers to what is no request yet
//! - `outgoing`: large answers that are being sent

mod activity;
mod answer;
mod connections;
mod door;
mod early;
mod flight;
mod gate;
mod limits;
mod listen;
mod moment;
mod outgoing;
mod pace;
mod question;
mod quiet;
mod refusal;
mod service;
mod talk;
#[cfg(test)]
mod tests;
mod trouble;
mod watched;

use std::{io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use axum::http::Extensions;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    time::{sleep, timeout},
};

pub use door::{Door, Io, Plain};
pub use flight::Flight;
pub use gate::network;
pub use limits::Limits;
pub use listen::{ListenError, listen};
pub use outgoing::{LARGE, Outgoing, Room, outgoing};
pub use refusal::Unserved;
pub use service::App;
pub use trouble::Trouble;

use activity::Activity;
use connections::Connections;
use gate::Gate;
use quiet::Slot;
use refusal::Refuse;
use service::Asked;
use talk::Talk;
use watched::Watched;

/// How long a connection that is to be closed may still take for it.
const CLOSING: Duration = Duration::from_secs(1);

/// How long a connection that is to be closed is still read.
const LAST_LOOK: Duration = Duration::from_millis(10);

/// How long nobody is accepted when there is no file left for it.
const NO_FILE: Duration = Duration::from_millis(20);

/// How many of those who came too late are told so at once, and how long each of them is listened to before that.
const REFUSALS: usize = 64;
const LISTENING: Duration = Duration::from_millis(500);

/// Serves with the default [`Limits`] until the future `stop` is ready, and then until the open requests have ended.
/// Drop the returned future to stop without waiting for them. Pass `std::future::pending()` to serve for ever.
/// [`axum::extract::ConnectInfo`] gives handlers the client's address.
///
/// # Errors
/// None at present.
pub async fn serve(
    listener: TcpListener,
    app: impl Into<App>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    serve_within(Limits::default(), listener, Plain, app, stop).await
}

/// Serves like [`serve`], within other limits and behind a [`Door`].
///
/// # Errors
/// None at present.
pub async fn serve_within(
    limits: Limits,
    listener: TcpListener,
    door: impl Door,
    app: impl Into<App>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    serve_behind(limits, listener, Arc::new(door), app.into(), Box::pin(stop)).await
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Serves. It returns a box, and is no `async fn`, so that it is compiled here and not again for each crate that serves: with
/// HTTP it is much.
fn serve_behind(
    limits: Limits,
    listener: TcpListener,
    door: Arc<dyn Door>,
    app: App,
    stop: Boxed<()>,
) -> Boxed<io::Result<()>> {
    Box::pin(async move { accept(limits, listener, door, app, stop).await })
}

async fn accept(
    limits: Limits,
    listener: TcpListener,
    door: Arc<dyn Door>,
    app: App,
    mut stop: Boxed<()>,
) -> io::Result<()> {
    let (stopping, stopped) = watch::channel(false);
    let (open, mut closed) = watch::channel(());
    let house = House {
        limits,
        app,
        door,
        gate: Arc::new(Gate::new(&limits)),
        connections: Arc::new(Connections::new(listen::room(limits.connections))),
        refusals: Arc::new(Semaphore::new(REFUSALS)),
        stopped,
    };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((connection, peer)) => house.take(connection, peer, &open),
            Err(error) => house.failed(&error).await,
        }
    }
    drop(listener);
    stopping.send_replace(true);
    drop(open);
    // Fails once nobody is left who could say anything.
    while closed.changed().await.is_ok() {}
    Ok(())
}

/// What all connections share.
#[derive(Clone)]
struct House {
    limits: Limits,
    app: App,
    door: Arc<dyn Door>,
    gate: Arc<Gate>,
    connections: Arc<Connections>,
    refusals: Arc<Semaphore>,
    stopped: watch::Receiver<bool>,
}

impl House {
    /// Takes a connection in, or tells it to come back.
    fn take(&self, connection: TcpStream, peer: SocketAddr, open: &watch::Sender<()>) {
        listen::hurry(&connection);
        let Some(place) = self.connections.enter() else {
            tracing::debug!(%peer, "there are too many connections");
            if let (true, Ok(refusal)) = (
                self.door.is_plain(),
                self.refusals.clone().try_acquire_owned(),
            ) {
                let how = self.app.refuse;
                tokio::spawn(async move {
                    refuse(connection, how).await;
                    drop(refusal);
                });
            }
            return;
        };
        let (house, open) = (self.clone(), open.clone());
        tokio::spawn(async move {
            house.connected(connection, peer, &place.activity).await;
            drop((place, open));
        });
    }

    async fn connected(&self, connection: TcpStream, peer: SocketAddr, activity: &Arc<Activity>) {
        let opened = timeout(self.limits.handshake, self.door.open(connection));
        let opened = tokio::select! {
            opened = opened => opened,
            () = activity.evicted() => return,
        };
        match opened {
            Ok(Ok((io, known))) => self.speak(io, peer, known, activity).await,
            Ok(Err(error)) => tracing::debug!(%peer, %error, "a client cannot be spoken to"),
            Err(_) => tracing::debug!(%peer, "a client took too long to begin"),
        }
    }

    /// Speaks HTTP until the connection is closed.
    async fn speak(&self, io: Io, peer: SocketAddr, known: Extensions, activity: &Arc<Activity>) {
        let service = Asked {
            app: self.app.clone(),
            peer,
            known,
            activity: activity.clone(),
            share: self.gate.share(peer.ip()),
            limits: self.limits,
            slot: Slot::default(),
        };
        let share = service.share.clone();
        let io = Watched::new(io, activity.clone(), share, self.app.refuse);
        let mut connection = Talk::new(io, service);
        let (mut stopped, mut is_stopping) = (self.stopped.clone(), false);
        loop {
            let why = tokio::select! {
                served = &mut connection => {
                    if let Err(error) = served {
                        tracing::debug!(%peer, %error, "a connection ended in disorder");
                    }
                    return;
                }
                why = activity.over(&self.limits) => why,
                _ = stopped.wait_for(|stopped| *stopped), if !is_stopping => {
                    is_stopping = true;
                    connection.graceful_shutdown();
                    continue;
                }
            };
            match last_look(Pin::new(&mut connection), activity, &self.limits).await {
                Seen::Request => {}
                Seen::End => return,
                Seen::Nothing => {
                    tracing::debug!(%peer, why, "a connection is closed");
                    break;
                }
            }
        }
        // A request that has just come is still answered, unless it is the reason for closing.
        if !activity.is_stuck() {
            connection.graceful_shutdown();
            let _ = timeout(CLOSING, connection).await;
        }
    }

    /// What is done when nobody can be accepted.
    async fn failed(&self, error: &io::Error) {
        let is_theirs = matches!(
            error.kind(),
            io::ErrorKind::ConnectionAborted
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionRefused
        );
        if !is_theirs {
            tracing::warn!(%error, "a connection could not be accepted");
            self.connections.evict();
            sleep(NO_FILE).await;
        }
    }
}

/// What is seen of a connection that is about to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// Something was asked after all.
    Request,
    /// The client has closed it.
    End,
    Nothing,
}

/// Reads what came just when the connection was found to be over. Closed with something unread, it would take a
/// client's request with it that came in time.
async fn last_look(
    connection: Pin<&mut impl Future>,
    activity: &Activity,
    limits: &Limits,
) -> Seen {
    if activity.is_stuck() {
        return Seen::Nothing;
    }
    match timeout(LAST_LOOK, connection).await {
        Ok(_) => Seen::End,
        Err(_) if activity.is_over(limits) => Seen::Nothing,
        Err(_) => Seen::Request,
    }
}

/// Tells a client to come back, in the form that what it asks wants; one that says nothing soon is told in any.
async fn refuse(mut connection: TcpStream, how: Refuse) {
    let mut begin = Vec::with_capacity(early::LOOK);
    let listening = async {
        while begin.len() < early::LOOK
            && !begin.windows(4).any(|bytes| bytes == b"\r\n\r\n")
            && matches!(connection.read_buf(&mut begin).await, Ok(1..))
        {}
    };
    let _ = timeout(LISTENING, listening).await;
    let answer = early::answer(how, &begin, Unserved::Full);
    let told = async {
        connection.write_all(&answer).await?;
        connection.shutdown().await?;
        // Closed with something unread, the answer would be lost.
        let mut unread = [0; 1 << 10];
        while connection.read(&mut unread).await? > 0 {}
        Ok::<_, io::Error>(())
    };
    let _ = timeout(CLOSING, told).await;
}
