//! `/notify`, `/quiet` and `/digest`: what a person is told in a chat, when not, and what happened lately.
//!
//! Each of them done twice is the same as once, so only what is said to it commits with the update's key.

use throughline_channels::{Setting, Update};
use throughline_model::command::Command;
use throughline_model::conversation::ConversationCommand;
use throughline_model::ids::{ConversationId, PersonId};
use throughline_model::notice::{NoReason, Reason, Reasons};
use throughline_model::present::Locale;
use throughline_model::stream::StreamId;

use super::{Gateway, order};
use crate::core::Request;
use crate::engine::Engine;
use crate::error::EngineError;

/// What a digest in a group looks back on.
const HOURS: u64 = 24;

impl Gateway {
    /// Carries out an order about what somebody is told. Answers whether it was one.
    pub(super) async fn heeded(
        &self,
        person: PersonId,
        conversation: ConversationId,
        update: &Update,
        text: &str,
    ) -> Result<bool, EngineError> {
        let Some((name, rest)) = order::command(text.trim()) else { return Ok(false) };
        let locale = self.engine.locale(person).await?;
        let here = Here { person, conversation, locale };
        let done = match name {
            "notify" => self.engine.notify_order(here, rest).await,
            "quiet" => self.engine.quiet_order(here, rest).await,
            // In a chat with them alone it is told in place of what is held there.
            "digest" if update.setting == Setting::Private => {
                let digest = Command::Conversation(ConversationCommand::Digest);
                let commands = vec![(StreamId::Conversation(conversation), digest)];
                let inbox = Some(self.entry(conversation, update));
                self.execute(Request { commands, inbox, ..Request::default() }).await?;
                return Ok(true);
            }
            "digest" => self.engine.digest(person, locale, HOURS).await.map(|digest| digest.text),
            _ => return Ok(false),
        };
        let words = match done {
            Err(EngineError::Rejected(no)) => locale.bad_notices(no),
            Err(EngineError::BadQuietHours { .. }) => {
                format!("{}\n{}", locale.bad_quiet_hours(), locale.quiet_usage())
            }
            other => other?,
        };
        self.answer(conversation, update, words, None).await?;
        Ok(true)
    }
}

/// Who orders, and where.
#[derive(Clone, Copy)]
struct Here {
    person: PersonId,
    conversation: ConversationId,
    locale: Locale,
}

impl Engine {
    async fn notify_order(&self, here: Here, rest: &str) -> Result<String, EngineError> {
        let Here { person, conversation, locale } = here;
        match rest {
            "" => return Ok(format!("{}\n\n{}", self.told(here).await?, locale.notify_usage())),
            "all" | "on" | "全部" => self.tune(conversation, Reasons::default()).await?,
            "off" | "none" | "关闭" => self.tune(conversation, Reasons::none()).await?,
            "main" => self.choose_main(person, Some(conversation)).await?,
            words => match Reasons::parse(words) {
                Ok(reasons) => self.tune(conversation, reasons).await?,
                Err(NoReason(word)) => {
                    return Ok(format!("{}\n{}", locale.no_such_reason(word), locale.notify_usage()));
                }
            },
        }
        self.told(here).await
    }

    async fn quiet_order(&self, here: Here, rest: &str) -> Result<String, EngineError> {
        match rest.split_once(char::is_whitespace).map(|(hours, zone)| (hours, zone.trim())).unwrap_or((rest, "")) {
            ("", _) => return Ok(format!("{}\n\n{}", self.told(here).await?, here.locale.quiet_usage())),
            ("off" | "none" | "关闭", _) => self.end_quiet(here.person).await?,
            (hours, zone) => {
                let zone = Some(zone).filter(|zone| !zone.is_empty());
                drop(self.choose_quiet(here.person, hours, zone, None).await?);
            }
        }
        self.told(here).await
    }

    /// What somebody is told in a conversation, and when not.
    async fn told(&self, Here { person, conversation, locale }: Here) -> Result<String, EngineError> {
        let notices = self.notices(person).await?;
        let state = self.state(StreamId::Conversation(conversation)).await?;
        let reasons = state.conversation().map(|known| known.told.reasons.clone()).unwrap_or_default();
        let mut lines = vec![match reasons.is_none() {
            true => locale.told_nothing_here(),
            false => locale.told_here(listed(locale, &reasons)),
        }];
        lines.extend((notices.told_in == Some(conversation)).then(|| locale.told_here_of_others()));
        match &notices.quiet {
            Some(quiet) => {
                lines.push(locale.quiet_at(quiet.from, quiet.until, &quiet.zone));
                let except = Some(&quiet.except).filter(|except| !except.is_none());
                lines.extend(except.map(|except| locale.quiet_but_for(listed(locale, except))));
            }
            None => lines.push(locale.quiet_never()),
        }
        Ok(lines.join("\n"))
    }
}

fn listed(locale: Locale, reasons: &Reasons) -> String {
    let word = |reason: &Reason| match reason {
        Reason::Approval => locale.reason_approval(),
        Reason::Question => locale.reason_question(),
        Reason::Completed => locale.reason_completed(),
        Reason::Failed => locale.reason_failed(),
    };
    reasons.0.iter().map(word).collect::<Vec<_>>().join(&locale.comma())
}
