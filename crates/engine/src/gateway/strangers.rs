//! Strangers: whom we told already, and who tries codes. In memory, bounded, and forgotten after an hour.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use throughline_model::time::Timestamp;

/// How long a stranger is remembered.
const HOUR_MILLIS: u64 = 60 * 60 * 1_000;
/// How many codes may be tried in that time.
const TRIES: u32 = 5;
/// How many strangers are remembered. When there are more, nobody new is answered until some are forgotten.
const MOST: usize = 10_000;

/// How often there is a look at whom to forget, when there are too many.
const LOOK_MILLIS: u64 = 60 * 1_000;

#[derive(Default)]
pub(super) struct Strangers(Mutex<Crowd>);

#[derive(Default)]
struct Crowd {
    known: HashMap<String, Stranger>,
    looked: Timestamp,
}

struct Stranger {
    since: Timestamp,
    told: bool,
    tries: u32,
}

impl Strangers {
    /// Whether to say something to them: once an hour.
    pub(super) fn may_be_told(&self, who: &str, now: Timestamp) -> bool {
        self.crowd().of(who, now).is_some_and(|stranger| !std::mem::replace(&mut stranger.told, true))
    }

    /// Whether they may try a code: a few times an hour.
    pub(super) fn may_try(&self, who: &str, now: Timestamp) -> bool {
        self.crowd().of(who, now).is_some_and(|stranger| {
            stranger.tries += 1;
            stranger.tries <= TRIES
        })
    }

    fn crowd(&self) -> MutexGuard<'_, Crowd> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Crowd {
    fn of(&mut self, who: &str, now: Timestamp) -> Option<&mut Stranger> {
        let gone = |stranger: &Stranger| now.millis_since(stranger.since) >= HOUR_MILLIS;
        if !self.known.contains_key(who) && self.known.len() >= MOST {
            if now.millis_since(self.looked) >= LOOK_MILLIS {
                self.looked = now;
                self.known.retain(|_, stranger| !gone(stranger));
            }
            if self.known.len() >= MOST {
                return None;
            }
        }
        let fresh = || Stranger { since: now, told: false, tries: 0 };
        let stranger = self.known.entry(who.to_owned()).or_insert_with(fresh);
        if gone(stranger) {
            *stranger = fresh();
        }
        Some(stranger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_an_hour_and_a_few_tries() {
        let strangers = Strangers::default();
        let at = |minutes: i64| Timestamp::from_millis(minutes * 60_000);
        assert!(strangers.may_be_told("a", at(0)));
        assert!(!strangers.may_be_told("a", at(59)));
        assert!(strangers.may_be_told("b", at(59)));
        assert!(strangers.may_be_told("a", at(60)), "an hour has passed");
        let tries: Vec<bool> = (0..7).map(|_| strangers.may_try("c", at(61))).collect();
        assert_eq!(tries, [true, true, true, true, true, false, false]);
    }

    #[test]
    fn a_crowd_does_not_fill_the_memory() {
        let strangers = Strangers::default();
        let now = Timestamp::from_millis(0);
        let told = (0..MOST + 50).filter(|number| strangers.may_be_told(&number.to_string(), now)).count();
        assert_eq!(told, MOST);
    }
}
