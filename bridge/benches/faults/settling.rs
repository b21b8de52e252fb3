//! Checks the bridges against the model after the faults have ended.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::{Instant, sleep};

use crate::{
    bot::Bot,
    caller::Caller,
    clients::{cancel, get, insist, list},
    hook::Hooks,
    model::{AGENTS, BRIEF, HANGING, KEPT, Message, Model, Wrong},
};

/// How long it may take until everything has ended and every webhook was told.
const SETTLE: Duration = Duration::from_secs(150);
const PAUSE: Duration = Duration::from_millis(100);

/// Waits until everything that was said in a round has come to its end, and compares it with what was told.
pub(crate) async fn settle(caller: &Caller, model: &Model, bot: &Bot, hooks: &Hooks) {
    let deadline = Instant::now() + SETTLE;
    send_again(caller, model, deadline).await;
    end_all(caller, model, deadline).await;
    look_at_lists(caller, model).await;
    wait_for_hooks(model, hooks, deadline).await;
    for text in bot.repeated() {
        model.wrong(
            Wrong::Duplicated,
            format!("{text}: the bot got it more than once"),
        );
    }
}

/// Sends what was never answered again: it becomes one task, whether it was taken before or not.
async fn send_again(caller: &Caller, model: &Model, deadline: Instant) {
    for message in model
        .messages()
        .iter()
        .filter(|message| message.task.is_none())
    {
        while !insist(caller, model, message, 1).await && !model.is_known(&message.id) {
            if Instant::now() > deadline {
                model.wrong(Wrong::Stuck, format!("{} is not taken", message.id));
                break;
            }
            sleep(PAUSE).await;
        }
    }
}

/// Reads every task until it has ended, twice after its end.
async fn end_all(caller: &Caller, model: &Model, deadline: Instant) {
    loop {
        let open = |message: &&Message| message.ended.is_none() && !message.is_gone;
        let messages = model.messages();
        let open: Vec<&Message> = messages.iter().filter(open).collect();
        if open.is_empty() {
            break;
        }
        if Instant::now() > deadline {
            let stuck = open.iter().map(|message| {
                format!(
                    "{} of {}, {:?}: has no end",
                    message.id, message.agent, message.task
                )
            });
            stuck.for_each(|text| model.wrong(Wrong::Stuck, text));
            break;
        }
        for message in open {
            if message.agent == HANGING {
                cancel(caller, model, &message.id).await;
            }
            // One that has failed meanwhile, with its bridge, is not canceled any more.
            get(caller, model, message).await;
        }
        sleep(PAUSE).await;
    }
    for message in model.messages() {
        get(caller, model, &message).await;
        said_once(model, &message);
    }
}

/// The message is in its task, once.
fn said_once(model: &Model, message: &Message) {
    let Some(task) = &message.ended else {
        return;
    };
    let history = task["history"].as_array().into_iter().flatten();
    let count = history
        .filter(|said| said["messageId"] == *message.id)
        .count();
    match count {
        0 => model.wrong(
            Wrong::Lost,
            format!("{}: not in its task: {task}", message.id),
        ),
        1 => {}
        _ => model.wrong(
            Wrong::Duplicated,
            format!("{}: {count} times in its task", message.id),
        ),
    }
}

/// There is a task for each message, and no other.
async fn look_at_lists(caller: &Caller, model: &Model) {
    let messages = model.messages();
    for agent in AGENTS {
        for context in model.contexts(agent) {
            let is_here = |message: &&Message| message.agent == agent && message.context == context;
            let here = messages
                .iter()
                .filter(is_here)
                .filter_map(|message| message.task.clone());
            let expected: BTreeSet<String> = here.collect();
            let listed = listed(caller, agent, Some(&context)).await;
            for task in listed.difference(&expected) {
                model.wrong(
                    Wrong::Duplicated,
                    format!("{task} of {agent} is nobody's, in {context}"),
                );
            }
            for task in expected.difference(&listed).filter(|_| agent != BRIEF) {
                model.wrong(
                    Wrong::Lost,
                    format!("{task} of {agent} is in no list, in {context}"),
                );
            }
        }
    }
    let sent = messages.iter().filter(|message| message.agent == BRIEF);
    let (sent, kept) = (sent.count(), listed(caller, BRIEF, None).await.len());
    if kept < KEPT.min(sent) {
        let text = format!("{kept} tasks of {BRIEF} are kept");
        model.wrong(Wrong::Lost, text);
    }
}

/// An agent's tasks, in a context or in all of them, as soon as they are told.
async fn listed(caller: &Caller, agent: &str, context: Option<&str>) -> BTreeSet<String> {
    loop {
        match list(caller, agent, context).await {
            Some(listed) => return listed.into_iter().collect(),
            None => sleep(PAUSE).await,
        }
    }
}

async fn wait_for_hooks(model: &Model, hooks: &Hooks, deadline: Instant) {
    let messages = model.messages();
    for (message, path) in messages
        .iter()
        .filter_map(|message| Some((message, message.hook.as_ref()?)))
    {
        while !hooks.has_ended(path) && Instant::now() < deadline {
            sleep(PAUSE).await;
        }
        if !hooks.has_ended(path) {
            let text = format!(
                "{}, {:?}: its webhook was not told of the end",
                message.id, message.task
            );
            model.wrong(Wrong::Lost, text);
        }
        if !hooks.is_in_order(path) {
            model.wrong(
                Wrong::Changed,
                format!("{}: its webhook was told in another order", message.id),
            );
        }
    }
}
