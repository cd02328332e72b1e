//! What a delivery says, written from the record at the moment it is sent: in the person's language, with secrets
//! masked, and with the buttons that still mean something.

use throughline_channels::mask::Mask;
use throughline_channels::rich::{Look, Rich};
use throughline_channels::{Abilities, Button, MessageRef};
use throughline_model::answer;
use throughline_model::approval::{Approval, Given, Settlement, Verdict};
use throughline_model::content::Text;
use throughline_model::conversation::Conversation;
use throughline_model::delivery::{Delivery, PushReason};
use throughline_model::event::Event;
use throughline_model::execution::Activity;
use throughline_model::ids::{ApprovalId, DeliveryId, Id as _, InputId, PersonId, TaskId, TurnId};
use throughline_model::item::{ItemBody, ToolCall};
use throughline_model::outbound::Seen;
use throughline_model::present::glance::words;
use throughline_model::present::reply::{Subject, correctable, decided};
use throughline_model::present::{self, Locale};
use throughline_model::reply::{Action, Choice, Reply};
use throughline_model::route::Intent;
use throughline_model::shown::{Shown, View};
use throughline_model::stream::StreamId;
use throughline_model::task::{Task, TaskEvent};
use throughline_model::view::{ApprovalRow, InputRow, TaskRow};
use throughline_store::port::{Answer, Ask, Lookup, PageQuery};

use crate::core::Core;
use crate::error::EngineError;
use crate::notices;

/// How much of an agent's last words a chat gets unasked.
const SAID_CHARS: usize = 900;
/// How many letters of a digest fit on a button.
const DIGEST_LETTERS: usize = 16;
/// How much of a button's label is shown.
const LABEL_CHARS: usize = 60;
/// How far back an agent's last words are looked for.
const LOOK_BACK: usize = 64;

/// A message as it leaves.
pub(crate) struct Letter {
    pub(crate) text: Rich,
    pub(crate) buttons: Vec<Vec<Button>>,
    pub(crate) replaces: Option<MessageRef>,
}

/// What a button carries: the delivery that it was under, and which of its choices it is. A decision carries the
/// beginning of the digest of what was shown as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) delivery: DeliveryId,
    pub(crate) choice: Chosen,
}

/// Which choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// This one of the reply.
    Nth(usize),
    /// Yes or no to what was shown with this digest.
    Decision(Verdict, String),
    /// The rest of what was cut short.
    More,
    /// The turn that failed, once more.
    Retry,
}

impl Token {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        let (delivery, choice) = match parts[..] {
            ["mo", delivery] => (delivery, Chosen::More),
            ["re", delivery] => (delivery, Chosen::Retry),
            ["ch", delivery, nth] => (delivery, Chosen::Nth(nth.parse().ok()?)),
            ["ap", delivery, verdict, digest] if digest.len() == DIGEST_LETTERS => {
                let verdict = match verdict {
                    "y" => Verdict::Approve,
                    "n" => Verdict::Deny,
                    _ => return None,
                };
                (delivery, Chosen::Decision(verdict, digest.to_owned()))
            }
            _ => return None,
        };
        Some(Token { delivery: delivery.parse().ok()?, choice })
    }

    pub(crate) fn write(&self) -> String {
        match &self.choice {
            Chosen::More => format!("mo:{}", self.delivery),
            Chosen::Retry => format!("re:{}", self.delivery),
            Chosen::Nth(nth) => format!("ch:{}:{nth}", self.delivery),
            Chosen::Decision(Verdict::Approve, digest) => format!("ap:{}:y:{digest}", self.delivery),
            Chosen::Decision(Verdict::Deny, digest) => format!("ap:{}:n:{digest}", self.delivery),
        }
    }
}

/// Writes letters.
pub(crate) struct Writer<'a> {
    pub(crate) core: &'a Core,
    pub(crate) mask: &'a Mask,
    pub(crate) abilities: &'a Abilities,
}

impl Writer<'_> {
    /// What a delivery says now; none if there is nothing left to say.
    pub(crate) async fn letter(
        &self,
        conversation: &Conversation,
        delivery: &Delivery,
    ) -> Result<Option<Letter>, EngineError> {
        let locale = locale(self.core, conversation.person).await?;
        if matches!(delivery.push, PushReason::Progress | PushReason::Worked) {
            return self.at_work(locale, conversation, delivery).await;
        }
        let plain = |text: Rich| Letter { text, buttons: vec![], replaces: None };
        if let PushReason::Digest { since } = delivery.push {
            let digest = notices::digest(self.core, conversation.person, locale, since).await?;
            return Ok(Some(plain(self.ours(&digest.text))));
        }
        match (delivery.push, delivery.approval, delivery.input, delivery.turn.zip(delivery.task)) {
            (PushReason::Decided, Some(approval), ..) => {
                let Some(message) = conversation.asking.get(&approval) else { return Ok(None) };
                let text = self.settled(locale, approval).await?;
                Ok(Some(Letter { replaces: Some(MessageRef(message.clone())), ..plain(text) }))
            }
            (PushReason::NeedsApproval | PushReason::Unsure, Some(approval), ..) => {
                let Some(task) = delivery.task else { return Ok(None) };
                let state = self.core.task(task).await?;
                let pending = state.task().and_then(|task| Some((task, task.approvals.pending(approval)?)));
                Ok(pending.map(|(task, pending)| self.asked(locale, delivery.id, task, &pending.approval)))
            }
            (_, _, Some(input), _) => {
                let Some(reply) = reply(self.core, input).await? else { return Ok(None) };
                Ok(Some(match self.abilities.buttons {
                    true => self.replied(delivery.id, &reply),
                    false => plain(self.listed(locale, &reply, &asked_back(self.core, input).await?)),
                }))
            }
            (PushReason::Unsure, ..) => {
                let Some(task) = task_row(self.core, delivery.task).await? else { return Ok(None) };
                let text = self.ours(&locale.may_have_missed(named(&task.key, &task.title), &task.key));
                let token = Token { delivery: delivery.id, choice: Chosen::More }.write();
                let more = Button { label: locale.button_more(), token };
                let buttons = if self.abilities.buttons { vec![vec![more]] } else { vec![] };
                Ok(Some(Letter { buttons, ..plain(text) }))
            }
            (push, _, None, Some((turn, task))) => {
                let Some((mut text, whole)) = self.ended(locale, push, task, turn).await? else { return Ok(None) };
                // What is said here without a word about where it belongs goes on with the focus.
                let in_focus = conversation.focus.values().any(|focus| *focus == task);
                if push == PushReason::AsksQuestion && !in_focus {
                    text = text.and(Look::Plain, format!("\n{}", locale.answer_here()));
                }
                let button = |label, choice| Button { label, token: Token { delivery: delivery.id, choice }.write() };
                let more = (!whole).then(|| button(locale.button_more(), Chosen::More));
                let retry = (push == PushReason::Failed).then(|| button(locale.button_retry(), Chosen::Retry));
                let row: Vec<Button> = retry.into_iter().chain(more).collect();
                let buttons = if row.is_empty() || !self.abilities.buttons { vec![] } else { vec![row] };
                Ok(Some(Letter { buttons, ..plain(text) }))
            }
            (_, _, None, None) => Ok(Some(plain(self.ours(&delivery.text)))),
        }
    }

    fn asked(&self, locale: Locale, delivery: DeliveryId, task: &Task, approval: &Approval) -> Letter {
        let Shown { text: shown, complete: whole } = shown_in_chat(approval, self.abilities, self.mask);
        let glance = locale.waits_for_approval(agent_of(task, approval));
        let head = locale.because(format!("❗ {}", named(&task.key, &task.title)), glance);
        let mut text = self.ours(&head).and(Look::Plain, "\n").and(Look::Block { language: String::new() }, shown);
        let digest: String = approval.digest().chars().take(DIGEST_LETTERS).collect();
        let button = |label: String, verdict| {
            let token = Token { delivery, choice: Chosen::Decision(verdict, digest.clone()) };
            Button { label, token: token.write() }
        };
        let deny = button(format!("✗ {}", locale.button_deny()), Verdict::Deny);
        let row = if whole {
            if !self.abilities.buttons {
                text = text.and(Look::Plain, format!("\n{}", locale.decide_by_words()));
            }
            vec![button(format!("✓ {}", locale.button_approve()), Verdict::Approve), deny]
        } else {
            text = text.and(Look::Plain, format!("\n{}", locale.not_shown_whole()));
            vec![deny]
        };
        Letter { text, buttons: vec![row], replaces: None }
    }

    async fn settled(&self, locale: Locale, approval: ApprovalId) -> Result<Rich, EngineError> {
        let Some(row) = approval_row(self.core, approval).await? else { return Ok(Rich::plain("✓")) };
        let by = async |person: PersonId, given: &Option<Given>| -> Result<(String, String), EngineError> {
            let state = self.core.state(StreamId::Person(person)).await?;
            let name = state.person().map(|person| person.name.clone()).unwrap_or_default();
            Ok((name, given.as_ref().map_or_else(|| "?".into(), |given| locale.surface(given.source.surface))))
        };
        let words = match row.settled.as_ref().map(|settled| &settled.settlement) {
            Some(Settlement::Approved { by: person, given }) => {
                let (name, place) = by(*person, given).await?;
                locale.approved_by(name, place)
            }
            Some(Settlement::Denied { by: person, given, reason }) => {
                let (name, place) = by(*person, given).await?;
                match reason {
                    Some(reason) => locale.denied_by_because(name, place, reason),
                    None => locale.denied_by(name, place),
                }
            }
            Some(Settlement::Ruled { ruling }) => locale.ruled(&ruling.standing),
            Some(Settlement::Expired) => locale.expired_undecided(),
            Some(Settlement::Void { cause, .. }) => locale.void_because(cause),
            None => String::new(),
        };
        let shown: String = self.mask.apply(&row.approval.shown(View::CHAT).text).chars().take(SAID_CHARS).collect();
        // Which task it was stays with it: the message may be looked at long after.
        let head = match task_row(self.core, Some(row.task)).await? {
            Some(task) => self.ours(&named(&task.key, &task.title)).and(Look::Plain, "\n"),
            None => Rich::default(),
        };
        let text = head.and(Look::Block { language: String::new() }, shown);
        Ok(text.and(Look::Plain, format!("\n{}", self.mask.apply(&words))))
    }

    /// How a turn ended, with the agent's last words, and whether these are all; none if it asked something that was
    /// answered meanwhile.
    async fn ended(
        &self,
        locale: Locale,
        push: PushReason,
        task: TaskId,
        turn: TurnId,
    ) -> Result<Option<(Rich, bool)>, EngineError> {
        let state = self.core.task(task).await?;
        let Some(known) = state.task() else { return Ok(None) };
        let mark = match push {
            PushReason::Failed => "✗",
            PushReason::AsksQuestion => "❓",
            _ => "✓",
        };
        let head = self.ours(&format!("{mark} {}", named(&known.key, &known.title)));
        let said = match push {
            PushReason::AsksQuestion => match open_question(known, turn) {
                Some(question) => Some(question),
                None => last_words(self.core, task, Some(turn)).await?.or_else(|| asks(locale, known)),
            },
            PushReason::Completed => last_words(self.core, task, Some(turn)).await?.or_else(|| stands(locale, known)),
            _ => stands(locale, known),
        };
        let Some(said) = said else { return Ok(None) };
        let said = self.mask.apply(&said);
        let short: String = said.chars().take(SAID_CHARS).collect();
        let text = head.and(Look::Plain, "\n").then(Rich::from_markdown(&short));
        Ok(Some(match short.len() < said.len() {
            // A button says the rest, where there are any.
            true if self.abilities.buttons => (text.and(Look::Plain, "…"), false),
            true => (text.and(Look::Plain, format!("\n{}", locale.cut_more())), false),
            false => (text, true),
        }))
    }

    /// How far work is, or that it is over, in the message that there is of it; none if there is nothing to add.
    async fn at_work(
        &self,
        locale: Locale,
        conversation: &Conversation,
        delivery: &Delivery,
    ) -> Result<Option<Letter>, EngineError> {
        let Some((task, turn)) = delivery.task.zip(delivery.turn) else { return Ok(None) };
        let Some(progress) = conversation.progress.get(&turn) else { return Ok(None) };
        let replaces = match &progress.seen {
            Seen::As(message) => Some(MessageRef(message.clone())),
            Seen::NotYet if delivery.push == PushReason::Progress => None,
            Seen::NotYet | Seen::Lost => return Ok(None),
        };
        let state = self.core.task(task).await?;
        let Some(known) = state.task() else { return Ok(None) };
        let words = match delivery.push {
            PushReason::Worked => present::worked(locale, known, turn, progress.since),
            _ if known.active_turn(turn).is_none() => None,
            _ => {
                let call = last_call(self.core, task, turn).await?;
                Some(present::progress(locale, known, call.as_ref(), progress.since, self.core.clock.at()))
            }
        };
        Ok(words.map(|words| Letter { text: self.ours(&words), buttons: vec![], replaces }))
    }

    fn replied(&self, delivery: DeliveryId, reply: &Reply) -> Letter {
        let buttons = offered(reply).map(|(nth, choice)| {
            let label: String = self.mask.apply(&choice.label).chars().take(LABEL_CHARS).collect();
            vec![Button { label, token: Token { delivery, choice: Chosen::Nth(nth) }.write() }]
        });
        Letter { text: self.ours(&reply.text), buttons: buttons.collect(), replaces: None }
    }

    /// The same where there are no buttons: each choice has a number.
    fn listed(&self, locale: Locale, reply: &Reply, choices: &[(usize, Choice)]) -> Rich {
        let text = self.ours(&reply.text);
        if choices.is_empty() {
            return text;
        }
        let line = |(at, (_, choice)): (usize, &(usize, Choice))| format!("\n{}. {}", at + 1, choice.label);
        let lines: String = choices.iter().enumerate().map(line).collect();
        text.and(Look::Plain, self.mask.apply(&format!("{lines}\n{}", locale.choose_by_number())))
    }

    /// Our own words: `*so*` is a title, backticks are code.
    fn ours(&self, text: &str) -> Rich {
        let masked = self.mask.apply(text);
        let mut rich = Rich::default();
        let mut rest = masked.as_str();
        while let Some(start) = rest.find('*') {
            let Some(len) = rest[start + 1..].find('*').filter(|len| *len > 0) else { break };
            let title = &rest[start + 1..start + 1 + len];
            if title.contains('\n') {
                break;
            }
            rich = rich.then(Rich::from_markdown(&rest[..start])).and(Look::Bold, title);
            rest = &rest[start + len + 2..];
        }
        rich.then(Rich::from_markdown(rest))
    }
}

/// What an agent asks in the middle of a turn, and the form that the answer has. The delivery has its id as the turn's.
fn open_question(task: &Task, about: TurnId) -> Option<String> {
    let running = task.executions.iter().filter_map(|execution| execution.active.as_ref());
    let mut questions = running.flat_map(|active| &active.questions);
    let open = questions.find(|question| question.id.uuid() == about.uuid() && !question.settled)?;
    let fields = open.fields().into_iter().map(|field| format!("\n- {field}"));
    Some(std::iter::once(open.message.clone()).chain(fields).collect())
}

/// What a task waits for the person to answer, if it does.
fn asks(locale: Locale, task: &Task) -> Option<String> {
    let spent = task.spent().map(|spent| spent.question(locale));
    spent.or_else(|| (task.activity() == Activity::WaitingAnswer).then(|| words(locale, task)))
}

/// How a task stands; its key is in the line above.
fn stands(locale: Locale, task: &Task) -> Option<String> {
    Some(words(locale, task))
}

/// A task's key and its title, which is set off.
fn named(key: &str, title: &str) -> String {
    format!("{key} *{}*", title.replace('*', ""))
}

fn agent_of(task: &Task, approval: &Approval) -> String {
    task.execution(approval.execution).map(|execution| execution.agent.clone()).unwrap_or_default()
}

/// A request as a chat shows it. What it does not show letter by letter cannot be approved there: neither by a button
/// nor by words.
pub(crate) fn shown_in_chat(approval: &Approval, abilities: &Abilities, mask: &Mask) -> Shown {
    let exact = approval.shown(View::CHAT);
    let masked = mask.apply(&exact.text);
    let room = abilities.max_length / 2;
    let complete = exact.complete && masked == exact.text && abilities.unit.len(&masked) <= room;
    let text = if complete { masked } else { masked.chars().take(room / 4).collect() };
    Shown { text, complete }
}

/// The language that a person is spoken to in.
pub(crate) async fn locale(core: &Core, person: PersonId) -> Result<Locale, EngineError> {
    let state = core.state(StreamId::Person(person)).await?;
    Ok(state.person().map(|person| Locale::of(&person.locale)).unwrap_or_default())
}

/// An approval, pending or settled.
pub(crate) async fn approval_row(core: &Core, id: ApprovalId) -> Result<Option<ApprovalRow>, EngineError> {
    match core.store.ask(Ask::Approval(id)).await? {
        Answer::Approvals(rows) => Ok(rows.into_iter().next()),
        _ => Ok(None),
    }
}

/// What is said to a message: what its record says, else what was made of it, with what corrects that.
pub(crate) async fn reply(core: &Core, input: InputId) -> Result<Option<Reply>, EngineError> {
    let Some(row) = core.store.input(Lookup::Input(input)).await? else { return Ok(None) };
    if let Some(reply) = &row.reply {
        return Ok(Some(reply.clone()));
    }
    let Some(task) = task_row(core, row.task).await? else { return Ok(None) };
    let locale = locale(core, row.person).await?;
    Ok(announced(locale, &row, &task, task_row(core, row.decision.focus.map(|focus| focus.task)).await?))
}

/// What of a reply can be chosen in a chat, and which of its choices it is.
fn offered(reply: &Reply) -> impl Iterator<Item = (usize, &Choice)> {
    reply.choices.iter().enumerate().filter(|(_, choice)| !matches!(choice.action, Action::Open { .. }))
}

/// What can be chosen by its number where there are no buttons: only what somebody was asked back. After anything else
/// a number may be the answer to an agent.
pub(crate) async fn asked_back(core: &Core, input: InputId) -> Result<Vec<(usize, Choice)>, EngineError> {
    let row = core.store.input(Lookup::Input(input)).await?;
    if !row.is_some_and(|row| matches!(row.decision.intent, Intent::Clarify { .. })) {
        return Ok(vec![]);
    }
    let reply = reply(core, input).await?;
    Ok(reply.iter().flat_map(offered).map(|(nth, choice)| (nth, choice.clone())).collect())
}

fn announced(locale: Locale, row: &InputRow, task: &TaskRow, focus: Option<TaskRow>) -> Option<Reply> {
    if let Some(reply) = answer::announcement(locale, &row.decision, task, focus) {
        return Some(reply);
    }
    let subject = Subject { key: &task.key, title: &task.title, agent: &task.agent };
    let reply = decided(locale, &row.decision.intent, subject)?;
    let guessed = row.decision.confidence < 1.0;
    Some(match &row.decision.intent {
        intent @ (Intent::Continue { .. } | Intent::Answer { .. }) if guessed => {
            correctable(locale, reply, row.decision.id, &[], intent)
        }
        _ => reply,
    })
}

async fn task_row(core: &Core, task: Option<TaskId>) -> Result<Option<TaskRow>, EngineError> {
    let Some(task) = task else { return Ok(None) };
    match core.store.ask(Ask::Task(task)).await? {
        Answer::Task(row) => Ok(row.map(|row| *row)),
        _ => Ok(None),
    }
}

/// What an agent said last in a task, or in one turn of it.
pub(crate) async fn last_words(core: &Core, task: TaskId, turn: Option<TurnId>) -> Result<Option<String>, EngineError> {
    let query = PageQuery { stream: StreamId::Task(task), before: None, limit: LOOK_BACK };
    for recorded in core.store.page(query).await? {
        let Event::Task(TaskEvent::ItemRecorded { item, .. }) = &recorded.event else { continue };
        if let ItemBody::Message { text, .. } = &item.body
            && turn.is_none_or(|turn| item.turn == Some(turn))
        {
            return Ok(Some(whole(core, text).await?));
        }
    }
    Ok(None)
}

/// The last call of a tool in a turn.
async fn last_call(core: &Core, task: TaskId, turn: TurnId) -> Result<Option<ToolCall>, EngineError> {
    let query = PageQuery { stream: StreamId::Task(task), before: None, limit: LOOK_BACK };
    let page = core.store.page(query).await?;
    Ok(page.into_iter().find_map(|recorded| match recorded.event {
        Event::Task(TaskEvent::ItemRecorded { item, .. }) if item.turn == Some(turn) => match item.body {
            ItemBody::ToolCall(call) => Some(call),
            _ => None,
        },
        _ => None,
    }))
}

/// A text as far as a chat gets it at most: what fits into an event.
async fn whole(core: &Core, text: &Text) -> Result<String, EngineError> {
    let Text::Blob { blob, head } = text else { return Ok(text.head().to_owned()) };
    let Some(bytes) = core.store.blob(&blob.sha256).await? else { return Ok(head.clone()) };
    let cut = bytes.len().min(Text::INLINE_MAX_BYTES);
    Ok(String::from_utf8_lossy(&bytes[..cut]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use throughline_model::ids::Mint;
    use throughline_model::time::Timestamp;

    #[test]
    fn a_token_reads_as_it_was_written_and_fits_on_a_button() {
        let delivery = Mint::new(Timestamp::from_millis(1), 7).id();
        for choice in [
            Chosen::Nth(3),
            Chosen::More,
            Chosen::Retry,
            Chosen::Decision(Verdict::Approve, "0123456789abcdef".into()),
            Chosen::Decision(Verdict::Deny, "0123456789abcdef".into()),
        ] {
            let token = Token { delivery, choice };
            let written = token.write();
            assert!(written.len() <= 64, "{written}");
            assert_eq!(Token::parse(&written), Some(token));
        }
        for other in [
            "",
            "ch",
            "ch:x:1",
            "ap:x:y:0123456789abcdef",
            &format!("ap:{delivery}:y:12"),
            &format!("ch:{delivery}:-1"),
        ] {
            assert_eq!(Token::parse(other), None, "{other}");
        }
    }
}
