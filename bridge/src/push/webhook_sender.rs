//! The interface between deliveries and the network. Tests replace the network by an implementation of their own.

use std::time::Duration;

use async_trait::async_trait;

use super::delivery_request::DeliveryRequest;

/// Sends deliveries to webhooks.
#[async_trait]
pub(super) trait WebhookSender: Send + Sync + std::fmt::Debug {
    /// Sends a delivery once, within a time limit.
    async fn send(&self, delivery: &DeliveryRequest) -> Outcome;
}

/// The outcome of one attempt. Reasons contain no more of the webhook's URL than its host, and no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The webhook acknowledged the delivery.
    Delivered,
    /// The attempt failed; a later one may succeed.
    Failed {
        /// What went wrong.
        reason: String,
        /// The delay that the webhook asked for.
        again: Option<Duration>,
    },
    /// No attempt can succeed.
    Refused {
        /// The reason.
        reason: String,
    },
}

impl Outcome {
    /// The outcome's label in metrics.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Failed { .. } => "failed",
            Self::Refused { .. } => "refused",
        }
    }
}
