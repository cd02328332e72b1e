//! How fast to write: about one message a second in a chat and three a minute less than the limit in a group, with a
//! few at once allowed. What is faster is refused by the platform, and everyone waits longer.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How many messages may go at once.
const BURST: u32 = 5;
/// Between messages to a person.
const PERSON: Duration = Duration::from_millis(1_000);
/// Between messages to a group: at most twenty a minute are taken.
const GROUP: Duration = Duration::from_millis(3_500);
/// How many chats are remembered.
const CHATS: usize = 10_000;

/// Remembers until when each chat has been written to.
#[derive(Default)]
pub(super) struct Pace {
    /// When the chat's allowance would be whole again.
    spent: Mutex<HashMap<i64, Instant>>,
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

    /// Takes a place, and says when it is due.
    fn take(&self, chat: i64, now: Instant) -> Instant {
        let step = if chat < 0 { GROUP } else { PERSON };
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if spent.len() >= CHATS {
            spent.retain(|_, until| *until > now);
        }
        let until = spent.get(&chat).copied().unwrap_or(now).max(now) + step;
        spent.insert(chat, until);
        until.checked_sub(step * BURST).map_or(now, |due| due.max(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_few_go_at_once_and_then_one_at_a_time() {
        let (pace, now) = (Pace::default(), Instant::now());
        let due: Vec<_> = (0..8).map(|_| (pace.take(1, now) - now).as_secs()).collect();
        assert_eq!(due, [0, 0, 0, 0, 0, 1, 2, 3]);
        assert_eq!(pace.take(2, now), now, "another chat does not wait");
        assert_eq!(pace.take(1, now + Duration::from_secs(60)), now + Duration::from_secs(60), "it recovers");
    }
}
