//! Who speaks, and where.

use alloc::string::String;
use serde_json::Value;

use crate::wire::object;

object! {
    /// A user or a bot on its channel.
    #[derive(Default)]
    pub struct ChannelAccount {
        /// Unique on the channel.
        optional id: Option<String> = "id",
        /// A name for people.
        optional name: Option<String> = "name",
        /// The account in Microsoft Entra.
        optional aad_object_id: Option<String> = "aadObjectId",
        /// `user`, `bot`, `skill`, or what the channel calls it.
        optional role: Option<String> = "role",
    }
}

object! {
    /// A conversation on its channel.
    #[derive(Default)]
    pub struct ConversationAccount {
        /// Unique on the channel.
        optional id: Option<String> = "id",
        /// A name for people.
        optional name: Option<String> = "name",
        /// Whether there can be more than two.
        optional is_group: Option<bool> = "isGroup",
        /// What the channel tells conversations apart by.
        optional conversation_type: Option<String> = "conversationType",
        /// The tenant in Microsoft Entra.
        optional tenant_id: Option<String> = "tenantId",
        /// The account in Microsoft Entra.
        optional aad_object_id: Option<String> = "aadObjectId",
        /// `user`, `bot`, or what the channel calls it.
        optional role: Option<String> = "role",
        /// What else the channel says about it.
        optional properties: Option<Value> = "properties",
    }
}

impl ChannelAccount {
    /// An account with this id and name.
    pub fn new(id: impl Into<String>, name: impl Into<String>, role: impl Into<String>) -> Self {
        Self {
            id: Some(id.into()),
            name: Some(name.into()),
            role: Some(role.into()),
            ..Self::default()
        }
    }
}

impl ConversationAccount {
    /// A conversation with this id.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: Some(id.into()),
            ..Self::default()
        }
    }
}
