//! Listens on the socket.

use std::{
    fs,
    io::{self, ErrorKind},
    os::unix::{
        fs::{FileTypeExt as _, PermissionsExt as _},
        net::UnixStream,
    },
    path::Path,
};

use axum::Router;
use reqwest::ClientBuilder;
use tokio::net::UnixListener;

use super::AdminSocket;

impl AdminSocket {
    /// Serves the routes at this path, for the bridge's own user only. A socket that a killed program left is replaced.
    pub(in crate::cli) fn serve(path: &Path, app: Router) -> io::Result<Self> {
        match UnixStream::connect(path) {
            Ok(_) => return Err(io::Error::from(ErrorKind::AddrInUse)),
            // Linux refuses a connection to any other file, too, which is not replaced.
            Err(error)
                if error.kind() == ErrorKind::ConnectionRefused
                    && fs::metadata(path)?.file_type().is_socket() =>
            {
                fs::remove_file(path)?;
            }
            Err(_) => {}
        }
        let listener = UnixListener::bind(path)?;
        let own = Self { path: path.to_owned() };
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(own)
    }
}

/// Sends the requests of a client to the socket at this path.
pub(super) fn connected(client: ClientBuilder, path: &Path) -> io::Result<ClientBuilder> {
    Ok(client.unix_socket(path))
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, time::Duration};

    use axum::{body::Body, routing::get};
    use futures_util::{StreamExt as _, stream};

    use super::*;
    use crate::cli::admin::{AdminClient, LIMIT, SOCKET};

    /// As one who reads an exported task page by page.
    #[tokio::test]
    async fn a_slow_reader_gets_the_whole_answer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(SOCKET);
        let pieces = async || {
            let lines = stream::iter(0..4).then(async |line| {
                tokio::task::yield_now().await;
                Ok::<_, Infallible>(format!("{line}\n"))
            });
            Body::from_stream(lines)
        };
        let _socket = AdminSocket::serve(&path, Router::new().route("/", get(pieces))).unwrap();
        let limit = Duration::from_secs(1);
        let client = AdminClient::at(&path, limit).unwrap();
        let mut text = String::new();
        let read = client.pieces("/", |lines| {
            text += lines;
            std::thread::sleep(limit + Duration::from_millis(100));
        });
        read.await.unwrap();
        assert_eq!(text, "0\n1\n2\n3\n");
    }

    #[tokio::test]
    async fn another_file_is_not_replaced() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "mine").unwrap();
        let error = AdminSocket::serve(file.path(), Router::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "mine");
    }

    #[tokio::test]
    async fn a_socket_is_for_its_user_and_replaces_what_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(SOCKET);
        // This is the socket of a killed program.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let app = Router::new().route("/", get(async || r#"{"a":1}"#));
        let socket = AdminSocket::serve(&path, app.clone()).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let told = AdminClient::at(&path, LIMIT).unwrap().get("/").await.unwrap();
        assert_eq!(told["a"], 1);
        let second = AdminSocket::serve(&path, app).unwrap_err();
        assert_eq!(second.kind(), ErrorKind::AddrInUse);
        drop(socket);
        let error = AdminClient::at(&path, LIMIT).unwrap().get("/").await.unwrap_err();
        assert!(error.to_string().contains("no bridge answers at"), "{error}");
    }
}
