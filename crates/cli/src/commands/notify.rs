//! `tl notify`: what a person is told in chats, where, and at which hours not.

use std::str::FromStr as _;

use clap::ArgGroup;
use jiff::tz::TimeZone;
use throughline_api::client::Client;
use throughline_api::notice::{
    BrowserNotices, ChatNotices, ChooseMain, ChooseReasons, NoticeReason, Notices, QuietHours,
};
use throughline_model::notice::Reason;
use uuid::Uuid;

use super::Context;
use crate::failure::{Failure, Outcome};
use crate::safe_text::{safe_glance, safe_line};

/// How much of a browser's own name is shown.
const BROWSER_CHARS: usize = 60;

/// Show or choose what you are told in chats and by push, and when not
///
/// A chat is told for four reasons: an agent needs an approval, asks a question, is done, or failed. Of a task that you
/// work on elsewhere you are told in one of your chats: the one that you wrote from last, or the one that you choose.
///
/// In quiet hours nothing is told unasked, unless you name exceptions. What comes then is held, and told as one digest
/// when they end; what still waits for you follows with its buttons. Who writes in a chat is awake, and is told things
/// there for the next half hour.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("told").args(["reasons", "off", "all"])))]
pub(crate) struct Args {
    /// A chat: its channel, your identity there such as `telegram:4711`, or the conversation's id; or a browser that is
    /// told things by push, as listed
    #[arg(value_name = "CHAT", requires = "told")]
    chat: Option<String>,
    /// Tell it for these reasons only: approval, question, completed, failed
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = reason, requires = "chat")]
    reasons: Vec<Reason>,
    /// Tell it nothing unasked
    #[arg(long, requires = "chat")]
    off: bool,
    /// Tell it for all four reasons
    #[arg(long, requires = "chat")]
    all: bool,
    /// Hear of what you do elsewhere in this chat, or with `last` in the one that you wrote from last
    #[arg(long, value_name = "CHAT")]
    main: Option<String>,
    /// Be told nothing unasked at these hours, such as 22:00-07:00
    #[arg(long, value_name = "FROM-UNTIL", conflicts_with = "no_quiet")]
    quiet: Option<String>,
    /// The time zone of the quiet hours, such as Europe/Berlin; this machine's if left out
    #[arg(long, value_name = "ZONE", requires = "quiet")]
    zone: Option<String>,
    /// Be told this all the same in quiet hours, such as approval,question
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = reason, requires = "quiet")]
    except: Vec<Reason>,
    /// Have no quiet hours; what was held is told now
    #[arg(long)]
    no_quiet: bool,
}

fn reason(word: &str) -> Result<Reason, String> {
    Reason::from_str(word).map_err(|error| error.to_string())
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let notices = context.ask(async |client| apply(client, &args).await).await?;
    context.output.document(&notices, || text(&notices))
}

/// Chooses what was asked for; choosing the same again changes nothing.
async fn apply(client: &Client, args: &Args) -> Outcome<Notices> {
    let mut notices = client.notices().await?;
    if let Some(name) = &args.chat {
        let reasons = match (args.all, args.off) {
            (true, _) => Reason::ALL.map(word).to_vec(),
            (_, true) => vec![],
            _ => args.reasons.iter().copied().map(word).collect(),
        };
        let browser = notices.browsers.iter().find(|browser| browser_name(browser) == *name).map(|known| known.login);
        if let Some(login) = browser {
            notices = client.choose_browser_reasons(login, &ChooseReasons { reasons }).await?;
        } else {
            for chat in chats(&notices, name)? {
                notices = client.choose_reasons(chat, &ChooseReasons { reasons: reasons.clone() }).await?;
            }
        }
    }
    if let Some(name) = &args.main {
        let conversation = match name.as_str() {
            "last" => None,
            name => chats(&notices, name)?.last().copied(),
        };
        notices = client.choose_main(&ChooseMain { conversation }).await?;
    }
    if let Some(hours) = &args.quiet {
        notices = client.choose_quiet(&quiet_hours(hours, args)).await?;
    }
    if args.no_quiet {
        notices = client.no_quiet().await?;
    }
    Ok(notices)
}

fn quiet_hours(hours: &str, args: &Args) -> QuietHours {
    let (from, until) = hours.split_once(['-', '–']).unwrap_or((hours, ""));
    let here = || TimeZone::system().iana_name().map(str::to_owned);
    QuietHours {
        from: from.trim().to_owned(),
        until: until.trim().to_owned(),
        zone: args.zone.clone().or_else(here),
        except: Some(args.except.iter().copied().map(word).collect()),
    }
}

/// What a browser is called here: the beginning of its login's id tells it from others.
fn browser_name(browser: &BrowserNotices) -> String {
    format!("browser:{}", browser.login.to_string().chars().take(8).collect::<String>())
}

/// The chats that a name means: one by its id or identity, or all of one's own on a channel.
pub(super) fn chats(notices: &Notices, name: &str) -> Outcome<Vec<Uuid>> {
    let is_meant = |chat: &&ChatNotices| {
        chat.identity == name || chat.conversation.to_string() == name || (chat.channel == name && !chat.group)
    };
    let meant: Vec<Uuid> = notices.chats.iter().filter(is_meant).map(|chat| chat.conversation).collect();
    if meant.is_empty() {
        let known: Vec<&str> = notices.chats.iter().map(|chat| chat.identity.as_str()).collect();
        let hint = match known.is_empty() {
            true => "`tl pair CHANNEL` links one".to_owned(),
            false => format!("your chats: {}", known.join(", ")),
        };
        return Err(Failure::new("not_found", format!("you have no chat `{}`", safe_line(name))).hint(hint));
    }
    Ok(meant)
}

fn word(reason: Reason) -> NoticeReason {
    match reason {
        Reason::Approval => NoticeReason::Approval,
        Reason::Question => NoticeReason::Question,
        Reason::Completed => NoticeReason::Completed,
        Reason::Failed => NoticeReason::Failed,
    }
}

fn text(notices: &Notices) -> String {
    let mut text = String::new();
    for chat in &notices.chats {
        let told = match chat.reasons.is_empty() {
            true => "nothing unasked".to_owned(),
            false => listed(&chat.reasons),
        };
        let main = match (notices.told_in == Some(chat.conversation), notices.main.is_some()) {
            (true, true) => "; what you do elsewhere",
            (true, false) => "; what you do elsewhere (you wrote from there last)",
            (false, _) => "",
        };
        let held = if chat.held > 0 { format!("; {} held", chat.held) } else { String::new() };
        let group = if chat.group { " (group)" } else { "" };
        text.push_str(&format!("{}{group}: {told}{main}{held}\n", safe_line(&chat.identity)));
    }
    for browser in &notices.browsers {
        let told = match browser.reasons.is_empty() {
            true => "nothing".to_owned(),
            false => listed(&browser.reasons),
        };
        let called = safe_glance(&browser.browser, BROWSER_CHARS);
        text.push_str(&format!("{} ({called}): {told}\n", browser_name(browser)));
    }
    if notices.chats.is_empty() {
        text.push_str("no chat yet: `tl pair CHANNEL` links one\n");
    }
    match &notices.quiet {
        Some(quiet) => {
            let zone = quiet.zone.as_deref().unwrap_or("UTC");
            let except = quiet.except.as_deref().unwrap_or_default();
            let except = if except.is_empty() { String::new() } else { format!(", except {}", listed(except)) };
            let now = if notices.quiet_until.is_some() { " (now)" } else { "" };
            text.push_str(&format!("quiet: {}-{} {}{except}{now}\n", quiet.from, quiet.until, safe_line(zone)));
        }
        None => text.push_str("quiet: never\n"),
    }
    text
}

fn listed(reasons: &[NoticeReason]) -> String {
    let word = |reason: &NoticeReason| match reason {
        NoticeReason::Approval => "approval",
        NoticeReason::Question => "question",
        NoticeReason::Completed => "completed",
        NoticeReason::Failed => "failed",
    };
    reasons.iter().map(word).collect::<Vec<_>>().join(", ")
}
