//! How fast to write. A group takes twenty messages a minute, so it gets fewer, with a few at once allowed. A person gets
//! them as they come, until the platform says that it was too fast; then one a second for a while. What is faster than
//! that is refused again, and everyone waits longer.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How many messages may go at once.
const BURST: u32 = 5;
/// Between messages to a person who got too many.
const PERSON: Duration = Duration::from_millis(1_000);
/// Between messages to a group.
const GROUP: Duration = Duration::from_millis(3_500);
/// How long a person is written to slowly.
const SLOW: Duration = Duration::from_secs(60);
/// How many chats are remembered.
const CHATS: usize = 10_000;

/// Remembers until when each chat has been written to.
#[derive(Default)]
pub(super) struct Pace {
    chats: Mutex<HashMap<i64, Chat>>,
}

#[derive(Clone, Copy)]
struct Chat {
    /// When its allowance would be whole again.
    spent_until: Instant,
    /// Until when it is written to slowly.
    slow_until: Instant,
}

impl Pace {
    /// Waits for this chat's turn.
    pub(super) async fn wait(&self, chat: i64) {
        let now = Instant::now();
        let due = self.take(chat, now);
        if due > now {
            tokio::time::sleep_until(due).await;
        }
    }

    /// The platform has said that this chat got too many.
    pub(super) fn slow_down(&self, chat: i64) {
        self.slow_from(chat, Instant::now());
    }

    fn slow_from(&self, chat: i64, now: Instant) {
        let mut chats = self.chats.lock().unwrap_or_else(PoisonError::into_inner);
        let known = chats.entry(chat).or_insert(Chat { spent_until: now, slow_until: now });
        known.slow_until = now + SLOW;
        // Nothing more at once.
        known.spent_until = known.spent_until.max(now + PERSON * (BURST - 1));
    }

    /// Takes a place, and says when it is due.
    fn take(&self, chat: i64, now: Instant) -> Instant {
        let mut chats = self.chats.lock().unwrap_or_else(PoisonError::into_inner);
        if chats.len() >= CHATS {
            chats.retain(|_, known| known.spent_until > now || known.slow_until > now);
        }
        let known = chats.entry(chat).or_insert(Chat { spent_until: now, slow_until: now });
        let step = match chat < 0 {
            true => GROUP,
            false if known.slow_until > now => PERSON,
            false => return now,
        };
        known.spent_until = known.spent_until.max(now) + step;
        known.spent_until.checked_sub(step * BURST).map_or(now, |due| due.max(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(pace: &Pace, chat: i64, now: Instant, count: usize) -> Vec<u64> {
        (0..count).map(|_| (pace.take(chat, now) - now).as_secs()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_group_gets_a_few_at_once_and_then_one_at_a_time() {
        let (pace, now) = (Pace::default(), Instant::now());
        assert_eq!(due(&pace, -1, now, 8), [0, 0, 0, 0, 0, 3, 7, 10]);
        assert_eq!(due(&pace, -2, now, 1), [0], "another one does not wait");
        assert_eq!(due(&pace, -1, now + Duration::from_secs(60), 1), [0], "it recovers");
    }

    #[tokio::test(start_paused = true)]
    async fn a_person_is_written_to_slowly_once_the_platform_says_so() {
        let (pace, now) = (Pace::default(), Instant::now());
        assert_eq!(due(&pace, 1, now, 100), [0; 100]);
        pace.slow_from(1, now);
        assert_eq!(due(&pace, 1, now, 4), [0, 1, 2, 3]);
        assert_eq!(due(&pace, 2, now, 9), [0; 9], "somebody else is not");
        assert_eq!(due(&pace, 1, now + SLOW, 9), [0; 9], "and it passes");
    }
}
