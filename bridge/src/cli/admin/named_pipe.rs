//! Listens on a named pipe of Windows, which has no Unix sockets. The pipe has a random name, which a file holds at the path of
//! the socket: who may not read that file cannot find the pipe. The system lets only the bridge's own user and administrators
//! write to the pipe, and nobody from another machine.

use std::{
    fs,
    io::{self, ErrorKind},
    mem,
    path::Path,
    time::Duration,
};

use axum::{Router, serve::Listener};
use reqwest::ClientBuilder;
use tokio::{
    net::windows::named_pipe::{ClientOptions, NamedPipeServer, ServerOptions},
    time::sleep,
};

use super::AdminSocket;
use crate::clock;

/// The beginning of the names.
const PREFIX: &str = r"\\.\pipe\bridge-";

/// The pause after a failed connection.
const PAUSE: Duration = Duration::from_millis(100);

impl AdminSocket {
    /// Serves the routes, for the bridge's own user only. The file of a killed program is replaced.
    pub(in crate::cli) fn serve(path: &Path, app: Router) -> io::Result<Self> {
        match name(path) {
            Ok(name) if ClientOptions::new().open(&name).is_ok() => {
                return Err(ErrorKind::AddrInUse.into());
            }
            // A file of another kind is not replaced.
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(_) | Err(_) => {}
        }
        let name = format!("{PREFIX}{}", clock::new_secret());
        let next = ServerOptions::new().first_pipe_instance(true).create(&name)?;
        fs::write(path, &name)?;
        let pipes = Pipes { name, next };
        tokio::spawn(async move { axum::serve(pipes, app).await });
        Ok(Self { path: path.to_owned() })
    }
}

/// Sends the requests of a client to the pipe of this file.
pub(super) fn connected(client: ClientBuilder, path: &Path) -> io::Result<ClientBuilder> {
    Ok(client.windows_named_pipe(name(path)?))
}

fn name(path: &Path) -> io::Result<String> {
    let name = fs::read_to_string(path)?;
    match name.starts_with(PREFIX) {
        true => Ok(name),
        false => Err(io::Error::new(
            ErrorKind::AlreadyExists,
            "it does not hold the name of a bridge's pipe",
        )),
    }
}

/// The instances of a pipe. Each is for one client, and the next one exists before it is needed.
struct Pipes {
    name: String,
    next: NamedPipeServer,
}

impl Pipes {
    async fn connected(&mut self) -> io::Result<NamedPipeServer> {
        self.next.connect().await?;
        let next = ServerOptions::new().create(&self.name)?;
        Ok(mem::replace(&mut self.next, next))
    }
}

impl Listener for Pipes {
    type Io = NamedPipeServer;
    type Addr = ();

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.connected().await {
                Ok(pipe) => return (pipe, ()),
                Err(error) => {
                    tracing::debug!(%error, "a connection of the operator's commands failed");
                    let _ = self.next.disconnect();
                    sleep(PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        Ok(())
    }
}
