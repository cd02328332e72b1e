//! What a command did to a task, in one line.

use throughline_api::task::TaskChange;

use crate::failure::Outcome;
use crate::output::Output;
use crate::safe_text::{safe_glance, safe_line};

/// Prints `shop-12 *Fix routing*: closed`, or the task as JSON.
pub(crate) fn print(output: Output, change: &TaskChange, done: &str) -> Outcome {
    output.document(change, || {
        let summary = &change.task.summary;
        let key = safe_line(&summary.key);
        format!("{key} *{}*: {done}\n", safe_glance(&summary.title, 60))
    })
}
