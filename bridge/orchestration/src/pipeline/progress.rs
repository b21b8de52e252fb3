//! The trait by which a pipeline reports its progress.

use bridge_protocol::a2a::Part;

/// The receiver of a pipeline's messages, such as the task in which it runs.
pub trait Progress: Sync {
    /// The reason why no more messages can be sent; it ends the pipeline.
    type Error: Send;

    /// Sends these parts in one message.
    ///
    /// # Errors
    /// If the caller's task has ended or was canceled.
    fn send(&self, parts: Vec<Part>) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Publishes a member of the result as soon as it is complete.
    ///
    /// # Errors
    /// As for [`Progress::send`].
    fn show(
        &self,
        name: &str,
        parts: Vec<Part>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;
}
