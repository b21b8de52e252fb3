//! The names that the translation writes in metadata and `channelData`.
//!
//! They are URNs without slashes, so that JSON pointers need no escaping.

/// In the metadata of a message or an artifact: the activity's fields without another place, as a JSON merge
/// patch (RFC 7396) over the content of the parts.
pub const FIELDS: &str = "urn:activity:fields";

/// In the metadata of a message: the activity's address (`from`, `recipient`, `conversation`, `channelId`,
/// `replyToId`) where it differs from that of its turn. It never has a service URL, which is a secret between
/// channel and bot.
pub const ADDRESS: &str = "urn:activity:address";

/// In the metadata of a message, of an artifact or of its event: the entity `streaminfo`.
pub const STREAM: &str = "urn:activity:stream";

/// In the metadata of a task: an activity that is not a message (an event, a trace, an update, a
/// deletion, or an unknown type), without the fields common to its turn. In the metadata of a status update:
/// the same; an update or deletion has the `id` of the changed or deleted message; and at the end of the
/// conversation the fields of the end beside its text and result, such as the code.
pub const EVENT: &str = "urn:activity:event";

/// In the metadata of a task: the newest of the bot's activities that are not messages, oldest first, unless [`EVENT`]
/// is the only one. Updates, deletions and typing are left out.
pub const EVENTS: &str = "urn:activity:events";

/// In the metadata of a text part: true if the part only says what cards or suggested actions of the same message show.
pub const PLAIN_TEXT: &str = "urn:activity:plain-text";

/// In the metadata of a message that asks, in the log: the ids of the bot's messages before it in the same turn. Clients
/// get these messages as the first parts of the question.
pub const BEFORE: &str = "urn:activity:before";

/// In the metadata of a task that a bot started by changing a message of an ended task, or by a late answer to one: the
/// `taskId` of that task, and the `messageId` of the changed message. In the metadata of a message: the same, if it is a new
/// version of a message that stays as it is: of an ended task, or with the card that was clicked.
pub const FOLLOWS: &str = "urn:activity:follows";

/// In the metadata of a part: the difference between the original attachment and the part.
pub const ATTACHMENT: &str = "urn:activity:attachment";

/// In the metadata of a data part: marks it as the activity's `value`, with the `valueType`.
pub const VALUE: &str = "urn:activity:value";

/// In the metadata of a data part of a user's message: the bot gets an `invoke` with the name `name` and this
/// `value` instead of a message, as when the user presses a button of a card. Its response is an
/// `invokeResponse` under [`EVENT`], whose value has the `status` and the `body`.
pub const INVOKE: &str = "urn:activity:invoke";

/// In the metadata of a data part: its media type, where readers of 0.3 look for it.
pub const MIME_TYPE: &str = "mimeType";

/// In the metadata of a data part: the JSON type of its data.
pub const TYPE: &str = "type";

/// In the metadata of a data part: a JSON Schema for its data.
pub const SCHEMA: &str = "schema";

/// In `channelData`, beside the fields of the task: the original message. Content that is in the activity is
/// not repeated but replaced by a reference.
pub const MESSAGE: &str = "message";

/// In `channelData`, as in Teams: the tenant of the conversation, if it has one.
pub(crate) const TENANT: &str = "tenant";

/// In a part of that message: the reference to its content.
pub const HOLDS: &str = "urn:activity:holds";

/// The media type of data without a more specific one.
pub const JSON: &str = "application/json";

/// The prefix of the media type of an entity, followed by the entity's type.
pub const ENTITY: &str = "application/vnd.microsoft.entity.";

/// The name of an attachment made from a data part without a name, as in Microsoft's hosting.
pub const DATA_PART: &str = "A2A DataPart";

/// The name and description of the artifact with the result of a conversation.
pub const RESULT: (&str, &str) = ("Result", "Task completion result");

/// The fields with an activity's sender and receiver.
pub(crate) const ADDRESS_FIELDS: [&str; 6] =
    ["channelId", "conversation", "from", "recipient", "replyToId", SERVICE_URL];

/// The field with the URL at which the bot reaches the channel.
pub(crate) const SERVICE_URL: &str = "serviceUrl";
