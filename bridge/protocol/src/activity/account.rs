//! Accounts of users and bots, and conversations.

use alloc::string::String;
use serde_json::Value;

use crate::wire::object;

object! {
    /// The account of a user or bot on a channel.
    #[derive(Default)]
    pub struct ChannelAccount {
        /// The id, unique on the channel.
        optional id: Option<String> = "id",
        /// The name for people.
        optional name: Option<String> = "name",
        /// The object id in Microsoft Entra.
        optional aad_object_id: Option<String> = "aadObjectId",
        /// The role: `user`, `bot`, `skill`, or a name of the channel's own.
        optional role: Option<String> = "role",
    }
}

object! {
    /// A conversation on a channel.
    #[derive(Default)]
    pub struct ConversationAccount {
        /// The id, unique on the channel.
        optional id: Option<String> = "id",
        /// The name for people.
        optional name: Option<String> = "name",
        /// Whether the conversation can have more than two members.
        optional is_group: Option<bool> = "isGroup",
        /// The channel's type of conversation.
        optional conversation_type: Option<String> = "conversationType",
        /// The tenant in Microsoft Entra.
        optional tenant_id: Option<String> = "tenantId",
        /// The object id in Microsoft Entra.
        optional aad_object_id: Option<String> = "aadObjectId",
        /// The role: `user`, `bot`, or a name of the channel's own.
        optional role: Option<String> = "role",
        /// Further properties, as the channel defines them.
        optional properties: Option<Value> = "properties",
    }
}

impl ChannelAccount {
    /// Creates an account with this id, name and role.
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
    /// Creates a conversation with this id.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..Self::default() }
    }
}
