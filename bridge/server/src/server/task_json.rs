//! Keeps the JSON of tasks that were read recently, because clients that poll a task mostly read it unchanged.

use std::{
    ptr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use bridge_protocol::a2a::Task;

use super::render;

/// The number of tasks whose JSON is kept, as a power of 2.
const SLOT_BITS: u32 = 11;

/// The size of the longest JSON that is kept, in bytes: 8 MiB in all slots.
const LONGEST: usize = 4 << 10;

/// The kept JSON. The address of a task determines its slot, and a task replaces the one that was there before.
static SLOTS: [Mutex<Option<WrittenTask>>; 1 << SLOT_BITS] =
    [const { Mutex::new(None) }; 1 << SLOT_BITS];

/// The JSON of a task. The weak reference keeps other tasks from its address. It also keeps the task from being changed
/// there: [`Arc::make_mut`] moves a task first that has such references.
struct WrittenTask {
    task: Weak<Task>,
    json: Box<[u8]>,
}

/// Appends a task as JSON of A2A 1.0, with the same bytes as [`render::write`].
pub(super) fn write(to: &mut Vec<u8>, task: &Arc<Task>) {
    if let Some(written) = &*slot(task)
        && ptr::eq(written.task.as_ptr(), Arc::as_ptr(task))
    {
        return to.extend_from_slice(&written.json);
    }
    let begin = to.len();
    render::write(to, &**task);
    let json = &to[begin..];
    // A task that nobody else holds was made for this answer, and no later answer can have it.
    if json.len() <= LONGEST && Arc::strong_count(task) > 1 {
        *slot(task) = Some(WrittenTask { task: Arc::downgrade(task), json: json.into() });
    }
}

fn slot(task: &Arc<Task>) -> MutexGuard<'static, Option<WrittenTask>> {
    // Addresses have the same last bits: this multiplication makes the first bits depend on all others.
    let hash = (Arc::as_ptr(task).addr() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let slot = (hash >> (u64::BITS - SLOT_BITS)) as usize;
    SLOTS[slot].lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{TaskState, TaskStatus};

    use super::*;

    fn json(task: &Arc<Task>) -> String {
        let mut text = b"before ".to_vec();
        write(&mut text, task);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_task_is_written_as_it_is_now() {
        for round in 0..20_000 {
            let mut task = Arc::new(Task::new("a", TaskStatus::new(TaskState::Working)));
            let stored = Arc::clone(&task);
            let working = json(&stored);
            drop(stored);
            assert_eq!(json(&task), working);
            assert_eq!(working, format!("before {}", serde_json::to_string(&*task).unwrap()));
            Arc::make_mut(&mut task).id = format!("task {round}");
            assert_eq!(json(&task), working.replace("\"a\"", &format!("\"task {round}\"")));
        }
    }

    #[test]
    fn only_the_json_of_small_stored_tasks_is_kept() {
        for (length, is_stored, kept) in [(1, true, 1), (1, false, 0), (LONGEST, true, 0)] {
            let task = Task::new("a".repeat(length), TaskStatus::new(TaskState::Working));
            let task = Arc::new(task);
            let stored = is_stored.then(|| Arc::clone(&task));
            assert_eq!(json(&task), json(&task));
            assert_eq!(Arc::weak_count(&task), kept, "{length} {is_stored}");
            drop(stored);
        }
    }
}
