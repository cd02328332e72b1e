//! Agents named as an instruction: one more, another one instead, or a second way in parallel.

use super::act::{Act, Acts};
use super::draft::Draft;
use super::heard::Heard;
use super::input::{Execution, Role, Task};
use super::mention::AgentMention;
use super::text::AGENT;
use super::verdict::Verdict;

/// How sure an instruction about agents has to sound.
const HEARD: f32 = 0.5;

/// Adds, switches or forks, asks about an agent that is not there, or leaves the message to the other rules.
pub fn decide(heard: &Heard<'_>) -> Option<Draft> {
    let acts = &louder(heard);
    let instructs = acts.any(&[Act::Add, Act::Switch, Act::Fork]);
    let again = acts.of(Act::Retry);
    if heard.agents.is_empty() {
        return (acts.of(Act::Add) > HEARD && acts.top() == Act::Add).then(|| someone_else(heard)).flatten();
    }
    let starts = heard.calls_agent() && acts.any(&[Act::Goal, Act::NewTask]) > 0.5;
    if heard.installed().next().is_none() {
        let absent = &heard.agents[0].name;
        return (instructs + again > HEARD || starts)
            .then(|| Draft::fact(Verdict::Clarify { candidates: vec![] }, format!("{absent} is not installed")));
    }
    if !acts.heard(instructs + again, HEARD) || acts.any(&[Act::Goal, Act::NewTask]) > instructs {
        return called(heard);
    }
    let Some(at) = heard.target() else {
        return (acts.of(Act::Goal) < 0.2).then(|| {
            Draft::fact(Verdict::Clarify { candidates: vec![] }, "it does not say which task the agent is meant for")
                .weighed(0.7)
        });
    };
    let kind = [Act::Add, Act::Switch, Act::Fork, Act::Retry]
        .into_iter()
        .fold(Act::Add, |best, act| if acts.of(act) > acts.of(best) { act } else { best });
    instruct(heard, heard.task(at), kind, instructs + again)
}

/// The message's acts, or those of the clause that names an agent where that is clearer: what follows it is
/// often a reason ("use cc instead, codex keeps editing the wrong file").
fn louder(heard: &Heard<'_>) -> Acts {
    if heard.acts.of(Act::NewTask) > 0.4 || heard.acts.of(Act::Goal) > 0.85 {
        return heard.acts.clone();
    }
    let instructs = |acts: &Acts| acts.any(&[Act::Add, Act::Switch, Act::Fork]);
    let parts = heard.masked.split([',', '.', ';', '!', '。', '，', '；', '、', '،', '\n']);
    let clause = parts.filter(|part| part.contains(AGENT) && part.trim().chars().count() > 4);
    let heard_there = clause.map(|part| heard.weights.acts(part.trim()));
    heard_there
        .fold(heard.acts.clone(), |best, acts| if instructs(&acts) > instructs(&best) + 0.15 { acts } else { best })
}

fn primary(task: &Task) -> Option<&Execution> {
    task.executions.iter().find(|e| e.primary).or_else(|| task.executions.first())
}

/// The agent that is meant: one that does not lead the task yet, else the first that is named.
fn meant<'a>(heard: &'a Heard<'_>, task: &Task) -> Option<(&'a str, &'a AgentMention)> {
    let lead = primary(task).map(|e| e.agent.as_str());
    let all: Vec<(&str, &AgentMention)> = heard.installed().collect();
    all.iter().find(|(agent, _)| Some(*agent) != lead).or_else(|| all.first()).copied()
}

fn instruct(heard: &Heard<'_>, task: &Task, kind: Act, sure: f32) -> Option<Draft> {
    let (agent, mention) = meant(heard, task)?;
    let named = format!("it names {}", mention.name);
    let about = format!("\"{}\" is the task it is about", task.title);
    let id = task.id.clone();
    let present = task.executions.iter().find(|e| e.agent == agent);
    let leads = primary(task).is_some_and(|e| e.agent == agent);
    let verdict = match (kind, present) {
        (Act::Fork, _) => Verdict::Fork { task: id, agent: Some(agent.to_owned()) },
        (Act::Add, None) => Verdict::AddExecution { task: id, agent: agent.to_owned(), role: role(&heard.text) },
        (Act::Retry, Some(e)) if mention.model.is_none() => Verdict::Retry { task: id, execution: Some(e.id.clone()) },
        (Act::Add, Some(e)) if mention.model.is_none() => {
            let draft =
                Draft::words(Verdict::Continue { task: id, execution: Some(e.id.clone()) }, kind, sure.min(0.85));
            return Some(draft.because(format!("{agent} already works on \"{}\"", task.title)));
        }
        (Act::Add, Some(_)) if !leads || role(&heard.text).is_some() => {
            Verdict::AddExecution { task: id, agent: agent.to_owned(), role: role(&heard.text) }
        }
        _ if leads && mention.model.is_none() => Verdict::Continue { task: id, execution: None },
        _ => Verdict::SwitchAgent { task: id, agent: agent.to_owned(), model: mention.model.clone() },
    };
    Some(Draft::words(verdict, kind, sure).because(named).because(about))
}

/// An agent that takes part in the task is spoken to by its name.
fn called(heard: &Heard<'_>) -> Option<Draft> {
    if !heard.calls_agent() || heard.acts.any(&[Act::Adjust, Act::Ask, Act::Ref, Act::GoOn]) < 0.5 {
        return None;
    }
    let (agent, mention) = heard.installed().next()?;
    let task = heard.task(heard.target()?);
    let execution = task.executions.iter().find(|e| e.agent == agent)?;
    // "cursor jumps", "opus files": a name that is also a thing calls nobody.
    let tail = heard.text[mention.span.1..].trim_start();
    let vocative = heard.text.starts_with('@') || tail.starts_with([',', ':', '，', '：']);
    if !vocative && mention.model.is_some() {
        return None;
    }
    let verdict = Verdict::Continue { task: task.id.clone(), execution: Some(execution.id.clone()) };
    Some(Draft::fact(verdict, format!("it calls {agent}, who works on \"{}\"", task.title)).weighed(0.85))
}

/// "Someone else should look at it": the first installed agent that is not on the task.
fn someone_else(heard: &Heard<'_>) -> Option<Draft> {
    let task = heard.task(heard.target()?);
    let free = |id: &str| !task.executions.iter().any(|e| e.agent == id);
    let agent = heard.context.agents.iter().map(|a| a.id.as_str()).find(|id| free(id))?;
    let role = role(&heard.text).or(Some(Role::Reviewer));
    let verdict = Verdict::AddExecution { task: task.id.clone(), agent: agent.to_owned(), role };
    let draft = Draft::words(verdict, Act::Add, heard.acts.of(Act::Add).min(0.85));
    Some(draft.because(format!("{agent} is installed and not yet on \"{}\"", task.title)))
}

/// Stems that tell a role, in many languages; the first one in the text decides.
const ROLES: [(Role, &[&str]); 3] = [
    (
        Role::Reviewer,
        &[
            "review",
            "audit",
            "double check",
            "double-check",
            "check",
            "verif",
            "second opinion",
            "opinion",
            "inspect",
            "cross-check",
            "proofread",
            "pruf",
            "gegenles",
            "druberschau",
            "begutacht",
            "meinung",
            "revis",
            "revue",
            "relire",
            "relis",
            "relect",
            "relec",
            "avis",
            "opini",
            "провер",
            "ревью",
            "перевір",
            "рев'ю",
            "レビュー",
            "チェック",
            "確認",
            "見て",
            "审",
            "審",
            "检查",
            "檢查",
            "复查",
            "複查",
            "把关",
            "复核",
            "意见",
            "review",
            "리뷰",
            "검토",
            "확인",
            "controll",
            "rivedi",
            "ricontroll",
            "beoordel",
            "nakijk",
            "controleer",
            "sprawdz",
            "recenz",
            "przejrz",
            "incele",
            "kontrol",
            "gozden gecir",
            "kiem tra",
            "xem lai",
            "danh gia",
            "tinjau",
            "periksa",
            "ulas",
            "granska",
            "kontroll",
            "zkontrol",
            "مراجع",
            "راجع",
            "تحقق",
            "समीक्षा",
            "जांच",
            "जाँच",
            "רוויו",
            "בדוק",
            "ตรวจ",
            "รีวิว",
            "ελεγξ",
            "ellenoriz",
            "verific",
            "tarkist",
            "gjennomga",
            "gennemga",
            "kodgransk",
        ],
    ),
    (
        Role::Tester,
        &[
            "test",
            "qa",
            "тест",
            "テスト",
            "测",
            "測",
            "테스트",
            "prueba",
            "probar",
            "pruebe",
            "اختبار",
            "يختبر",
            "टेस्ट",
            "परीक्षण",
            "uji",
            "kiem thu",
            "teszt",
            "בדיק",
            "ทดสอบ",
            "δοκιμ",
            "τεστ",
        ],
    ),
    (
        Role::Researcher,
        &[
            "research",
            "investigat",
            "dig up",
            "dig into",
            "look up",
            "find out",
            "look into how",
            "recherch",
            "nachforsch",
            "investig",
            "averigu",
            "cherche",
            "исслед",
            "поищ",
            "изучи",
            "дослід",
            "пошука",
            "调研",
            "查资料",
            "查一下资料",
            "調査",
            "調べ",
            "조사",
            "알아보",
            "pesquis",
            "ricerc",
            "cerca ",
            "indaga",
            "arastir",
            "badan",
            "zbada",
            "poszuka",
            "onderzo",
            "zoek uit",
            "tim hieu",
            "nghien cuu",
            "riset",
            "cari tahu",
            "ابحث",
            "يبحث",
            "شोध",
            "खोज",
            "undersok",
            "prozkoum",
            "zjisti",
            "ค้นคว้า",
            "วิจัย",
            "kutat",
            "tutki",
            "מחקר",
            "ερευν",
        ],
    ),
];

/// The role that a folded text asks for.
pub fn role(text: &str) -> Option<Role> {
    let first = |stems: &[&str]| stems.iter().filter_map(|stem| text.find(stem)).min();
    ROLES
        .iter()
        .filter_map(|(role, stems)| first(stems).map(|at| (at, *role)))
        .min_by_key(|(at, _)| *at)
        .map(|(_, r)| r)
}
