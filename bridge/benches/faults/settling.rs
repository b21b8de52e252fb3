//! Checks the bridges against the model after the faults have ended.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::{Instant, sleep};

use crate::{
    bot::Bot,
    caller::Caller,
    clients::{cancel, get, list, send_until_answered},
    model::{AGENTS, BRIEF, HANGING, Message, Model, RETAINED_TASKS, Violation},
    webhooks::Webhooks,
};

/// The time limit until all tasks have ended and all webhooks were called.
const SETTLE: Duration = Duration::from_secs(150);
const PAUSE: Duration = Duration::from_millis(100);

/// Waits until all tasks of a round have ended, and compares them with the acknowledged answers.
pub(crate) async fn check(caller: &Caller, model: &Model, bot: &Bot, webhooks: &Webhooks) {
    let deadline = Instant::now() + SETTLE;
    resend(caller, model, deadline).await;
    finish_tasks(caller, model, deadline).await;
    check_lists(caller, model).await;
    check_webhooks(model, webhooks, deadline).await;
    for text in bot.repeated() {
        model.report(Violation::Duplicated, format!("{text}: the bot received it more than once"));
    }
}

/// Sends again all messages that were never answered. Each must become one task, even if it was accepted before.
async fn resend(caller: &Caller, model: &Model, deadline: Instant) {
    for message in model.messages().iter().filter(|message| message.task.is_none()) {
        while !send_until_answered(caller, model, message, 1).await && !model.is_known(&message.id)
        {
            if Instant::now() > deadline {
                model.report(Violation::Stuck, format!("{} is not accepted", message.id));
                break;
            }
            sleep(PAUSE).await;
        }
    }
}

/// Reads every task until it has ended, and then once more.
async fn finish_tasks(caller: &Caller, model: &Model, deadline: Instant) {
    loop {
        let open = |message: &&Message| message.ended.is_none() && !message.is_deleted;
        let messages = model.messages();
        let open: Vec<&Message> = messages.iter().filter(open).collect();
        if open.is_empty() {
            break;
        }
        if Instant::now() > deadline {
            let stuck = open.iter().map(|message| {
                format!("{} of {}, {:?}: does not end", message.id, message.agent, message.task)
            });
            stuck.for_each(|text| model.report(Violation::Stuck, text));
            break;
        }
        for message in open {
            if message.agent == HANGING {
                cancel(caller, model, &message.id).await;
            }
            // A task that failed when its bridge was restarted is no longer canceled.
            get(caller, model, message).await;
        }
        sleep(PAUSE).await;
    }
    for message in model.messages() {
        get(caller, model, &message).await;
        check_history(model, &message);
    }
}

/// Checks that the task of a message has it exactly once in its history.
fn check_history(model: &Model, message: &Message) {
    let Some(task) = &message.ended else {
        return;
    };
    let history = task["history"].as_array().into_iter().flatten();
    let count = history.filter(|said| said["messageId"] == *message.id).count();
    match count {
        0 => model.report(Violation::Lost, format!("{}: not in its task: {task}", message.id)),
        1 => {}
        _ => model
            .report(Violation::Duplicated, format!("{}: {count} times in its task", message.id)),
    }
}

/// Checks that the lists have a task for each message, and no other task.
async fn check_lists(caller: &Caller, model: &Model) {
    let messages = model.messages();
    for agent in AGENTS {
        for context in model.contexts(agent) {
            let is_here = |message: &&Message| message.agent == agent && message.context == context;
            let here = messages.iter().filter(is_here).filter_map(|message| message.task.clone());
            let expected: BTreeSet<String> = here.collect();
            let listed = listed(caller, agent, Some(&context)).await;
            for task in listed.difference(&expected) {
                model.report(
                    Violation::Duplicated,
                    format!("{task} of {agent} belongs to no message, in {context}"),
                );
            }
            for task in expected.difference(&listed).filter(|_| agent != BRIEF) {
                model.report(
                    Violation::Lost,
                    format!("{task} of {agent} is in no list, in {context}"),
                );
            }
        }
    }
    let sent = messages.iter().filter(|message| message.agent == BRIEF);
    let (sent, kept) = (sent.count(), listed(caller, BRIEF, None).await.len());
    if kept < RETAINED_TASKS.min(sent) {
        let text = format!("only {kept} tasks of {BRIEF} are kept");
        model.report(Violation::Lost, text);
    }
}

/// Returns an agent's tasks, in one context or in all, as soon as the request is answered.
async fn listed(caller: &Caller, agent: &str, context: Option<&str>) -> BTreeSet<String> {
    loop {
        match list(caller, agent, context).await {
            Some(listed) => return listed.into_iter().collect(),
            None => sleep(PAUSE).await,
        }
    }
}

async fn check_webhooks(model: &Model, webhooks: &Webhooks, deadline: Instant) {
    let messages = model.messages();
    for (message, path) in
        messages.iter().filter_map(|message| Some((message, message.webhook.as_ref()?)))
    {
        while !webhooks.has_ended(path) && Instant::now() < deadline {
            sleep(PAUSE).await;
        }
        if !webhooks.has_ended(path) {
            let text =
                format!("{}, {:?}: its webhook did not receive the end", message.id, message.task);
            model.report(Violation::Lost, text);
        }
        if !webhooks.is_in_order(path) {
            model.report(
                Violation::Changed,
                format!("{}: its webhook received events in another order", message.id),
            );
        }
    }
}
