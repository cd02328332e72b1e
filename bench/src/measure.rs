//! The clock that all processes of a run share, and what is made of many readings.

use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the machine's monotonic clock: comparable between processes.
pub(crate) fn now_nanos() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or_default() * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or_default()
}

/// How busy the machine is: the load of the last minute, in the kernel's words.
pub(crate) fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().filter(|load| !load.is_empty()).unwrap_or("unknown").to_owned()
}

/// How many cores there are.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How long something took, in milliseconds.
pub(crate) fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// The middle one.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Many readings, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readings(Vec<u64>);

impl Readings {
    pub(crate) fn add(&mut self, nanos: u64) {
        self.0.push(nanos);
    }

    pub(crate) fn extend(&mut self, other: &Readings) {
        self.0.extend_from_slice(&other.0);
    }

    /// Half of them, and 99 of a hundred, are below these.
    pub(crate) fn spread(&self) -> Result<Spread> {
        ensure!(!self.0.is_empty(), "nothing was measured");
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = |share: f64| {
            let index = (share * (sorted.len() - 1) as f64).round() as usize;
            sorted[index] as f64 / 1e6
        };
        Ok(Spread { p50_ms: at(0.50), p99_ms: at(0.99), max_ms: at(1.0) })
    }
}

/// What many readings come to, in milliseconds.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Spread {
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_is_below_the_median_and_one_in_a_hundred_above_the_last_quantile() {
        let mut readings = Readings::default();
        (1..=101).rev().for_each(|millis| readings.add(millis * 1_000_000));
        let spread = readings.spread().unwrap();
        assert_eq!((spread.p50_ms, spread.p99_ms, spread.max_ms), (51.0, 100.0, 101.0));
        assert!(Readings::default().spread().is_err());
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
    }
}
