//! Ctrl-C, from the moment that somebody listens: it ends the watching, never the work.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Failure, Outcome};

/// Ctrl-C as something to wait for. A press that nobody waited for yet is not lost.
pub(crate) struct Interrupt(Signal);

impl Interrupt {
    /// From now on Ctrl-C no longer ends the process by itself.
    pub(crate) fn listen() -> Outcome<Self> {
        Ok(Self(signal(SignalKind::interrupt())?))
    }

    /// Waits for a press.
    pub(crate) async fn pressed(&mut self) {
        self.0.recv().await;
    }

    /// Does something unless Ctrl-C comes first.
    pub(crate) async fn or<T>(&mut self, work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
        tokio::select! {
            outcome = work => outcome,
            () = self.pressed() => Err(Failure::new("interrupted", "stopped before the daemon had acknowledged it")
                .hint("`tl status` shows whether it was received")),
        }
    }
}
