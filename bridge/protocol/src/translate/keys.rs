//! Names in metadata and in `channelData`: every one that the translation writes stands here.
//!
//! They are URNs without slashes, so that they can stand in JSON pointers as they are.

/// In the metadata of a message or an artifact: fields of the activity that have no other place in it, as
/// JSON merge patch (RFC 7396) over what the parts say.
pub const FIELDS: &str = "urn:activity:fields";

/// In the metadata of a message: the activity's address (`from`, `recipient`, `conversation`, `channelId`,
/// `replyToId`) where it differs from that of its turn. A service URL never stands here: it is a secret
/// between the channel and the bot.
pub const ADDRESS: &str = "urn:activity:address";

/// In the metadata of a message, of an artifact or of its event: the entity `streaminfo`.
pub const STREAM: &str = "urn:activity:stream";

/// In the metadata of a task: an activity that is no message (an event, a trace, a typing, an update, a
/// deletion, a type that nobody knows), whole but for what its turn says already. In the metadata of a
/// status update: the same of an update or a deletion, whose `id` is that of the message that was changed
/// or taken back; or, where the conversation ends, what the end says beside its text and its result, such
/// as the code.
pub const EVENT: &str = "urn:activity:event";

/// In the metadata of a task that a bot began by changing what it had said in a task that has ended: the
/// `taskId` of that, and the `messageId` of what it changed there.
pub const FOLLOWS: &str = "urn:activity:follows";

/// In the metadata of a part: how the attachment that it was differs from what the part says.
pub const ATTACHMENT: &str = "urn:activity:attachment";

/// In the metadata of a data part: it is the activity's `value`, with the `valueType`.
pub const VALUE: &str = "urn:activity:value";

/// In the metadata of a data part of a user's message: the bot is not sent a message but an `invoke` of the
/// name `name` with this `value`, as when the user has pressed a button of a card. What it responds is an
/// `invokeResponse` under [`EVENT`], whose value has the `status` and the `body`.
pub const INVOKE: &str = "urn:activity:invoke";

/// In the metadata of a data part: its media type, where readers of 0.3 look for it.
pub const MIME_TYPE: &str = "mimeType";

/// In the metadata of a data part: the JSON type of its data.
pub const TYPE: &str = "type";

/// In the metadata of a data part: a JSON Schema that its data fits.
pub const SCHEMA: &str = "schema";

/// In `channelData`, beside the fields of the task: the message that became the activity. Content that
/// stands in the activity is not repeated: in the place of it there is where it stands.
pub const MESSAGE: &str = "message";

/// In a part of that message: where its content stands.
pub const HOLDS: &str = "urn:activity:holds";

/// The media type of data that says nothing more about itself.
pub const JSON: &str = "application/json";

/// The media type of an entity, before its type.
pub const ENTITY: &str = "application/vnd.microsoft.entity.";

/// The name of an attachment that was a data part without a name, as Microsoft's own hosting calls it.
pub const DATA_PART: &str = "A2A DataPart";

/// The name and the description of the artifact that is the result of a conversation.
pub const RESULT: (&str, &str) = ("Result", "Task completion result");

/// The fields that say where an activity comes from and where it goes.
pub(crate) const ADDRESS_FIELDS: [&str; 6] = [
    "channelId",
    "conversation",
    "from",
    "recipient",
    "replyToId",
    SERVICE_URL,
];

/// Where the bot reaches the channel, as activities name it.
pub(crate) const SERVICE_URL: &str = "serviceUrl";
