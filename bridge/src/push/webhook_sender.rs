//! The seam to the network: who carries a delivery, and what comes of it.

use std::time::Duration;

use async_trait::async_trait;

use super::delivery_request::DeliveryRequest;

/// Carries deliveries.
#[async_trait]
pub(super) trait WebhookSender: Send + Sync + std::fmt::Debug {
    /// Tries it once, within a limit of time.
    async fn send(&self, delivery: &DeliveryRequest) -> Outcome;
}

/// What came of it. A reason names no more of the webhook than its host, and none of its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The webhook took it.
    Delivered,
    /// It may be taken another time.
    Failed {
        /// What went wrong.
        reason: String,
        /// When the webhook wants to be asked again.
        again: Option<Duration>,
    },
    /// It will never be taken.
    Refused {
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// As it is counted.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Failed { .. } => "failed",
            Self::Refused { .. } => "refused",
        }
    }
}
