//! The clock and the source of entropy: the only place outside of tests that reads either.

use std::time::SystemTime;
use throughline_model::time::{Now, Timestamp};

/// What a decision may know of the outside.
pub trait Clock: Send + Sync + 'static {
    /// The time.
    fn at(&self) -> Timestamp;
    /// Entropy for the ids of one decision.
    fn entropy(&self) -> u128;

    /// Both.
    fn now(&self) -> Now {
        Now { at: self.at(), entropy: self.entropy() }
    }
}

/// The machine's own clock and entropy.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn at(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the source of entropy")]
    fn entropy(&self) -> u128 {
        let mut bytes = [0u8; 16];
        // Without entropy no id is safe to mint, and Linux gives it or blocks: there is nothing to fall back to.
        getrandom::fill(&mut bytes).expect("the system gives entropy");
        u128::from_be_bytes(bytes)
    }
}
