//! Identity: by what a person is recognised, on this machine or on a platform.

use serde::{Deserialize, Serialize};

use crate::channel::{Channel, MACHINE, NoName, Platform};

/// A place where a person can be recognised.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub enum Identity {
    /// A user of this machine.
    OsUser {
        /// The numeric user id.
        uid: u32,
    },
    /// A member of a platform.
    Member {
        /// Which platform vouches for them.
        platform: Platform,
        /// What the platform knows them by, for as long as they are there: a number or an id, never a name that can
        /// be given to another.
        user: String,
    },
}

impl Identity {
    /// A member of a platform.
    #[must_use]
    pub fn on(platform: Platform, user: impl ToString) -> Self {
        Identity::Member { platform, user: user.to_string() }
    }

    /// The platform that vouches for it; none for a user of this machine.
    #[must_use]
    pub fn platform(&self) -> Option<Platform> {
        match self {
            Identity::OsUser { .. } => None,
            Identity::Member { platform, .. } => Some(*platform),
        }
    }

    /// The channel that it speaks on; none for a user of this machine.
    #[must_use]
    pub fn channel(&self) -> Option<Channel> {
        self.platform().map(Channel::Chat)
    }

    /// By which the person is found: see [`NameRow`](crate::view::NameRow).
    #[must_use]
    pub fn name(&self) -> String {
        format!("identity:{}", self.handle())
    }

    /// What it is called where people read it: the platform, and who it is there.
    #[must_use]
    pub fn handle(&self) -> String {
        match self {
            Identity::OsUser { uid } => format!("{MACHINE}:{uid}"),
            Identity::Member { platform, user } => format!("{platform}:{user}"),
        }
    }
}

/// An identity in the record. The first ones had a field for each platform's id; they are read for ever.
#[derive(Serialize, Deserialize)]
struct Written {
    on: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "open_id")]
    user: Option<WrittenUser>,
}

/// What counts is written as a number, as it always was.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenUser {
    Number(i64),
    Id(String),
}

impl From<String> for WrittenUser {
    fn from(user: String) -> Self {
        let number = user.parse().ok().filter(|number: &i64| number.to_string() == user);
        number.map_or(WrittenUser::Id(user), WrittenUser::Number)
    }
}

/// The word for a user of this machine.
const OS_USER: &str = "os_user";

impl From<Identity> for Written {
    fn from(identity: Identity) -> Self {
        match identity {
            Identity::OsUser { uid } => Written { on: OS_USER.into(), uid: Some(uid), user: None },
            Identity::Member { platform, user } => {
                Written { on: platform.to_string(), uid: None, user: Some(user.into()) }
            }
        }
    }
}

/// Why something in the record is no identity.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error(transparent)]
    Platform(#[from] NoName),
    #[error("it does not say who it is")]
    Nobody,
}

impl TryFrom<Written> for Identity {
    type Error = Unreadable;

    fn try_from(written: Written) -> Result<Self, Unreadable> {
        match (written.on.as_str(), written.uid, written.user) {
            (OS_USER, Some(uid), None) => Ok(Identity::OsUser { uid }),
            (_, None, Some(WrittenUser::Number(user))) => Ok(Identity::on(written.on.parse()?, user)),
            (_, None, Some(WrittenUser::Id(user))) => Ok(Identity::Member { platform: written.on.parse()?, user }),
            _ => Err(Unreadable::Nobody),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(written: serde_json::Value) -> Result<Identity, serde_json::Error> {
        serde_json::from_value(written)
    }

    #[test]
    fn what_the_first_releases_wrote_is_the_same_person() {
        let telegram = Identity::on(Platform::named("telegram"), 7);
        assert_eq!(read(json!({"on": "telegram", "user": 7})).expect("old"), telegram);
        assert_eq!(serde_json::to_value(&telegram).expect("written"), json!({"on": "telegram", "user": 7}));
        let feishu = Identity::on(Platform::named("feishu"), "ou_1");
        assert_eq!(read(json!({"on": "feishu", "open_id": "ou_1"})).expect("old"), feishu);
        assert_eq!(serde_json::to_value(&feishu).expect("written"), json!({"on": "feishu", "user": "ou_1"}));
        let machine = json!({"on": "os_user", "uid": 1000});
        assert_eq!(serde_json::to_value(read(machine.clone()).expect("old")).expect("written"), machine);
    }

    #[test]
    fn an_id_stays_the_same_letter_by_letter() {
        for user in ["7", "-7", "007", "+7", "99999999999999999999", "1e3", "", "ou_1"] {
            let identity = Identity::on(Platform::named("pigeon"), user);
            let written = serde_json::to_value(&identity).expect("written");
            assert_eq!(read(written).expect("read again"), identity);
        }
    }

    #[test]
    fn who_is_nobody_is_not_let_in() {
        for wrong in [
            json!({"on": "telegram"}),
            json!({"on": "os_user", "user": "7"}),
            json!({"on": "web", "user": "7"}),
            json!({"on": "telegram", "uid": 7}),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
