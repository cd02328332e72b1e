//! Person: who works, with linked identities on channels.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::channel::Channel;
use crate::command::Command;
use crate::conversation::ConversationCommand;
use crate::delivery::{Delivery, PushReason};
use crate::effect::Effect;
use crate::identity::Identity;
use crate::ids::{ConversationId, DeliveryId, Id as _, PersonId};
use crate::notice::{Notices, Quiet};
use crate::rejection::Rejection;
use crate::stream::StreamId;
use crate::time::{Now, Timestamp};

/// How many codes a person can have out at once; the oldest goes first.
const MAX_OFFERS: usize = 4;
/// How many groups are remembered; the oldest goes.
const MAX_GROUPS: usize = 64;

/// A one-time code that links whoever brings it, from a channel where only its owner can have said it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// SHA-256 of the code, in hex: the code itself is shown once and kept nowhere.
    pub digest: String,
    /// The channel that it is for.
    pub channel: Channel,
    /// After this moment it is worth nothing.
    pub expires_at: Timestamp,
}

impl Offer {
    /// The digest of a code, however it was typed.
    #[must_use]
    pub fn digest_of(code: &str) -> String {
        let letters: String = code.chars().filter(char::is_ascii_alphanumeric).collect();
        Sha256::digest(letters.to_ascii_uppercase()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// By which the person is found: see [`NameRow`](crate::view::NameRow).
    #[must_use]
    pub fn name(digest: &str) -> String {
        format!("pairing:{digest}")
    }
}

/// A person's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// Who.
    pub id: PersonId,
    /// What to call them.
    pub name: String,
    /// The language that they want to be spoken to in, as a BCP-47 tag. Empty until they chose one: then each client
    /// says what it likes.
    pub locale: String,
    /// Where they can be recognised.
    pub identities: Vec<Identity>,
    /// Codes that are out.
    #[serde(default)]
    pub offers: Vec<Offer>,
    /// Where they can be told something that happens elsewhere.
    #[serde(default)]
    pub chats: Vec<Chat>,
    /// Where they spoke and others read along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// What they want to be told, and where.
    #[serde(default)]
    pub notices: Notices,
}

impl Person {
    /// Where they hear of tasks in which none of their chats takes part.
    #[must_use]
    pub fn main_chat(&self) -> Option<ConversationId> {
        let theirs = |chat: &ConversationId| self.chats.iter().any(|known| known.conversation == *chat);
        let last = || self.chats.last().map(|chat| chat.conversation);
        self.notices.main.filter(theirs).or(self.notices.recent.filter(theirs)).or_else(last)
    }

    /// All conversations in which they are told things.
    pub fn places(&self) -> impl Iterator<Item = ConversationId> {
        self.chats.iter().map(|chat| chat.conversation).chain(self.groups.iter().map(|group| group.conversation))
    }

    /// Where news of a task goes in which these conversations take part; none if they are told there already.
    fn elsewhere(&self, news: &Delivery, taking_part: &[ConversationId]) -> Option<ConversationId> {
        match (news.push, news.approval) {
            // Who was asked is told how it ended, in the message that asked.
            (PushReason::Decided, Some(approval)) => self.notices.asked.get(&approval).copied(),
            _ if self.places().any(|place| taking_part.contains(&place)) => None,
            _ => self.main_chat(),
        }
    }
}

/// A conversation with one person alone, on a channel that messages are pushed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chat {
    /// Which.
    pub conversation: ConversationId,
    /// As whom they are there.
    pub identity: Identity,
}

/// A conversation on a channel that messages are pushed to, where others read along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Which.
    pub conversation: ConversationId,
    /// On which channel.
    pub channel: Channel,
}

/// What can be asked of a person's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PersonCommand {
    /// Make the record; nothing happens if it is there.
    Enrol {
        /// Who.
        person: PersonId,
        /// What to call them.
        name: String,
        /// Their language.
        locale: String,
        /// The first place to recognise them.
        identity: Identity,
    },
    /// Speak to them in this language.
    ChooseLocale {
        /// A BCP-47 tag; whatever each client likes if it is empty.
        locale: String,
    },
    /// Recognise them in one more place.
    Link {
        /// Where.
        identity: Identity,
    },
    /// Let whoever brings the code be recognised as them.
    OfferPairing {
        /// The code's digest, and what it is good for.
        offer: Offer,
    },
    /// Somebody brought a code.
    Pair {
        /// Its digest.
        digest: String,
        /// Who brought it.
        identity: Identity,
    },
    /// They talk to us alone in this conversation.
    Meet {
        /// Which.
        conversation: ConversationId,
        /// As whom they are there.
        identity: Identity,
    },
    /// They wrote from one of their chats.
    WriteFrom {
        /// Which.
        conversation: ConversationId,
    },
    /// They spoke where others read along.
    SpeakIn {
        /// Where.
        group: Group,
    },
    /// Tell them nothing unasked at these hours.
    ChooseQuiet {
        /// Which; none any more if none.
        quiet: Option<Quiet>,
    },
    /// Tell them there of tasks in which none of their chats takes part.
    ChooseMain {
        /// In this chat; in the one that they wrote from last if none.
        conversation: Option<ConversationId>,
    },
    /// Something happened that they should hear of, wherever they are.
    PassOn {
        /// What; for no conversation yet.
        news: Box<Delivery>,
        /// The conversations that take part, and are told by themselves.
        taking_part: Vec<ConversationId>,
    },
    /// Recognise them there no longer.
    Unlink {
        /// Where.
        identity: Identity,
    },
}

/// What happened to a person's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PersonEvent {
    /// The record was made.
    PersonEnrolled {
        /// Who.
        person: PersonId,
        /// What to call them.
        name: String,
        /// Their language.
        locale: String,
    },
    /// They chose a language.
    LocaleChosen {
        /// A BCP-47 tag; whatever each client likes if it is empty.
        locale: String,
    },
    /// A code was given out.
    PairingOffered {
        /// Its digest, and what it is good for.
        offer: Offer,
    },
    /// A code is worth nothing any more: it was used.
    PairingSpent {
        /// Its digest.
        digest: String,
    },
    /// An identity was linked.
    IdentityLinked {
        /// Which.
        identity: Identity,
    },
    /// They have a conversation with us alone, where they can be told things.
    ChatMet {
        /// Which.
        chat: Chat,
    },
    /// They write from another chat than before.
    ChatTurnedTo {
        /// Which.
        conversation: ConversationId,
    },
    /// They spoke for the first time where others read along.
    GroupMet {
        /// Where.
        group: Group,
    },
    /// They chose quiet hours, or none.
    QuietChosen {
        /// Which.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quiet: Option<Quiet>,
    },
    /// They chose where to hear of tasks in which none of their chats takes part.
    MainChosen {
        /// In this chat; in the one that they wrote from last if none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conversation: Option<ConversationId>,
    },
    /// News of such a task goes to one of their chats.
    NewsPassedOn {
        /// To which.
        to: ConversationId,
        /// What.
        news: Box<Delivery>,
    },
    /// An identity was unlinked.
    IdentityUnlinked {
        /// Which.
        identity: Identity,
    },
}

pub(crate) fn decide(state: Option<&Person>, command: PersonCommand, now: Now) -> Result<Vec<PersonEvent>, Rejection> {
    match (state, command) {
        (None, PersonCommand::Enrol { person, name, locale, identity }) => {
            Ok(vec![PersonEvent::PersonEnrolled { person, name, locale }, PersonEvent::IdentityLinked { identity }])
        }
        (Some(_), PersonCommand::Enrol { .. }) => Ok(vec![]),
        (Some(person), PersonCommand::ChooseLocale { locale }) => Ok(match person.locale == locale {
            true => vec![],
            false => vec![PersonEvent::LocaleChosen { locale }],
        }),
        (
            None,
            PersonCommand::ChooseLocale { .. }
            | PersonCommand::Link { .. }
            | PersonCommand::Unlink { .. }
            | PersonCommand::Meet { .. }
            | PersonCommand::ChooseQuiet { .. }
            | PersonCommand::ChooseMain { .. }
            | PersonCommand::OfferPairing { .. }
            | PersonCommand::Pair { .. },
        ) => Err(Rejection::NotFound { what: "person" }),
        // Somebody of whom there is no record has no chat to be told in.
        (None, PersonCommand::WriteFrom { .. } | PersonCommand::SpeakIn { .. } | PersonCommand::PassOn { .. }) => {
            Ok(vec![])
        }
        (
            Some(person),
            command @ (PersonCommand::WriteFrom { .. }
            | PersonCommand::SpeakIn { .. }
            | PersonCommand::ChooseQuiet { .. }
            | PersonCommand::ChooseMain { .. }
            | PersonCommand::PassOn { .. }),
        ) => heed(person, command),
        (Some(_), PersonCommand::OfferPairing { offer }) => Ok(vec![PersonEvent::PairingOffered { offer }]),
        (Some(person), PersonCommand::Pair { digest, identity }) => pair(person, digest, identity, now.at),
        (Some(person), PersonCommand::Link { identity }) => Ok(match person.identities.contains(&identity) {
            true => vec![],
            false => vec![PersonEvent::IdentityLinked { identity }],
        }),
        (Some(person), PersonCommand::Meet { conversation, identity }) => {
            let chat = Chat { conversation, identity };
            let new = person.identities.contains(&chat.identity) && !person.chats.contains(&chat);
            Ok(new.then_some(PersonEvent::ChatMet { chat }).into_iter().collect())
        }
        (Some(person), PersonCommand::Unlink { identity }) => Ok(match person.identities.contains(&identity) {
            true => vec![PersonEvent::IdentityUnlinked { identity }],
            false => vec![],
        }),
    }
}

/// What they want to be told, and where.
#[expect(clippy::wildcard_enum_match_arm, reason = "`decide` names the commands that come here")]
fn heed(person: &Person, command: PersonCommand) -> Result<Vec<PersonEvent>, Rejection> {
    let theirs = |chat: ConversationId| person.chats.iter().any(|known| known.conversation == chat);
    Ok(match command {
        PersonCommand::WriteFrom { conversation } => {
            let turned = theirs(conversation) && person.notices.recent != Some(conversation);
            turned.then_some(PersonEvent::ChatTurnedTo { conversation }).into_iter().collect()
        }
        PersonCommand::SpeakIn { group } if !person.groups.contains(&group) => vec![PersonEvent::GroupMet { group }],
        PersonCommand::ChooseQuiet { quiet } if person.notices.quiet != quiet => {
            vec![PersonEvent::QuietChosen { quiet }]
        }
        PersonCommand::ChooseMain { conversation: Some(chat) } if !theirs(chat) => {
            return Err(Rejection::NotFound { what: "chat of yours" });
        }
        PersonCommand::ChooseMain { conversation } if person.notices.main != conversation => {
            vec![PersonEvent::MainChosen { conversation }]
        }
        PersonCommand::PassOn { news, taking_part } => match person.elsewhere(&news, &taking_part) {
            Some(to) => {
                let id = DeliveryId::derive(to.uuid(), &news.id.to_string());
                vec![PersonEvent::NewsPassedOn { to, news: Box::new(Delivery { id, ..*news }) }]
            }
            None => vec![],
        },
        _ => vec![],
    })
}

/// A code is good once, on its channel, until it expires. Whoever guesses is told no more than that.
fn pair(person: &Person, digest: String, identity: Identity, at: Timestamp) -> Result<Vec<PersonEvent>, Rejection> {
    let fits =
        |offer: &&Offer| offer.digest == digest && at < offer.expires_at && identity.channel() == Some(offer.channel);
    if person.offers.iter().find(fits).is_none() {
        return Err(Rejection::NotFound { what: "pairing code" });
    }
    let linked = (!person.identities.contains(&identity)).then_some(PersonEvent::IdentityLinked { identity });
    Ok(std::iter::once(PersonEvent::PairingSpent { digest }).chain(linked).collect())
}

pub(crate) fn evolve(state: &mut Option<Person>, event: &PersonEvent) {
    match (state.as_mut(), event) {
        (_, PersonEvent::PersonEnrolled { person, name, locale }) => {
            let (name, locale) = (name.clone(), locale.clone());
            let (identities, offers, chats, groups) = (vec![], vec![], vec![], vec![]);
            let notices = Notices::default();
            *state = Some(Person { id: *person, name, locale, identities, offers, chats, groups, notices });
        }
        (Some(person), PersonEvent::LocaleChosen { locale }) => person.locale.clone_from(locale),
        (Some(person), PersonEvent::PairingOffered { offer }) => {
            person.offers.push(offer.clone());
            let beyond = person.offers.len().saturating_sub(MAX_OFFERS);
            person.offers.drain(..beyond);
        }
        (Some(person), PersonEvent::PairingSpent { digest }) => person.offers.retain(|offer| offer.digest != *digest),
        (Some(person), PersonEvent::IdentityLinked { identity }) => person.identities.push(identity.clone()),
        (Some(person), PersonEvent::IdentityUnlinked { identity }) => {
            person.identities.retain(|known| known != identity);
            person.chats.retain(|chat| chat.identity != *identity);
            let there = |channel| person.identities.iter().any(|known| known.channel() == Some(channel));
            person.groups.retain(|group| there(group.channel));
        }
        (Some(person), PersonEvent::ChatMet { chat }) => {
            person.notices.recent = Some(chat.conversation);
            person.chats.push(chat.clone());
        }
        (Some(person), PersonEvent::GroupMet { group }) => {
            person.groups.push(*group);
            let beyond = person.groups.len().saturating_sub(MAX_GROUPS);
            person.groups.drain(..beyond);
        }
        (Some(person), PersonEvent::ChatTurnedTo { conversation }) => person.notices.recent = Some(*conversation),
        (Some(person), PersonEvent::QuietChosen { quiet }) => person.notices.quiet.clone_from(quiet),
        (Some(person), PersonEvent::MainChosen { conversation }) => person.notices.main = *conversation,
        (Some(person), PersonEvent::NewsPassedOn { to, news }) => match (news.push, news.approval) {
            (PushReason::NeedsApproval, Some(approval)) => drop(person.notices.asked.insert(approval, *to)),
            (PushReason::Decided, Some(approval)) => drop(person.notices.asked.remove(&approval)),
            _ => {}
        },
        (
            None,
            PersonEvent::LocaleChosen { .. }
            | PersonEvent::IdentityLinked { .. }
            | PersonEvent::IdentityUnlinked { .. }
            | PersonEvent::ChatMet { .. }
            | PersonEvent::ChatTurnedTo { .. }
            | PersonEvent::GroupMet { .. }
            | PersonEvent::QuietChosen { .. }
            | PersonEvent::MainChosen { .. }
            | PersonEvent::NewsPassedOn { .. }
            | PersonEvent::PairingOffered { .. }
            | PersonEvent::PairingSpent { .. },
        ) => {}
    }
}

pub(crate) fn react(person: &Person, event: &PersonEvent) -> Vec<Effect> {
    let tell = |conversation: ConversationId, command| Effect::Tell {
        to: StreamId::Conversation(conversation),
        command: Box::new(Command::Conversation(command)),
    };
    let heed = |chat: &Chat| {
        let quiet = person.notices.quiet.clone();
        tell(chat.conversation, ConversationCommand::KeepQuiet { quiet })
    };
    match event {
        PersonEvent::QuietChosen { .. } => person.chats.iter().map(heed).collect(),
        PersonEvent::ChatMet { chat } if person.notices.quiet.is_some() => vec![heed(chat)],
        PersonEvent::NewsPassedOn { to, news } => {
            vec![tell(*to, ConversationCommand::Deliver { delivery: (**news).clone() })]
        }
        PersonEvent::PersonEnrolled { .. }
        | PersonEvent::LocaleChosen { .. }
        | PersonEvent::PairingOffered { .. }
        | PersonEvent::PairingSpent { .. }
        | PersonEvent::IdentityLinked { .. }
        | PersonEvent::ChatMet { .. }
        | PersonEvent::ChatTurnedTo { .. }
        | PersonEvent::GroupMet { .. }
        | PersonEvent::MainChosen { .. }
        | PersonEvent::IdentityUnlinked { .. } => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Platform;
    use crate::ids::Mint;

    const TELEGRAM: Platform = Platform::named("telegram");

    fn paired(brings: &str, identity: Identity, at: i64) -> (Option<Person>, Result<Vec<PersonEvent>, Rejection>) {
        let now = |millis| Now { at: Timestamp::from_millis(millis), entropy: 1 };
        let person: PersonId = Mint::new(Timestamp::from_millis(1), 7).id();
        let enrol = PersonCommand::Enrol {
            person,
            name: "Ada".into(),
            locale: "en".into(),
            identity: Identity::OsUser { uid: 1 },
        };
        let expires_at = Timestamp::from_millis(1_000);
        let offer = Offer { digest: "d".into(), channel: Channel::Chat(TELEGRAM), expires_at };
        let mut state = None;
        for command in [enrol, PersonCommand::OfferPairing { offer }] {
            for event in decide(state.as_ref(), command, now(1)).expect("fine") {
                evolve(&mut state, &event);
            }
        }
        let pair = PersonCommand::Pair { digest: brings.into(), identity };
        let decided = decide(state.as_ref(), pair, now(at));
        for event in decided.iter().flatten() {
            evolve(&mut state, event);
        }
        (state, decided)
    }

    #[test]
    fn a_code_links_once() {
        let telegram = Identity::on(TELEGRAM, 5);
        let (state, decided) = paired("d", telegram.clone(), 999);
        assert_eq!(decided.expect("linked").len(), 2);
        let person = state.expect("a person");
        assert!(person.identities.contains(&telegram) && person.offers.is_empty());
    }

    #[test]
    fn another_code_another_channel_or_a_late_one_links_nobody() {
        let telegram = Identity::on(TELEGRAM, 5);
        let feishu = Identity::on(Platform::named("feishu"), "o");
        for (brings, identity, at) in [("x", telegram.clone(), 1), ("d", feishu, 1), ("d", telegram, 1_000)] {
            let (state, decided) = paired(brings, identity, at);
            assert_eq!(decided, Err(Rejection::NotFound { what: "pairing code" }));
            assert_eq!(state.expect("a person").offers.len(), 1, "the code is still good for who has it");
        }
    }
}
