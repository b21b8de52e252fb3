//! What Teams tells bots about its users and conversations, beyond other channels. Handlers for Teams read it without a check.
//!
//! Teams names users and tenants by their ids in Microsoft Entra, which are UUIDs. The bridge knows neither, so it derives a
//! UUID from the user's id, and takes the tenant from the settings.

use bridge_protocol::activity::{ChannelAccount, ConversationAccount};
use serde_json::Map;
use sha2::{Digest as _, Sha256};
use uuid::{Builder, Uuid};

use super::RemoteSettings;

/// The channel id of Teams.
const CHANNEL: &str = "msteams";

/// Returns the tenant of the bot's users, if the bot's channel is Teams. Without a configured one it is the nil UUID, which no
/// organization has.
fn tenant(settings: &RemoteSettings) -> Option<String> {
    let tenant = || settings.tenant_id.clone().unwrap_or_else(|| Uuid::nil().to_string());
    (settings.channel_id == CHANNEL).then(tenant)
}

/// Adds what Teams tells about a user in each activity.
pub(super) fn user(settings: &RemoteSettings, user: ChannelAccount) -> ChannelAccount {
    match tenant(settings) {
        Some(_) => ChannelAccount { aad_object_id: user.id.as_deref().map(object_id), ..user },
        None => user,
    }
}

/// Adds what Teams tells about a user in the list of members: there SDKs read the object id under another name.
pub(super) fn member(settings: &RemoteSettings, user: ChannelAccount) -> ChannelAccount {
    let (Some(tenant), Some(object)) = (tenant(settings), &user.aad_object_id) else {
        return user;
    };
    let extra = [("objectId", object.clone()), ("tenantId", tenant)];
    let extra = extra.map(|(name, value)| (name.to_owned(), value.into()));
    ChannelAccount { extra: Map::from_iter(extra), ..user }
}

/// Adds what Teams tells about a conversation with one user.
pub(super) fn conversation(
    settings: &RemoteSettings,
    conversation: ConversationAccount,
) -> ConversationAccount {
    match tenant(settings) {
        Some(tenant) => ConversationAccount {
            conversation_type: Some("personal".to_owned()),
            tenant_id: Some(tenant),
            ..conversation
        },
        None => conversation,
    }
}

/// Returns the object id of a user: the user's id if it is a UUID, as subjects of tokens may be, and else a UUID that is always
/// the same for this id.
fn object_id(user: &str) -> String {
    let derived = || {
        let digest = Sha256::digest(user);
        let bytes = digest.first_chunk().copied().unwrap_or_default();
        Builder::from_custom_bytes(bytes).into_uuid()
    };
    Uuid::try_parse(user).unwrap_or_else(|_| derived()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_same_object_id_everywhere() {
        for (user, expected) in [
            ("alice", "2bd806c9-7f0e-80af-9a1f-c3328fa763a9"),
            ("bob", "81b637d8-fcd2-86da-a359-e6963113a117"),
            ("00C0FFEE-1111-4222-8333-444455556666", "00c0ffee-1111-4222-8333-444455556666"),
        ] {
            assert_eq!(object_id(user), expected);
        }
    }
}
