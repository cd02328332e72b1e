//! What a message says in facts: what it replies to, whom and what it names. Gathered once, before any rule.

use super::act::Acts;
use super::input::{Activity, Context, Execution, ReplyTo, Task};
use super::mention::{self, AgentMention, KeyMention};
use super::text::{AGENT, COMMAND, KEY, Kind, TITLE, akin, fold, unspaced, words};
use super::title::{self, Named, Unit};
use super::weights::Weights;

/// A message with the facts about it.
pub struct Heard<'a> {
    /// What stands around it.
    pub context: &'a Context,
    /// The classifier, for words that facts leave open.
    pub weights: &'a Weights,
    /// The text, folded.
    pub text: String,
    /// The same with its names masked.
    pub masked: String,
    /// What it does, by its words.
    pub acts: Acts,
    /// Agents and models it names, in order.
    pub agents: Vec<AgentMention>,
    /// Keys it has, in order.
    pub keys: Vec<KeyMention>,
    /// What it is about.
    pub units: Vec<Unit>,
    /// Tasks whose titles share its words, best first.
    pub named: Vec<Named>,
    /// Another project that it names as a place.
    pub project: Option<usize>,
}

impl<'a> Heard<'a> {
    /// Gathers the facts about a message.
    #[must_use]
    pub fn new(weights: &'a Weights, message: &str, context: &'a Context) -> Self {
        let text = fold(message);
        let agents = mention::agents(&text, &context.agents);
        let keys = mention::keys(&text, &context.tasks);
        let project = mention::project(&text, context);
        let mut spans: Vec<((usize, usize), char)> = agents.iter().map(|m| (m.span, AGENT)).collect();
        spans.extend(keys.iter().filter(|k| k.task.is_some() || k.familiar).map(|k| (k.span, KEY)));
        let masked = mask(&text, &spans);
        let units = title::units(&masked, weights);
        let named = title::named(&units, &context.tasks, weights);
        let masked = mask_commands(&masked, &units_to_hide(&named, context), context, weights);
        let acts = overall(weights, &masked);
        Self { context, weights, text, masked, acts, agents, keys, units, named, project }
    }

    /// The conversation's current task.
    #[must_use]
    pub fn focus(&self) -> Option<usize> {
        let id = self.context.focus.as_ref()?;
        self.context.tasks.iter().position(|task| task.id == *id)
    }

    /// A task by its place.
    #[must_use]
    pub fn task(&self, index: usize) -> &'a Task {
        &self.context.tasks[index]
    }

    /// The task that the message replies to, and the execution if that is known.
    #[must_use]
    pub fn replied(&self) -> Option<(usize, Option<&'a Execution>)> {
        let by_id = |id: &str| self.context.tasks.iter().position(|task| task.id == id);
        let execution = |id: &str| {
            let mut all = self.context.tasks.iter().enumerate();
            all.find_map(|(at, task)| task.executions.iter().find(|e| e.id == id).map(|e| (at, Some(e))))
        };
        match self.context.reply_to.as_ref()? {
            ReplyTo::Task(id) => by_id(id).map(|task| (task, None)),
            ReplyTo::Execution(id) => execution(id),
            ReplyTo::Approval(id) => {
                let approval = self.context.approvals.iter().find(|a| a.id == *id)?;
                execution(&approval.execution).or_else(|| by_id(&approval.task).map(|task| (task, None)))
            }
        }
    }

    /// The one visible task whose key is typed; none if several are.
    #[must_use]
    pub fn keyed(&self) -> Option<usize> {
        let mut tasks = self.keys.iter().filter_map(|key| key.task);
        let first = tasks.next()?;
        tasks.all(|task| task == first).then_some(first)
    }

    /// Whether the message begins with a key, as one addresses a letter.
    #[must_use]
    pub fn addressed(&self) -> bool {
        self.keys
            .first()
            .is_some_and(|key| key.task.is_some() && !self.text[..key.span.0].contains(char::is_alphanumeric))
    }

    /// The task that the words fit alone.
    #[must_use]
    pub fn titled(&self) -> Option<&Named> {
        title::only(&self.named)
    }

    /// The task that an order is about: replied to, keyed, named by title, else the focus.
    #[must_use]
    pub fn target(&self) -> Option<usize> {
        self.pointed().or_else(|| self.focus())
    }

    /// The task that is pointed at by something stronger than the focus.
    #[must_use]
    pub fn pointed(&self) -> Option<usize> {
        self.keyed().or_else(|| self.replied().map(|(task, _)| task)).or_else(|| self.titled().map(|named| named.task))
    }

    /// The installed agents that are named, in order.
    pub fn installed(&self) -> impl Iterator<Item = (&'a str, &AgentMention)> + '_ {
        self.agents.iter().filter_map(|m| Some((self.context.agents[m.agent?].id.as_str(), m)))
    }

    /// Whether the message begins with an agent's name, as one calls someone.
    #[must_use]
    pub fn calls_agent(&self) -> bool {
        self.agents.first().is_some_and(|m| {
            let before = self.text[..m.span.0].trim();
            before.is_empty() || before == "@" || matches!(before, "hey" | "hi" | "ok" | "hey @")
        })
    }

    /// Whether the message begins with a word that this agent takes as a command.
    #[must_use]
    pub fn commands(&self, agent: &str) -> bool {
        let first = self.text.split_whitespace().next().unwrap_or_default();
        let known = self.context.agents.iter().find(|known| known.id == agent);
        known.is_some_and(|known| known.words.iter().any(|word| word == first))
    }

    /// Whether there is anything in it that could be said aloud.
    #[must_use]
    pub fn speaks(&self) -> bool {
        words(&self.text).iter().any(|word| word.kind != Kind::Mark)
    }

    /// How many words the message has; two characters of a run count as one.
    #[must_use]
    pub fn length(&self) -> usize {
        let count = |w: &super::text::Word<'_>| match w.kind {
            Kind::Run => w.text.chars().count().div_ceil(2),
            Kind::Word | Kind::Mask | Kind::Symbol => 1,
            Kind::Mark => 0,
        };
        words(&self.masked).iter().map(count).sum()
    }

    /// How many of the message's subject words occur in a task's title or its agent's last words.
    #[must_use]
    pub fn related(&self, task: &Task) -> usize {
        let said = task.last_said.as_deref().unwrap_or("");
        let shared = title::shared(&self.units, &format!("{} {said}", task.title), self.weights);
        // An everyday word counts if the title has it: "approve" and an approval flow.
        let title = fold(&task.title);
        let titled = words(&title);
        let long = |w: &&super::text::Word<'_>| w.kind == Kind::Word && w.text.len() >= 5;
        let plain = words(&self.masked).iter().filter(long).any(|w| titled.iter().any(|o| akin(o.text, w.text)));
        shared.max(usize::from(plain))
    }

    /// The visible tasks in a state.
    #[must_use]
    pub fn tasks_that(&self, is: impl Fn(Activity) -> bool) -> Vec<usize> {
        (0..self.context.tasks.len()).filter(|at| is(self.task(*at).state)).collect()
    }
}

/// What a message does: as a whole, and by its opening clause, since what follows is often a reason.
fn overall(weights: &Weights, masked: &str) -> Acts {
    let whole = weights.acts(masked);
    match first_clause(masked) {
        Some(clause) => whole.blend(&weights.acts(clause), 0.35),
        None => whole,
    }
}

/// The opening clause, if there is more than one and it has more than a word.
pub fn first_clause(text: &str) -> Option<&str> {
    let (clause, rest) = text.split_once([',', '.', ';', '!', '。', '，', '；', '、', '،', '\n'])?;
    let long = clause.chars().count() >= if clause.chars().any(unspaced) { 3 } else { 6 };
    (long && rest.chars().any(char::is_alphanumeric)).then(|| clause.trim())
}

/// Where a task other than the focus is named by its title: that is a name, not a subject.
fn units_to_hide(named: &[Named], context: &Context) -> Vec<(usize, usize)> {
    match title::only(named) {
        Some(best) if context.focus.as_ref() != Some(&context.tasks[best.task].id) => best.spans.clone(),
        Some(_) | None => vec![],
    }
}

fn mask(text: &str, spans: &[((usize, usize), char)]) -> String {
    let mut spans = spans.to_vec();
    spans.sort_unstable();
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for ((start, end), mask) in spans {
        if start < from {
            from = from.max(end);
            continue;
        }
        out.push_str(&text[from..start]);
        if !out.trim_end().ends_with(mask) {
            out.push(mask);
        }
        from = end;
    }
    out.push_str(&text[from..]);
    out
}

/// Masks the words of pending commands and the given title words.
fn mask_commands(text: &str, titles: &[(usize, usize)], context: &Context, weights: &Weights) -> String {
    let mut spans: Vec<((usize, usize), char)> = titles.iter().map(|span| (*span, TITLE)).collect();
    if !context.approvals.is_empty() {
        let commands: Vec<String> = context.approvals.iter().map(|a| fold(&a.what)).collect();
        let parts: Vec<&str> = commands
            .iter()
            .flat_map(|c| words(c))
            .filter(|w| w.kind == Kind::Word && w.text.len() >= 3 && !weights.assents(w))
            .map(|w| w.text)
            .collect();
        for word in words(text).iter().filter(|w| w.kind == Kind::Word && w.text.len() >= 3) {
            if parts.iter().any(|part| akin(part, word.text)) {
                spans.push(((word.at, word.at + word.text.len()), COMMAND));
            }
        }
    }
    mask(text, &spans)
}
