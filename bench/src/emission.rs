//! What the agent of this crate emits: updates at a steady rate, each with its number and the moment it was written.
//!
//! The stamp travels in the update's text, through whatever stands between the agent and a client, and is found again in
//! the bytes that the client gets. The bare relay is fed with the very same lines.

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::measure::now_nanos;

/// Around a stamp. No payload has it.
const FENCE: u8 = b'`';

/// What sort of updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Tool calls that are done: each is a durable event.
    Tools,
    /// Pieces of a message: each is live text.
    Words,
}

/// An order to emit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Emission {
    pub(crate) sort: Sort,
    pub(crate) count: u64,
    pub(crate) per_second: u64,
    /// How much text each update carries.
    pub(crate) bytes: usize,
}

impl fmt::Display for Emission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sort = match self.sort {
            Sort::Tools => "tools",
            Sort::Words => "words",
        };
        write!(f, "emit {sort} {} {} {}", self.count, self.per_second, self.bytes)
    }
}

impl FromStr for Emission {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let ["emit", sort, count, per_second, bytes] = words[..] else { bail!("not an order: {text}") };
        let sort = match sort {
            "tools" => Sort::Tools,
            "words" => Sort::Words,
            other => bail!("no such updates: {other}"),
        };
        let per_second: u64 = per_second.parse().context("the rate")?;
        anyhow::ensure!(per_second > 0, "the rate is zero");
        Ok(Emission { sort, count: count.parse()?, per_second, bytes: bytes.parse()? })
    }
}

impl Emission {
    /// Writes the updates, each at its time. `turn` keeps the calls of different turns apart.
    pub(crate) fn write(&self, native: &str, turn: &str, out: &mut impl Write) -> io::Result<()> {
        let payload = "lorem ipsum dolor sit amet, ".repeat(self.bytes / 28 + 1);
        let payload = &payload[..self.bytes];
        let start = Instant::now();
        for number in 0..self.count {
            let due = start + Duration::from_nanos(number * 1_000_000_000 / self.per_second);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let update = match self.sort {
                Sort::Tools => json!({
                    "sessionUpdate": "tool_call",
                    "toolCallId": format!("{turn}-{number}"),
                    "title": stamp(number),
                    "kind": "execute",
                    "status": "completed",
                    "content": [{"type": "content", "content": {"type": "text", "text": payload}}],
                }),
                Sort::Words => json!({
                    "sessionUpdate": "agent_message_chunk",
                    "content": {"type": "text", "text": format!("{}{payload}", stamp(number))},
                }),
            };
            let params = json!({"sessionId": native, "update": update});
            let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
            out.write_all(format!("{line}\n").as_bytes())?;
            out.flush()?;
        }
        Ok(())
    }
}

/// Carries out an order for a bare pipe.
pub(crate) fn to_stdout(order: &str) -> anyhow::Result<()> {
    let emission: Emission = order.parse()?;
    Ok(emission.write("bare", "bare", &mut io::stdout())?)
}

fn stamp(number: u64) -> String {
    let fence = char::from(FENCE);
    format!("{fence}{number}:{}{fence}", now_nanos())
}

/// A stamp that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) number: u64,
    pub(crate) nanos: u64,
}

/// The first stamp in these bytes.
pub(crate) fn find_stamp(bytes: &[u8]) -> Option<Stamp> {
    let start = bytes.iter().position(|byte| *byte == FENCE)? + 1;
    let length = bytes[start..].iter().position(|byte| *byte == FENCE)?;
    let text = std::str::from_utf8(&bytes[start..start + length]).ok()?;
    let (number, nanos) = text.split_once(':')?;
    Some(Stamp { number: number.parse().ok()?, nanos: nanos.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_survives_being_said() {
        let order = Emission { sort: Sort::Tools, count: 3, per_second: 1000, bytes: 40 };
        assert_eq!(order.to_string().parse::<Emission>().unwrap(), order);
        assert!("emit tools 1 0 1".parse::<Emission>().is_err());
        assert!("say hello".parse::<Emission>().is_err());
    }

    #[test]
    fn stamps_are_found_again() {
        for sort in [Sort::Tools, Sort::Words] {
            let mut out = vec![];
            let order = Emission { sort, count: 3, per_second: 100_000, bytes: 40 };
            order.write("n", "t", &mut out).unwrap();
            let lines = out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let numbers: Vec<u64> = lines.map(|line| find_stamp(line).expect("a stamp").number).collect();
            assert_eq!(numbers, [0, 1, 2]);
        }
        assert_eq!(find_stamp(b"no stamp"), None);
    }
}
