//! gRPC for the load: one message in a frame, over connections of its own. The client costs more than that of the other
//! bindings, so the figure to look at is that of the server's processor.

use bridge_protocol::{
    a2a::{Operation, SendMessageRequest, SendMessageResponse},
    dialect::Call,
    protobuf::{SERVICE, read, v1, write_call},
};
use reqwest::Client;

use crate::Outcome;

/// What stands before a message: whether it is compressed, and its length.
const FRAME: usize = 5;

/// One connection over HTTP/2.
pub(crate) struct Channel {
    client: Client,
    home: String,
}

impl Channel {
    pub(crate) fn new(port: u16) -> Outcome<Self> {
        let client = Client::builder()
            .http2_prior_knowledge()
            .tcp_nodelay(true)
            .build()?;
        let home = format!("http://127.0.0.1:{port}/{SERVICE}");
        Ok(Self { client, home })
    }

    /// Calls an operation and answers with the bytes of its message.
    async fn call(&self, operation: Operation, message: &[u8]) -> Outcome<Vec<u8>> {
        let length = u32::try_from(message.len())?.to_be_bytes();
        let asked = self
            .client
            .post(format!("{}/{}", self.home, operation.name()))
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

    /// Says something, and answers with the id of the task.
    pub(crate) async fn send(&self, request: &SendMessageRequest) -> Outcome<String> {
        let call = Call::SendMessage(request.clone());
        let answer = self
            .call(Operation::SendMessage, &write_call(&call))
            .await?;
        match read::<v1::SendMessageResponse, SendMessageResponse>(&answer)? {
            SendMessageResponse::Task(task) => Ok(task.id),
            SendMessageResponse::Message(_) => Err("expected a task, found a message".into()),
        }
    }
}
