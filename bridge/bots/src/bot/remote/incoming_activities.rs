//! Logs the activities that bots post by their own calls: in the open turn if there is one, otherwise outside of a
//! turn.

use std::{collections::BTreeMap, sync::Arc};

use bridge_protocol::{
    a2a::{Content, Metadata, Part, Task},
    activity::{Activity, ActivityType, ChannelAccount},
    wire::{FieldError, Wire as _},
};
use bridge_translate::{Input, SilentEnd, Translation, TranslationContext};
use serde_json::{Value, json};

use super::{
    connector_session::{ConnectorError, ConnectorSession, Result},
    files::{ORIGINAL, THUMBNAIL, Upload},
    follow_up_task::TargetTask,
    open_turns,
    recent_activities::CallKey,
    service_url::ServiceUrlScope,
    turn_placement::{ActivitySource, PostedActivity},
};
use crate::{
    bot::{
        conversations::{create_task, creation},
        log_writer,
        output::log_dropped,
    },
    clock,
    executor::{EmitError, TaskHandle, Update},
    store::{Head, Snapshot},
};

impl ConnectorSession {
    /// Posts an activity and returns its id. The activity is logged when this function returns, or dropped because
    /// its task has ended and it does not start another one. Posting the same activity again at the same path returns the same
    /// id.
    ///
    /// # Errors
    /// `Body` if the activity is invalid, `Store` if it cannot be stored.
    pub async fn post(&self, head: &Arc<Head>, path: &str, activity: Value) -> Result<String> {
        let key = CallKey::of(self.secret.expose(), path, &activity);
        let once = self.channel.recent_activities.of(&key);
        let saying = Box::pin(async {
            let activity = self.parse_activity(activity)?;
            Box::pin(self.deliver_to_conversation(head, &activity, &key)).await
        });
        match once {
            Some(once) => once.get_or_try_init(|| saying).await.cloned(),
            None => saying.await,
        }
    }

    /// Logs an activity in the task that it belongs to, and returns its id. If that task ends meanwhile, as by another message
    /// at the same moment, a message belongs to the next task.
    async fn deliver_to_conversation(
        &self,
        head: &Arc<Head>,
        activity: &Activity,
        key: &CallKey,
    ) -> Result<String> {
        let mut meant = Arc::clone(head);
        loop {
            let target = match self.target_task(&meant, activity, key).await? {
                TargetTask::Known(head) => head,
                TargetTask::Begun { posted } => return Ok(posted),
            };
            let posted = self.deliver(&target, activity, key, ActivitySource::Bot).await?;
            if !posted.is_late {
                return Ok(posted.id);
            }
            if target.task == meant.task {
                let now = self.channel.store.head(&self.scope.caller, &meant.task).await?;
                if meant.state.is_terminal() || !now.state.is_terminal() {
                    return Ok(posted.id);
                }
                meant = now;
            }
        }
    }

    /// Records in the open turn of a task, if there is one, why an activity of the bot was refused: if the bot posts
    /// nothing else, its user must not take the silence for an answer.
    pub fn record_refusal(&self, head: &Head, error: &ConnectorError) {
        let is_of_activity = matches!(
            error,
            ConnectorError::Body(_) | ConnectorError::BodyTooLarge | ConnectorError::TooMuch(_)
        );
        if is_of_activity && let Some(open_turn) = self.channel.open_turns.find(&head.task) {
            open_turn.record_refusal(error.to_string());
        }
    }

    /// Reports that a member was removed. A task always has two members, so nothing else changes.
    ///
    /// # Errors
    /// `Store` if the store fails.
    pub async fn remove_member(&self, head: &Arc<Head>, member: ChannelAccount) -> Result<()> {
        let removed = Activity {
            members_removed: vec![member],
            ..Activity::new(ActivityType::ConversationUpdate)
        };
        self.append(head, removed).await.map(drop)
    }

    /// Stores activities from another conversation as data: they are not messages of this conversation.
    ///
    /// # Errors
    /// `Body` if the body has no list of activities, `Store` if the store fails.
    pub async fn post_history(&self, head: &Arc<Head>, body: Value) -> Result<String> {
        let activities = body.get("activities").and_then(Value::as_array);
        if activities.is_none() {
            return Err(ConnectorError::Body(missing("a list of activities", "activities")));
        }
        let history = json!({"type": "event", "name": "history", "value": body});
        self.append(head, self.parse_activity(history)?).await.map(|posted| posted.id)
    }

    /// Stores a file and returns its id.
    ///
    /// # Errors
    /// `Body` if there is no file or it is not base64, `TooLarge` if the file or all files of the task are too large, `Store` if the
    /// store fails.
    pub async fn upload(&self, head: &Head, body: &Value) -> Result<String> {
        let text = |name: &str| body.get(name).and_then(Value::as_str).map(String::from);
        let mut views = BTreeMap::new();
        for (view, field) in [(ORIGINAL, "originalBase64"), (THUMBNAIL, "thumbnailBase64")] {
            if let Some(bytes) = bytes(body, field)? {
                views.insert(view.to_owned(), bytes);
            }
        }
        if !views.contains_key(ORIGINAL) {
            return Err(ConnectorError::Body(missing("the file in base64", "originalBase64")));
        }
        let upload = Upload { name: text("name"), media_type: text("type"), views };
        self.channel.files.keep(head, upload).await
    }

    /// Creates a conversation with the user of this service URL, as a task in the same context. A bot can only reach
    /// users who have talked to it, because it knows their service URLs. Returns the ids of the conversation, and of its first
    /// activity if the bot has sent one.
    ///
    /// # Errors
    /// `Body` if the members or the first activity are invalid, `Member` if another user is named, `Store` if the store fails.
    pub async fn create_conversation(&self, mut body: Value) -> Result<(String, Option<String>)> {
        self.check_members(&body)?;
        let activity = body.get_mut("activity").map(Value::take);
        let activity = activity.filter(|activity| !activity.is_null());
        let activity = activity.map(|activity| self.parse_activity(activity)).transpose();
        let activity = activity.map_err(|refused| match refused {
            ConnectorError::Body(error) => ConnectorError::Body(error.inside("activity")),
            other => other,
        })?;
        let (head, activity) = match activity {
            Some(activity) => {
                let (head, id) = self.begin_task(None, &activity, None).await?;
                (head, Some(id))
            }
            None => (self.create_task().await?, None),
        };
        let conversation = self.bot.conversation_id(&head.owner, &head.task, &head.context_id);
        Ok((conversation.into(), activity))
    }

    pub(super) fn parse_activity(&self, activity: Value) -> Result<Activity> {
        let redactor = self.channel.redactor(&self.bot, &self.secret);
        Activity::read(redactor.activity(activity)).map_err(ConnectorError::Body)
    }

    pub(super) async fn append(
        &self,
        head: &Arc<Head>,
        activity: Activity,
    ) -> Result<PostedActivity> {
        let key = CallKey::unique();
        self.deliver(head, &activity, &key, ActivitySource::Bot).await
    }

    /// Logs an activity outside of turns. Its id ends with `suffix`, if it has one.
    pub(super) async fn append_outside_turn(
        &self,
        head: &Arc<Head>,
        activity: &Activity,
        suffix: Option<String>,
    ) -> Result<PostedActivity> {
        self.channel.acceptance(&self.bot).record_outside_turn();
        let store = &self.channel.store;
        // Otherwise each of many activities at the same moment would be tried again after every other one.
        let posting = self.channel.posting_locks.of(&head.task);
        let _one_by_one = posting.lock().await;
        let task = store.task(&self.scope.caller, &head.task).await?.task;
        let (place, activity, id) = self.with_new_id(&task, activity, suffix.as_deref());
        let artifacts: Vec<_> = task.artifacts.iter().map(|one| one.artifact_id.clone()).collect();
        // The store changes a task in place if nobody holds it.
        drop(task);
        let handle = TaskHandle::new(store.clone(), Arc::clone(head));
        // The task's state is evaluated at each attempt, because a turn may end at the same time.
        let events = |head: &Head| {
            let updates =
                updates_outside_turn(&place, &artifacts, self.silent_end(head), &activity);
            (!updates.is_empty()).then(|| handle.events(updates))
        };
        let is_late = match handle.append(events).await {
            Ok(_) => false,
            Err(EmitError::Ended { task }) => {
                log_dropped(&task, &activity);
                true
            }
            Err(EmitError::Store(error)) => return Err(error.into()),
        };
        Ok(PostedActivity { id, is_late })
    }

    /// Creates a task that begins with this activity. Both are one append, so that no other activity can end the task before.
    /// Returns the task's head and the activity's id, which ends with `suffix`, if there is one.
    pub(super) async fn begin_task(
        &self,
        metadata: Option<Metadata>,
        activity: &Activity,
        suffix: Option<String>,
    ) -> Result<(Arc<Head>, String)> {
        self.channel.acceptance(&self.bot).record_outside_turn();
        let ServiceUrlScope { agent, caller, context } = &self.scope;
        let mut append = creation(agent, caller, context.clone(), metadata);
        let head = Arc::new(Head::after(None, caller, &append)?);
        let task = Snapshot::empty(&head).task;
        let (place, activity, id) = self.with_new_id(&task, activity, suffix.as_deref());
        let updates = updates_outside_turn(&place, &[], self.silent_end(&head), &activity);
        let handle = TaskHandle::new(self.channel.store.clone(), head);
        append.events.extend(handle.events(updates));
        Ok((self.channel.store.append(caller, append).await?, id))
    }

    /// Returns the context in which an activity outside of turns is translated, and the activity with its id.
    fn with_new_id(
        &self,
        task: &Task,
        activity: &Activity,
        suffix: Option<&str>,
    ) -> (TranslationContext, Activity, String) {
        let Self { channel, bot, secret, scope } = self;
        // The id begins with the task's id: edits of the message find their task by it.
        let place = format!("{}.{}", task.id, clock::new_id());
        let place = channel.translation_context(bot, &scope.caller, task, secret, place);
        let id = activity.id.clone().filter(|_| open_turns::refers_to_earlier(activity));
        let suffix = suffix.unwrap_or("1");
        let id = id.unwrap_or_else(|| format!("{}.{suffix}", place.activity_id));
        (place, Activity { id: Some(id.clone()), ..activity.clone() }, id)
    }

    fn check_members(&self, body: &Value) -> Result<()> {
        let members = body.get("members").and_then(Value::as_array);
        let members = members.filter(|members| !members.is_empty());
        let Some(members) = members else {
            return Err(ConnectorError::Body(missing("at least one member", "members")));
        };
        for (index, member) in members.iter().enumerate() {
            let Some(id) = member.get("id").and_then(Value::as_str) else {
                let error = FieldError::new("a string", "something else");
                return Err(ConnectorError::Body(error.inside("id").at(index).inside("members")));
            };
            self.member(id)?;
        }
        Ok(())
    }

    pub(super) async fn create_task(&self) -> Result<Arc<Head>> {
        let ServiceUrlScope { agent, caller, context } = &self.scope;
        Ok(create_task(&*self.channel.store, agent, caller, context.clone(), None).await?)
    }
}

/// Returns the changes that an activity outside of turns makes to its task. The task's state stays the same unless
/// the activity changes it.
fn updates_outside_turn(
    place: &TranslationContext,
    artifacts: &[String],
    silent_end: SilentEnd,
    activity: &Activity,
) -> Vec<Update> {
    let machine = Translation::new(place.clone(), silent_end).with_task_ids();
    let mut machine = machine.with_artifacts(artifacts.iter().cloned());
    // A new translation accepts everything.
    let _ = machine.handle(Input::Activity(activity.clone()));
    let outputs = std::iter::from_fn(|| machine.poll());
    let mut updates: Vec<Update> = outputs.filter_map(log_writer::update).collect();
    if updates.iter().any(log_writer::is_status) {
        let _ = machine.handle(Input::TurnEnded);
        updates.extend(std::iter::from_fn(|| machine.poll()).filter_map(log_writer::update));
    }
    updates
}

fn bytes(body: &Value, field: &str) -> Result<Option<Vec<u8>>> {
    match body.get(field) {
        None | Some(Value::Null) => Ok(None),
        // [`Part`] accepts all variants of base64.
        Some(encoded) => match Part::read(json!({ "raw": encoded })) {
            Ok(part) => Ok(match part.content {
                Content::Raw(bytes) => Some(bytes),
                Content::Text(_) | Content::Url(_) | Content::Data(_) | Content::Unknown => None,
            }),
            Err(error) => {
                let error = FieldError::new(error.expected, error.found);
                Err(ConnectorError::Body(error.inside(field)))
            }
        },
    }
}

fn missing(expected: &str, field: &str) -> FieldError {
    FieldError::new(expected, "nothing").inside(field)
}
