//! The settings of a task's deliveries.

use a2a::{
    A2AError, DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest, TaskPushNotificationConfig, error_code,
};

use crate::{Checks, Client, ask};

/// They are made, got, listed and deleted; a webhook that nobody allowed is refused.
pub(crate) async fn configs(checks: &mut Checks, client: &Client) -> Result<(), A2AError> {
    let task = ask(client, "-multi", None).await?;
    let wanted = config(&task.id, "http://127.0.0.1:9/hook");
    let made = client.create_push_config(&wanted).await?;
    checks.equal(
        "a webhook is set",
        (&wanted.url, &wanted.token),
        (&made.url, &made.token),
    );
    let named = GetTaskPushNotificationConfigRequest {
        task_id: task.id.clone(),
        id: "p".into(),
        tenant: None,
    };
    let got = client.get_push_config(&named).await?;
    checks.equal("it is got as it was set", &made, &got);
    let listed = client.list_push_configs(&of(&task.id)).await?;
    checks.equal("it is listed", &[made][..], &listed.configs[..]);
    let gone = DeleteTaskPushNotificationConfigRequest {
        task_id: task.id.clone(),
        id: "p".into(),
        tenant: None,
    };
    client.delete_push_config(&gone).await?;
    let listed = client.list_push_configs(&of(&task.id)).await?;
    checks.equal("it is gone when it was deleted", 0, listed.configs.len());
    let inside = config(&task.id, "http://10.0.0.1/hook");
    let refused = client.create_push_config(&inside).await;
    checks.refused(
        "one that nobody allowed is refused",
        error_code::INVALID_PARAMS,
        refused,
    );
    Ok(())
}

fn config(task: &str, url: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        url: url.into(),
        id: Some("p".into()),
        task_id: task.into(),
        token: Some("t".into()),
        authentication: None,
        tenant: None,
    }
}

fn of(task: &str) -> ListTaskPushNotificationConfigsRequest {
    ListTaskPushNotificationConfigsRequest {
        task_id: task.into(),
        page_size: None,
        page_token: None,
        tenant: None,
    }
}
