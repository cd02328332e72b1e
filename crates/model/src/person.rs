//! Person: who works, with linked identities on channels.

use serde::{Deserialize, Serialize};

use crate::effect::Effect;
use crate::ids::PersonId;
use crate::rejection::Rejection;

/// A place where a person can be recognised.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "snake_case")]
pub enum Identity {
    /// A user of this machine.
    OsUser {
        /// The numeric user id.
        uid: u32,
    },
    /// A Telegram user.
    Telegram {
        /// The numeric user id.
        user: i64,
    },
    /// A Feishu or Lark user.
    Feishu {
        /// The app's id for the user.
        open_id: String,
    },
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
    /// An identity was linked.
    IdentityLinked {
        /// Which.
        identity: Identity,
    },
    /// An identity was unlinked.
    IdentityUnlinked {
        /// Which.
        identity: Identity,
    },
}

pub(crate) fn decide(state: Option<&Person>, command: PersonCommand) -> Result<Vec<PersonEvent>, Rejection> {
    match (state, command) {
        (None, PersonCommand::Enrol { person, name, locale, identity }) => {
            Ok(vec![PersonEvent::PersonEnrolled { person, name, locale }, PersonEvent::IdentityLinked { identity }])
        }
        (Some(_), PersonCommand::Enrol { .. }) => Ok(vec![]),
        (None, PersonCommand::ChooseLocale { .. } | PersonCommand::Link { .. } | PersonCommand::Unlink { .. }) => {
            Err(Rejection::NotFound { what: "person" })
        }
        (Some(person), PersonCommand::ChooseLocale { locale }) => Ok(match person.locale == locale {
            true => vec![],
            false => vec![PersonEvent::LocaleChosen { locale }],
        }),
        (Some(person), PersonCommand::Link { identity }) => Ok(match person.identities.contains(&identity) {
            true => vec![],
            false => vec![PersonEvent::IdentityLinked { identity }],
        }),
        (Some(person), PersonCommand::Unlink { identity }) => Ok(match person.identities.contains(&identity) {
            true => vec![PersonEvent::IdentityUnlinked { identity }],
            false => vec![],
        }),
    }
}

pub(crate) fn evolve(state: &mut Option<Person>, event: &PersonEvent) {
    match (state.as_mut(), event) {
        (_, PersonEvent::PersonEnrolled { person, name, locale }) => {
            *state = Some(Person { id: *person, name: name.clone(), locale: locale.clone(), identities: vec![] });
        }
        (Some(person), PersonEvent::LocaleChosen { locale }) => person.locale.clone_from(locale),
        (Some(person), PersonEvent::IdentityLinked { identity }) => person.identities.push(identity.clone()),
        (Some(person), PersonEvent::IdentityUnlinked { identity }) => {
            person.identities.retain(|known| known != identity)
        }
        (
            None,
            PersonEvent::LocaleChosen { .. }
            | PersonEvent::IdentityLinked { .. }
            | PersonEvent::IdentityUnlinked { .. },
        ) => {}
    }
}

pub(crate) fn react(_: &Person, event: &PersonEvent) -> Vec<Effect> {
    match event {
        PersonEvent::PersonEnrolled { .. }
        | PersonEvent::LocaleChosen { .. }
        | PersonEvent::IdentityLinked { .. }
        | PersonEvent::IdentityUnlinked { .. } => {
            vec![]
        }
    }
}
