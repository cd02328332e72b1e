//! What a command did to a task, in one line.

use throughline_api::task::TaskChange;
use throughline_model::present::Locale;

use crate::commands::Context;
use crate::failure::Outcome;
use crate::safe_text::{safe_glance, safe_line};

/// Prints `shop-12 *Fix routing*: closed` in the person's language, or the task as JSON.
pub(crate) async fn print(context: &Context, change: &TaskChange, done: impl FnOnce(Locale) -> String) -> Outcome {
    let locale = context.locale().await?;
    context.output.document(change, || {
        let summary = &change.task.summary;
        let task = format!("{} *{}*", safe_line(&summary.key), safe_glance(&summary.title, 60));
        locale.because(task, done(locale)) + "\n"
    })
}
