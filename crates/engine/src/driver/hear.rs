//! What an agent says becomes reports to its task. Durable ones are committed together with the mark.

use throughline_acp::assembler::Phase;
use throughline_acp::happening::{FailureKind, Happening, OpenFailure, PermissionRequest, TurnFailure};
use throughline_acp::lifted;
use throughline_acp::request_id::RequestId;
use throughline_keeper::client::{Happening as Kept, ReadError};
use throughline_keeper::{Activity, Frame};
use throughline_model::approval::{Ask, Asked};
use throughline_model::effect::Process;
use throughline_model::ids::{ItemId, TurnId};
use throughline_model::item::Item;
use throughline_model::question::Question;
use throughline_model::runtime_session::{Failure, SettingChange};
use throughline_model::task::{NativeFate, Report, TurnAnswer};
use throughline_model::turn::Usage;
use tokio::time::Instant;

use super::link::{Link, Parcel};
use super::requests::{approval_id, nothing_chosen, question_id};
use super::{Driver, Shared};
use crate::core::Request;
use crate::hub::{LiveKind, LiveText};
use crate::offload;

/// How many lines are taken into one commit.
const TOGETHER: usize = 128;

/// Whose output is heard.
#[derive(Clone, Copy)]
pub(super) struct Speaker<'a> {
    pub(super) process: Process,
    pub(super) cwd: &'a str,
    pub(super) agent: &'a str,
}

impl Driver {
    pub(super) async fn heard(&mut self, heard: Option<Result<Kept, ReadError>>) {
        let Some(process) = self.link.as_ref().map(|link| link.process) else { return };
        match heard {
            Some(Ok(Kept::Frame(frame))) => self.frames(frame).await,
            Some(Ok(Kept::Exited(exit))) => {
                let stderr = match &self.link {
                    Some(link) => link.writer.stderr_tail().await.map(|tail| tail.last_text(2_000)).unwrap_or_default(),
                    None => String::new(),
                };
                self.flush(process).await;
                self.ended(process, Some(exit), stderr).await;
                self.forget_link();
            }
            Some(Err(ReadError::Displaced { fence })) => {
                tracing::error!(fence, "a newer daemon took this process over");
                self.forget_link();
            }
            Some(Err(ReadError::Lost | ReadError::Refused(_))) | None => {
                tracing::warn!(?process, "the connection to a keeper was lost");
                self.forget_link();
                self.start(throughline_model::effect::Effect::StartRuntime { process }.key(), process).await;
            }
        }
    }

    /// Whatever is open is recorded as it stands: nothing more will come of it.
    async fn flush(&mut self, process: Process) {
        let Some(link) = self.link.as_mut() else { return };
        let happenings = link.assembler.finish();
        let mark = link.mark();
        let (cwd, agent) = (link.opening.cwd.clone(), link.opening.agent.clone());
        let speaker = Speaker { process, cwd: &cwd, agent: &agent };
        let usage = link.usage.clone();
        let reports = self.shared.reports(speaker, happenings, &usage).await;
        if !reports.is_empty() {
            let _ = self.shared.report(process, reports, Request { mark: Some(mark), ..Request::default() }).await;
        }
    }

    /// Takes in what has come, in one commit, up to where something has to be done before more is read.
    async fn frames(&mut self, first: Frame) {
        let Some(link) = self.link.as_mut() else { return };
        let (mut happenings, mut next) = (vec![], Some(first));
        for count in 1.. {
            let Some(frame) = next.take() else { break };
            let told = link.assembler.feed(frame.offset_start, frame.offset_end, &frame.bytes);
            let goes_on = count < TOGETHER && link.deadline.is_none() && !told.iter().any(pauses);
            happenings.extend(told);
            next = if goes_on { link.reader.ready() } else { None };
        }
        let running = matches!(link.assembler.phase(), Phase::Turn(_));
        link.stalls_at = running.then(|| Instant::now() + self.shared.config.stall_after);
        self.take(happenings).await;
    }

    /// Takes in what happened: steps of the opening here, everything else as reports.
    pub(super) async fn take(&mut self, happenings: Vec<Happening>) {
        let mut rest = Vec::with_capacity(happenings.len());
        for happening in happenings {
            match happening {
                Happening::Initialized(initialized) => self.initialized(initialized).await,
                Happening::InitializeFailed(error) => self.refused(OpenFailure::Other, error.in_words()).await,
                Happening::Opened { native, settings, .. } => {
                    self.commit(std::mem::take(&mut rest)).await;
                    self.opened(native, settings).await;
                }
                Happening::OpenFailed { kind, error, .. } => self.refused(kind, error.in_words()).await,
                Happening::Done(RequestId::Auth(_)) => self.open(),
                Happening::RequestFailed { id: RequestId::Auth(_), error } => {
                    self.refused(OpenFailure::Auth, error.in_words()).await;
                }
                Happening::Done(id) if self.settling() => {
                    self.commit(std::mem::take(&mut rest)).await;
                    self.settled(id, None).await;
                }
                Happening::RequestFailed { id, error } if self.settling() => {
                    self.settled(id, Some(error.in_words())).await;
                }
                Happening::Done(RequestId::SetModel(_)) => self.model_answered(None).await,
                Happening::RequestFailed { id: RequestId::SetModel(_) | RequestId::Configure(_), error } => {
                    self.model_answered(Some(error.in_words())).await;
                }
                Happening::RequestFailed { id: RequestId::SetMode(_), error } => {
                    self.commit(std::mem::take(&mut rest)).await;
                    self.unusable(format!("it refused to leave a mode that asks for nothing: {}", error.in_words()))
                        .await;
                }
                Happening::Ended(reason) => {
                    self.commit(std::mem::take(&mut rest)).await;
                    self.unusable(reason.to_string()).await;
                }
                other => rest.push(other),
            }
        }
        self.commit(rest).await;
    }

    async fn commit(&mut self, happenings: Vec<Happening>) {
        let Some(process) = self.link.as_ref().filter(|_| !happenings.is_empty()).map(|link| link.process) else {
            return;
        };
        let asked = self.asked(process, &happenings).await;
        let Some(link) = self.link.as_mut() else { return };
        link.say(&happenings);
        asked.iter().for_each(|wanted| link.owed.add(wanted.at));
        let (cwd, agent) = (link.opening.cwd.clone(), link.opening.agent.clone());
        let speaker = Speaker { process, cwd: &cwd, agent: &agent };
        let usage = link.usage.clone();
        let finished = finished_items(&happenings);
        let answered = happenings.iter().find_map(|happening| match happening {
            Happening::TurnAnswered { turn, .. } => Some(*turn),
            _ => None,
        });
        if answered.is_some() {
            link.owed.forget();
        }
        // While the session opens, the next daemon has to hear the agent from the beginning.
        let opening = link.deadline.is_some();
        let mark = (!opening).then(|| link.mark());
        let live = live_texts(process, &happenings, &finished);
        let reports = self.shared.reports(speaker, happenings, &usage).await;
        let durable = !reports.is_empty();
        let commands = match answered {
            Some(turn) => self.shared.checkpoint_after(process, turn).await.into_iter().collect(),
            None => vec![],
        };
        let along = Request { commands, mark, ..Request::default() };
        if durable && self.shared.report(process, reports, along).await.is_err() {
            return;
        }
        for text in live {
            self.shared.core.hub.live(text);
        }
        self.turn_away(process, asked).await;
        if !durable {
            return;
        }
        if let (Some(link), Some(mark)) = (self.link.as_mut(), mark) {
            link.acknowledge(mark.safe);
            if answered.is_some() {
                link.send(Parcel::Activity(Activity::Idle));
            }
        }
    }

    /// The agent's output is of no use any more: the process has to go.
    async fn unusable(&mut self, reason: String) {
        let Some(link) = self.link.as_ref() else { return };
        let process = link.process;
        if link.deadline.is_some() {
            let failure = Failure {
                code: "agent_garbage".into(),
                message: format!("the agent does not speak the protocol: {reason}"),
                hint: Some(
                    "check its command: it has to speak the Agent Client Protocol on its standard output".into(),
                ),
                until: None,
            };
            return self.open_failed(process, failure, NativeFate::Kept).await;
        }
        self.flush(process).await;
        let _ = self.shared.report(process, vec![Report::Exited { cause: reason }], Request::default()).await;
    }
}

impl Link {
    /// Answers at once what needs no person, and keeps what is only ever the latest.
    fn say(&mut self, happenings: &[Happening]) {
        for happening in happenings {
            match happening {
                Happening::Reply { at, frame } => self.reply(*at, frame.clone()),
                Happening::UsageChanged(usage) => merge(&mut self.usage, usage),
                _ => {}
            }
            if let Some(wanted) = happening.without_turn() {
                self.reply(wanted.at, nothing_chosen(self.process, &wanted));
            }
        }
    }
}

impl Shared {
    /// Happenings as reports, long texts in blobs.
    pub(super) async fn reports(&self, speaker: Speaker<'_>, happenings: Vec<Happening>, usage: &Usage) -> Vec<Report> {
        let mut reports = vec![];
        for happening in happenings {
            match happening {
                Happening::Attached { bytes, .. } => {
                    if let Err(error) = self.core.store.put_blob(bytes).await {
                        tracing::error!(%error, "an attachment cannot be kept");
                    }
                }
                Happening::Recorded(item) => {
                    let item = offload::item(self.core.store.as_ref(), item).await;
                    reports.push(Report::Recorded(Box::new(item)));
                }
                Happening::PermissionRequested(request) if request.turn.is_some() => {
                    let item = match reports.pop_if(|_| request.is_news) {
                        Some(Report::Recorded(item)) => Some(item),
                        other => {
                            reports.extend(other);
                            None
                        }
                    };
                    reports.push(self.request(speaker.process, speaker.cwd, request, item).await);
                }
                Happening::SettingsChanged(settings) => {
                    let model = settings.model.map(|model| SettingChange::Model { model });
                    let mode = settings.mode.map(|mode| SettingChange::Mode { mode });
                    reports.extend(model.into_iter().chain(mode).map(Report::Changed));
                }
                Happening::UsageChanged(_) if self.bounded(speaker.process).await => {
                    reports.push(Report::Used(Box::new(usage.clone())));
                }
                other => reports.extend(self.report_of(speaker, other, usage)),
            }
        }
        reports
    }

    /// Whether anybody wants to know what an agent uses before its turn ends.
    async fn bounded(&self, process: Process) -> bool {
        let state = self.core.task(process.task).await;
        state.is_ok_and(|state| state.task().is_some_and(|task| task.budget.caps.any()))
    }

    async fn request(
        &self,
        process: Process,
        cwd: &str,
        request: PermissionRequest,
        item: Option<Box<Item>>,
    ) -> Report {
        let mut input = request.input;
        if let Some(input) = &mut input {
            offload::input(self.core.store.as_ref(), input).await;
        }
        Report::Asked(Box::new(Asked {
            approval: approval_id(process, request.at),
            request: request.request.as_json().to_owned(),
            item,
            ask: Ask { call: request.call, title: request.title, tool: request.tool, input, cwd: cwd.to_owned() },
            options: request.options,
            expires_secs: self.config.approval_expires.as_secs(),
            ruling: None,
        }))
    }

    fn report_of(&self, speaker: Speaker<'_>, happening: Happening, usage: &Usage) -> Option<Report> {
        let Speaker { process, agent, .. } = speaker;
        match happening {
            Happening::PlanRevised(entries) => Some(Report::PlanRevised { entries }),
            Happening::Commands(commands) => Some(Report::Changed(SettingChange::Commands { commands })),
            Happening::ModeChanged(mode) => Some(Report::Changed(SettingChange::Mode { mode })),
            Happening::QuestionAsked(asked) if asked.turn.is_some() => Some(Report::Questioned(Box::new(Question {
                id: question_id(process, asked.at),
                request: asked.request.as_json().to_owned(),
                message: asked.message,
                schema: asked.schema,
                settled: false,
            }))),
            Happening::TitleChanged(title) => title.map(|title| Report::Titled { title }),
            Happening::PermissionWithdrawn(request) => Some(Report::Withdrew { request: request.as_json().to_owned() }),
            Happening::TurnAnswered { turn, outcome } => {
                let mut used = usage.clone();
                let answer = match outcome {
                    Ok(end) => {
                        if let Some(more) = &end.usage {
                            merge(&mut used, more);
                        }
                        TurnAnswer::Stopped { reason: end.stop_reason }
                    }
                    Err(failure) => TurnAnswer::Failed { failure: self.failed(agent, failure) },
                };
                Some(Report::TurnAnswered { turn, answer, usage: used })
            }
            Happening::RequestFailed { id, error } => {
                tracing::warn!(%id, %error, "the agent refused a request");
                None
            }
            Happening::Live(_)
            | Happening::Reply { .. }
            | Happening::AskedBefore(_)
            | Happening::Passed(_)
            | Happening::UsageChanged(_)
            | Happening::Done(_)
            | Happening::Listed { .. }
            | Happening::Retold { .. }
            | Happening::Attached { .. }
            | Happening::Recorded(_)
            | Happening::SettingsChanged(_)
            | Happening::PermissionRequested(_)
            | Happening::QuestionAsked(_)
            | Happening::Initialized(_)
            | Happening::InitializeFailed(_)
            | Happening::Opened { .. }
            | Happening::OpenFailed { .. }
            | Happening::Ended(_) => None,
        }
    }

    fn failed(&self, agent: &str, failure: TurnFailure) -> Failure {
        let now = self.core.clock.at();
        let until = failure.retry_at.or_else(|| lifted::lifted(&failure.message, now));
        let (code, hint) = match failure.kind {
            FailureKind::Failed => ("turn_failed", "`tl retry KEY` tries again".to_owned()),
            FailureKind::Limited => (
                "usage_limit",
                "wait until the limit is lifted and `tl retry KEY`, or `tl switch KEY --agent A` goes on with another agent"
                    .to_owned(),
            ),
            FailureKind::Auth => ("login_needed", self.config.login_hint(agent)),
        };
        let until = until.filter(|_| failure.kind == FailureKind::Limited);
        Failure { code: code.into(), message: failure.message, hint: Some(hint), until }
    }
}

/// Whether something has to be done about it before the next line is read, or before the turn is over. Text that is being
/// written is shown before the line that may finish it.
fn pauses(happening: &Happening) -> bool {
    matches!(
        happening,
        Happening::Live(_)
            | Happening::Initialized(_)
            | Happening::InitializeFailed(_)
            | Happening::Opened { .. }
            | Happening::OpenFailed { .. }
            | Happening::Done(_)
            | Happening::RequestFailed { .. }
            | Happening::TurnAnswered { .. }
            | Happening::Ended(_)
    )
}

fn merge(known: &mut Usage, news: &Usage) {
    fn take<T: Clone>(known: &mut Option<T>, news: &Option<T>) {
        if news.is_some() {
            known.clone_from(news);
        }
    }
    take(&mut known.input_tokens, &news.input_tokens);
    take(&mut known.output_tokens, &news.output_tokens);
    take(&mut known.total_tokens, &news.total_tokens);
    take(&mut known.context_tokens, &news.context_tokens);
    take(&mut known.context_limit, &news.context_limit);
    take(&mut known.cost, &news.cost);
}

fn finished_items(happenings: &[Happening]) -> Vec<ItemId> {
    let finished = |happening: &Happening| match happening {
        Happening::Recorded(item) => item.is_finished().then_some(item.id),
        _ => None,
    };
    happenings.iter().filter_map(finished).collect()
}

/// Live text of what is still unfinished.
fn live_texts(process: Process, happenings: &[Happening], finished: &[ItemId]) -> Vec<LiveText> {
    use throughline_acp::happening::LiveKind as Told;
    let text = |happening: &Happening| match happening {
        Happening::Live(live) if !finished.contains(&live.item) => Some(LiveText {
            task: process.task,
            item: live.item,
            turn: live.turn as Option<TurnId>,
            kind: match live.kind {
                Told::Message => LiveKind::Message,
                Told::Thought => LiveKind::Thought,
                Told::ToolOutput => LiveKind::Tool,
            },
            at: live.at as u64,
            text: live.text.clone(),
        }),
        _ => None,
    };
    happenings.iter().filter_map(text).collect()
}
