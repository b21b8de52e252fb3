//! Derives from a bot's activities whether it has finished its turn.

use std::{pin::Pin, time::Duration};

use bridge_protocol::activity::{Activity, ActivityType, StreamType};
use tokio::{sync::watch, time::timeout};

use super::{TurnEndRules, acceptance_timing::AcceptanceTiming};

/// The time in which the end of the conversation may follow a bot's last activity, or further activities may follow
/// after the 202 of a bot that has sent some before.
const END_GRACE: Duration = Duration::from_millis(50);

/// The activities and the progress of a bot's turn so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProgressState {
    /// The number of activities.
    pub(super) count: u64,
    pub(super) progress: TurnProgress,
}

/// The progress of a bot's turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TurnProgress {
    /// The bot has sent nothing.
    #[default]
    Silent,
    /// The bot was typing last.
    AtWork,
    /// The bot is in the middle of a streamed answer.
    Streaming,
    /// The bot has sent an activity that may be its last.
    Spoken,
    /// The bot has sent what is usually the last activity; the end of the conversation may still follow.
    Finished,
    /// The bot has ended the conversation.
    Ended,
}

impl ProgressState {
    /// Returns whether nothing of what the bot has sent is in the log.
    pub(super) fn is_unlogged(self) -> bool {
        matches!(
            self.progress,
            TurnProgress::Silent | TurnProgress::AtWork | TurnProgress::Streaming
        )
    }

    /// Returns the state after one more activity with this progress.
    pub(super) fn after(self, progress: Option<TurnProgress>) -> Self {
        let progress = match (self.progress, progress) {
            (TurnProgress::Ended, _) | (TurnProgress::Finished, Some(TurnProgress::Ended)) => {
                TurnProgress::Ended
            }
            (TurnProgress::Finished, _) => TurnProgress::Finished,
            (before, now) => now.unwrap_or(before),
        };
        Self { count: self.count + 1, progress }
    }
}

/// Returns the progress that an activity indicates, if any.
pub(super) fn progress_of(activity: &Activity, ending: &TurnEndRules) -> Option<TurnProgress> {
    match &activity.kind {
        ActivityType::EndOfConversation => Some(TurnProgress::Ended),
        ActivityType::Message | ActivityType::Typing => Some(message_progress(activity, ending)),
        ActivityType::Trace => None,
        ActivityType::ContactRelationUpdate
        | ActivityType::ConversationUpdate
        | ActivityType::Event
        | ActivityType::Invoke
        | ActivityType::InvokeResponse
        | ActivityType::DeleteUserData
        | ActivityType::MessageUpdate
        | ActivityType::MessageDelete
        | ActivityType::InstallationUpdate
        | ActivityType::MessageReaction
        | ActivityType::Suggestion
        | ActivityType::Handoff
        | ActivityType::Command
        | ActivityType::CommandResult
        | ActivityType::Unknown(_) => Some(TurnProgress::Spoken),
    }
}

fn message_progress(activity: &Activity, ending: &TurnEndRules) -> TurnProgress {
    let piece = activity.stream_info().map(|info| info.stream_type);
    let waits = activity.is_expecting_input() || activity.is_sign_in();
    match piece {
        Some(StreamType::Informative) => TurnProgress::AtWork,
        Some(StreamType::Streaming) => TurnProgress::Streaming,
        Some(StreamType::Final) if ending.final_piece => TurnProgress::Finished,
        _ if waits && ending.expecting_input => TurnProgress::Finished,
        Some(StreamType::Final) => TurnProgress::Spoken,
        Some(StreamType::Unknown(_)) | None => match activity.kind == ActivityType::Typing {
            true => TurnProgress::AtWork,
            false => TurnProgress::Spoken,
        },
    }
}

/// Returns what `answer` does, or `None` if the bot is silent for `limit` before: many bots answer a request at the end of
/// their turn, and send activities until then.
pub(super) async fn until_silent<T>(
    mut state: watch::Receiver<ProgressState>,
    limit: Duration,
    mut answer: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return Some(answer),
            changed = timeout(limit, state.changed()) => match changed {
                Ok(Ok(())) => {}
                // No activities can come.
                Ok(Err(_)) => return timeout(limit, answer).await.ok(),
                Err(_) => return None,
            },
        }
    }
}

/// Waits until the bot seems to have finished its turn. Returns whether the turn was over when this function was
/// called: the bot had sent activities by then, and sent no more. Returns `None` if the bot has sent nothing.
pub(super) async fn wait_until_finished(
    mut state: watch::Receiver<ProgressState>,
    ending: &TurnEndRules,
    acceptance: &AcceptanceTiming,
) -> Option<bool> {
    let before = state.borrow().count;
    let settle = ending.settle.unwrap_or(match acceptance.is_at_turn_end() {
        true => Duration::ZERO,
        false => END_GRACE,
    });
    loop {
        let now = *state.borrow_and_update();
        let has_spoken_on = now.count != before;
        let was_over = (before > 0 || has_spoken_on).then_some(!has_spoken_on);
        let wait = match now.progress {
            TurnProgress::Ended => return was_over,
            TurnProgress::Finished if has_spoken_on => END_GRACE,
            TurnProgress::Finished => settle.min(END_GRACE),
            // The turn is over without output, or an SDK sent typing for the bot until then.
            TurnProgress::Silent if !has_spoken_on && acceptance.is_at_turn_end() => END_GRACE,
            TurnProgress::AtWork | TurnProgress::Streaming
                if !has_spoken_on && acceptance.is_at_turn_end() =>
            {
                ending.quiet
            }
            TurnProgress::Silent if !has_spoken_on => acceptance.patience(ending),
            TurnProgress::Silent | TurnProgress::AtWork | TurnProgress::Streaming => {
                ending.patience
            }
            TurnProgress::Spoken if has_spoken_on => ending.quiet,
            TurnProgress::Spoken => settle,
        };
        // No more activities come in time, or can come.
        if wait.is_zero() || !matches!(timeout(wait, state.changed()).await, Ok(Ok(()))) {
            return was_over;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, pin::pin};

    use bridge_protocol::wire::Wire as _;
    use serde_json::{Value, json};
    use tokio::time::{Instant, sleep};

    use super::*;

    fn activity(value: Value) -> Activity {
        Activity::read(value).unwrap()
    }

    fn piece(kind: &str, stream_type: &str) -> Value {
        json!({"type": kind, "entities": [{"type": "streaminfo", "streamType": stream_type}]})
    }

    #[test]
    fn activities_tell_how_the_bot_stands() {
        let card = json!([{"contentType": "application/vnd.microsoft.card.oauth"}]);
        for (said, expected) in [
            (json!({"type": "trace"}), TurnProgress::Silent),
            (json!({"type": "typing"}), TurnProgress::AtWork),
            (piece("typing", "informative"), TurnProgress::AtWork),
            (piece("typing", "streaming"), TurnProgress::Streaming),
            (piece("message", "final"), TurnProgress::Finished),
            (json!({"type": "message"}), TurnProgress::Spoken),
            (json!({"type": "event"}), TurnProgress::Spoken),
            (json!({"type": "x-vendor"}), TurnProgress::Spoken),
            (json!({"type": "message", "inputHint": "expectingInput"}), TurnProgress::Finished),
            (json!({"type": "message", "attachments": card}), TurnProgress::Finished),
            (json!({"type": "endOfConversation"}), TurnProgress::Ended),
        ] {
            let state = ProgressState::default()
                .after(progress_of(&activity(said.clone()), &TurnEndRules::default()));
            assert_eq!(state.progress, expected, "{said}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_bot_that_sends_activities_is_not_silent() {
        let limit = Duration::from_secs(10);
        let state = watch::Sender::new(ProgressState::default());
        let typing = async {
            for _ in 0..5 {
                sleep(limit / 2).await;
                state.send_modify(|state| *state = state.after(Some(TurnProgress::AtWork)));
            }
        };
        let begun = Instant::now();
        let answer = pin!(sleep(limit * 3));
        let (answered, ()) = tokio::join!(until_silent(state.subscribe(), limit, answer), typing);
        assert_eq!(answered, Some(()), "it was typing");
        assert_eq!(begun.elapsed(), limit * 3);

        let silent = pin!(pending::<()>());
        assert_eq!(until_silent(state.subscribe(), limit, silent).await, None);
        assert_eq!(begun.elapsed(), limit * 4);
    }

    #[test]
    fn signals_can_be_turned_off() {
        let deaf =
            TurnEndRules { final_piece: false, expecting_input: false, ..TurnEndRules::default() };
        for said in
            [piece("message", "final"), json!({"type": "message", "inputHint": "expectingInput"})]
        {
            let state = ProgressState::default().after(progress_of(&activity(said), &deaf));
            assert_eq!(state.progress, TurnProgress::Spoken);
        }
    }

    /// Measures the time until a bot counts as finished. The bot sends these activities after the given seconds each,
    /// the first `before` of them before its HTTP answer.
    async fn waited(
        acceptance: &AcceptanceTiming,
        before: usize,
        said: &[(u64, &str)],
    ) -> Duration {
        let (sender, receiver) = watch::channel(ProgressState::default());
        let ending = TurnEndRules::default();
        let say = |kind: &str| {
            sender.send_modify(|state| {
                *state = state.after(progress_of(&activity(json!({"type": kind})), &ending));
            });
        };
        said.iter().take(before).for_each(|(_, kind)| say(kind));
        let start = Instant::now();
        let saying = async {
            for (seconds, kind) in &said[before..] {
                sleep(Duration::from_secs(*seconds)).await;
                say(kind);
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            _ = wait_until_finished(receiver, &ending, acceptance) => {}
            () = saying => {}
        }
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_bot_whose_turns_are_over_at_its_202_is_not_waited_for() {
        let learnt = AcceptanceTiming::default();
        (0..100).for_each(|_| learnt.record_over());
        for (said, millis) in [(&[][..], 50), (&[(0, "message")], 0), (&[(0, "typing")], 2_000)] {
            let waited = waited(&learnt, said.len(), said).await;
            assert_eq!(waited.as_millis(), millis, "{said:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn messages_after_a_202_show_that_the_turn_was_not_over() {
        for (before, after, was_over) in [
            (&["message"][..], &[][..], Some(true)),
            (&["message", "endOfConversation"], &[], Some(true)),
            (&["message"], &["message"], Some(false)),
            (&[], &["message"], Some(false)),
            (&["typing"], &[], Some(true)),
            (&[], &[], None),
        ] {
            let (sender, receiver) = watch::channel(ProgressState::default());
            let ending = TurnEndRules::default();
            let say = |kinds: &[&str]| {
                for kind in kinds {
                    let progress = progress_of(&activity(json!({"type": kind})), &ending);
                    sender.send_modify(|state| *state = state.after(progress));
                }
            };
            say(before);
            let acceptance = AcceptanceTiming::default();
            let finished = wait_until_finished(receiver, &ending, &acceptance);
            let speaking = async {
                sleep(Duration::from_millis(1)).await;
                say(after);
            };
            let (told, ()) = tokio::join!(finished, speaking);
            assert_eq!(told, was_over, "{before:?}, then {after:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_over_after_the_time_that_fits_the_last_thing_said() {
        for (before, said, millis) in [
            (0, &[][..], 60_000),
            (1, &[(0, "message")], 50),
            (1, &[(0, "typing")], 60_000),
            (1, &[(0, "endOfConversation")], 0),
            (0, &[(30, "message")], 32_000),
            (0, &[(30, "typing"), (50, "message"), (1, "message")], 83_000),
            (0, &[(1, "message"), (1, "endOfConversation")], 2_000),
            (0, &[(1, "trace")], 61_000),
        ] {
            let waited = waited(&AcceptanceTiming::default(), before, said).await;
            // The clock in tests has a resolution of milliseconds.
            let expected = Duration::from_millis(millis);
            let late = waited.saturating_sub(expected);
            assert!(waited >= expected && late < Duration::from_millis(20), "{said:?}: {waited:?}");
        }
    }
}
