//! Collectors of traces that do not work.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    thread,
};

/// The defect of a collector.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DeadCollector {
    /// No program listens.
    Absent,
    /// It accepts connections and never answers.
    Silent,
    /// It answers with errors.
    Refusing,
}

impl DeadCollector {
    pub(crate) const ALL: [Self; 3] = [Self::Absent, Self::Silent, Self::Refusing];

    /// Starts the collector and returns its URL.
    pub(crate) fn url(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        match self {
            Self::Absent => drop(listener),
            Self::Silent => drop(thread::spawn(move || listener.incoming().collect::<Vec<_>>())),
            Self::Refusing => drop(thread::spawn(move || {
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    let _ = stream.read(&mut [0; 65_536]);
                    let answer = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                    let _ = stream.write_all(answer.as_bytes());
                }
            })),
        }
        url
    }
}
