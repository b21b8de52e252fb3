//! The push notification settings of a task (specification 3.1.7 to 3.1.10).

use bridge_protocol::{
    a2a::{
        DeleteTaskPushNotificationConfigRequest, Error, ErrorKind,
        GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest,
        ListTaskPushNotificationConfigsResponse, SendMessageRequest, TaskPushNotificationConfig,
    },
    dialect::Version,
    wire::FieldError,
};

use super::{
    Context, Result, Service, error,
    list::{LARGEST_PAGE, page_size},
};
use crate::{
    caller::Caller,
    push::{CheckedSetting, Push, PushError},
    run_to_completion,
    store::StoreError,
    turns::Submitted,
};

/// The names that clients before 1.0 use for a setting that was created without an id: the official kit, and the SDK for
/// Python over HTTP+JSON and gRPC.
const UNNAMED: [&str; 2] = ["default", "None"];

impl Service {
    /// Creates a setting for the delivery of a task's further events. A setting with an existing id replaces the
    /// previous one, continues at its position, and resumes delivery if that was given up.
    ///
    /// # Errors
    /// If the caller has no such task with this agent, if push notifications are off, if the setting is invalid, for example because its
    /// URL is not allowed, or if the store fails.
    pub async fn create_push_config(
        &self,
        context: &Context,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig> {
        let push = self.push()?;
        let task = config.task_id.clone().ok_or_else(|| {
            let error = FieldError::new("the id of a task", "nothing");
            Error::from(error.inside("taskId"))
        })?;
        let head = self.head(context, &task).await?;
        let place = match context.version {
            Version::V1_0 => "",
            Version::V0_3 | Version::V0_1 => "pushNotificationConfig",
        };
        let wrong = |error| of_push(error, &[place]);
        let checked = push.check(config, context.version).map_err(wrong)?;
        let (push, seen) = (push.clone(), head.seq);
        let kept = run_to_completion(async move { push.set(&head, checked, seen).await }).await;
        Ok(owned(kept.map_err(wrong)?, context))
    }

    /// Returns a setting. In 0.3 and 0.1, the ids `default` and `None` select the setting that was created without an id; no
    /// id selects this one, too, or else the first.
    ///
    /// # Errors
    /// If the caller has no such task with this agent, or the task no such setting, if push notifications are off, or if the store fails.
    pub async fn get_push_config(
        &self,
        context: &Context,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig> {
        let push = self.push()?;
        let head = self.head(context, &request.task_id).await?;
        let found = match known_id(push, context, &head.task, &request.id).await {
            Ok(id) => push.get(&context.caller, &head.task, id).await,
            Err(error) => Err(error),
        };
        found.map_err(error::of_store)?.map(|config| owned(config, context)).ok_or_else(|| {
            let (task, id) = (&request.task_id, &request.id);
            let message = format!("task {task} has no push notification setting {id:?}");
            Error::new(ErrorKind::TaskNotFound, message)
        })
    }

    /// Lists a task's settings in the order of their ids.
    ///
    /// # Errors
    /// If the caller has no such task with this agent, if push notifications are off, if the page size is invalid, or if the store fails.
    pub async fn list_push_configs(
        &self,
        context: &Context,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse> {
        let push = self.push()?;
        // Zero is no size: the field has no presence in `a2a.proto`, and some clients write it always.
        let size = page_size(request.page_size.filter(|&size| size != 0), LARGEST_PAGE)?;
        let size = size.unsigned_abs() as usize;
        let head = self.head(context, &request.task_id).await?;
        let all = push.list(&context.caller, &head.task).await;
        let mut all = all.map_err(error::of_store)?;
        let after = request.page_token.unwrap_or_default();
        all.retain(|config| after.is_empty() || config.id.as_deref() > Some(&after));
        let more = all.len() > size;
        all.truncate(size);
        let last = all.last().and_then(|config| config.id.clone());
        Ok(ListTaskPushNotificationConfigsResponse {
            configs: all.into_iter().map(|config| owned(config, context)).collect(),
            next_page_token: last.filter(|_| more),
            ..ListTaskPushNotificationConfigsResponse::default()
        })
    }

    /// Deletes a setting, which ends its deliveries. A setting that does not exist is no error. In 0.3 and 0.1, the ids
    /// `default` and `None` select the setting that was created without an id.
    ///
    /// # Errors
    /// If the caller has no such task with this agent, if push notifications are off, or if the store fails.
    pub async fn delete_push_config(
        &self,
        context: &Context,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<()> {
        let push = self.push()?;
        let head = self.head(context, &request.task_id).await?;
        let id = known_id(push, context, &head.task, &request.id).await;
        let id = id.map_err(error::of_store)?.to_owned();
        let (push, caller) = (push.clone(), context.caller.clone());
        let removed = run_to_completion(async move { push.remove(&caller, &head.task, &id).await });
        removed.await.map_err(error::of_store)
    }

    /// Checks the setting that comes with a message, before the message is stored.
    pub(super) async fn checked_push(
        &self,
        context: &Context,
        request: &SendMessageRequest,
    ) -> Result<Option<CheckedSetting>> {
        let configuration = request.configuration.as_ref();
        let wanted = configuration.and_then(|one| one.task_push_notification_config.clone());
        let Some(config) = wanted else {
            return Ok(None);
        };
        let place = match context.version {
            Version::V1_0 => "taskPushNotificationConfig",
            Version::V0_3 => "pushNotificationConfig",
            Version::V0_1 => "pushNotification",
        };
        let push = self.push()?;
        let wrong = |error| match context.version {
            Version::V1_0 | Version::V0_3 => of_push(error, &[place, "configuration"]),
            Version::V0_1 => of_push(error, &[place]),
        };
        let checked = push.check(config, context.version).map_err(wrong)?;
        if let Some(task) = &request.message.task_id {
            let room = push.check_limit(&context.caller, task, &checked);
            room.await.map_err(wrong)?;
        }
        Ok(Some(checked))
    }

    /// Stores the setting for all events that follow from the message.
    pub(super) async fn keep_push(
        &self,
        caller: &Caller,
        checked: CheckedSetting,
        message_id: &str,
        submitted: &Submitted,
    ) -> Result<()> {
        let store = self.turns.store();
        let head = store.head(caller, &submitted.task).await;
        let head = head.map_err(error::of_store)?;
        let message = (message_id, submitted.repeated);
        let kept = self.push()?.set_with_message(&head, checked, message, submitted.message);
        kept.await.map_err(|error| of_push(error, &[]))
    }

    fn push(&self) -> Result<&Push> {
        let push = self.push.as_ref();
        push.ok_or_else(|| ErrorKind::PushNotificationNotSupported.into())
    }
}

/// Returns the id under which a setting is stored: a setting without an id has that of its task.
async fn known_id<'i>(
    push: &Push,
    context: &Context,
    task: &'i str,
    id: &'i str,
) -> Result<&'i str, StoreError> {
    let is_unnamed = context.version != Version::V1_0 && UNNAMED.contains(&id);
    let is_known = !is_unnamed || push.get(&context.caller, task, id).await?.is_some();
    Ok(if is_known { id } else { task })
}

/// Returns the setting for its owner: in 0.1 with the client's own id of the task.
fn owned(mut config: TaskPushNotificationConfig, context: &Context) -> TaskPushNotificationConfig {
    if let Some(own) = &context.client_id {
        config.task_id = Some(own.clone());
    }
    config
}

/// Converts the reason why a setting is refused. `places` is the path of the setting in the request, innermost
/// first.
fn of_push(error: PushError, places: &[&str]) -> Error {
    match error {
        PushError::Field(error) => {
            let places = places.iter().filter(|place| !place.is_empty());
            places.fold(error, |error, place| error.inside(place)).into()
        }
        PushError::TooMany { .. } => Error::new(ErrorKind::UnsupportedOperation, error.to_string()),
        PushError::Store(error) => error::of_store(error),
        PushError::Client(_) => ErrorKind::Internal.into(),
    }
}
