//! Why something that was to be said in a chat did not arrive there, or not yet.

use super::fit;
use super::locale::Locale;
use crate::delivery::Cause;
use crate::view::DeliveryRow;

/// How much of a platform's own words is shown.
const WORDS_CHARS: usize = 160;

/// Why a delivery is not sent, as a stable word and in the person's language; none if there is nothing to explain.
#[must_use]
pub fn why_not_sent(locale: Locale, row: &DeliveryRow) -> Option<(&'static str, String)> {
    match (row.state.as_str(), &row.cause) {
        ("held", _) => Some((Cause::Quiet.code(), locale.not_sent_held())),
        ("superseded", _) => Some(("newer", locale.not_sent_newer())),
        ("expired", None) => Some(("too_old", locale.not_sent_too_old())),
        ("expired", Some(cause)) => Some(("too_old", locale.because(locale.not_sent_too_old(), words(locale, cause)))),
        (_, Some(cause)) => Some((cause.code(), words(locale, cause))),
        (_, None) => None,
    }
}

fn words(locale: Locale, cause: &Cause) -> String {
    match cause {
        Cause::Busy => locale.not_sent_busy(),
        Cause::Refused { words } => locale.not_sent_refused(fit(words, WORDS_CHARS)),
        Cause::NoAnswer { words } => locale.not_sent_no_answer(fit(words, WORDS_CHARS)),
        Cause::Interrupted => locale.not_sent_interrupted(),
        Cause::InPart => locale.not_sent_in_part(),
        Cause::NobodyThere => locale.not_sent_nobody(),
        Cause::NoChannel => locale.not_sent_no_channel(),
        Cause::Unable => locale.not_sent_unable(),
        Cause::NoFile => locale.not_sent_no_file(),
        Cause::Quiet => locale.not_sent_quiet(),
    }
}
