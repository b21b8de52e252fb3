//! An HTTP/2 client: gRPC with one message in a frame, and JSON-RPC to compare with it. The client itself costs more
//! than that of HTTP/1.1, so compare the server's processor time.

use bridge_protocol::{
    a2a::{Operation, SendMessageRequest, SendMessageResponse},
    dialect::Call,
    protobuf::{SERVICE, read, v1, write_call},
};
use reqwest::Client;

use crate::Outcome;

/// The length of the prefix of a message: whether it is compressed, and its length.
const FRAME: usize = 5;

/// An HTTP/2 connection, which its clones share.
#[derive(Clone)]
pub(crate) struct Channel {
    client: Client,
    home: String,
}

impl Channel {
    pub(crate) fn new(port: u16) -> Outcome<Self> {
        let client = Client::builder().http2_prior_knowledge().tcp_nodelay(true).build()?;
        let home = format!("http://127.0.0.1:{port}");
        Ok(Self { client, home })
    }

    /// Calls an operation, and returns the bytes of the response message.
    async fn call(&self, operation: Operation, message: &[u8]) -> Outcome<Vec<u8>> {
        let length = u32::try_from(message.len())?.to_be_bytes();
        let asked = self
            .client
            .post(format!("{}/{SERVICE}/{}", self.home, operation.name()))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("a2a-version", "1.0")
            .body([&[0], &length[..], message].concat());
        let answer = asked.send().await?;
        let status = answer.headers().get("grpc-status").cloned();
        let body = answer.bytes().await?;
        match body.get(FRAME..) {
            Some(message) => Ok(message.to_vec()),
            None => Err(format!("expected a message, found status {status:?}").into()),
        }
    }

    /// Sends a message, and returns the id of its task.
    pub(crate) async fn send(&self, request: &SendMessageRequest) -> Outcome<String> {
        let call = Call::SendMessage(request.clone());
        let answer = self.call(Operation::SendMessage, &write_call(&call)).await?;
        match read::<v1::SendMessageResponse, SendMessageResponse>(&answer)? {
            SendMessageResponse::Task(task) => Ok(task.id),
            SendMessageResponse::Message(_) => Err("expected a task, found a message".into()),
        }
    }
    /// Sends this body as JSON-RPC.
    pub(crate) async fn post(&self, body: Vec<u8>) -> Outcome<()> {
        let asked = self
            .client
            .post(format!("{}/", self.home))
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(body);
        let answer = asked.send().await?.error_for_status()?.bytes().await?;
        match answer.windows(9).any(|window| window == b"\"error\":{") {
            true => Err(String::from_utf8_lossy(&answer).into()),
            false => Ok(()),
        }
    }
}
