//! Channel: where a conversation takes place. Ours are known here; a chat platform is known by its name alone.
//!
//! *Invariant:* the model knows no platform. What a platform can do stands in its folder in `channels`; a record that
//! names one which this build does not have still decodes, and is shown by that name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tinystr::TinyAsciiStr;

/// Where a conversation takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Channel {
    /// The web page.
    Web,
    /// A terminal.
    Cli,
    /// An IDE's thread.
    Ide,
    /// The HTTP API.
    Api,
    /// A chat on a platform.
    Chat(Platform),
}

/// The words for the channels that are ours, which no platform can have as its name.
const OURS: [(&str, Channel); 4] =
    [("web", Channel::Web), ("cli", Channel::Cli), ("ide", Channel::Ide), ("api", Channel::Api)];
/// What users of the daemon's machine are listed under, where a platform's name would stand.
pub const MACHINE: &str = "os";
/// The longest name of a platform.
const MAX_NAME: usize = 16;

impl Channel {
    /// Whether messages have to be pushed there. The others read the event stream, which is their delivery.
    #[must_use]
    pub fn pushes(self) -> bool {
        matches!(self, Channel::Chat(_))
    }

    /// The word for it.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Channel::Web => "web",
            Channel::Cli => "cli",
            Channel::Ide => "ide",
            Channel::Api => "api",
            Channel::Chat(platform) => platform.name(),
        }
    }
}

impl From<Channel> for String {
    fn from(channel: Channel) -> Self {
        channel.word().to_owned()
    }
}

impl TryFrom<String> for Channel {
    type Error = NoName;

    fn try_from(word: String) -> Result<Self, NoName> {
        let ours = OURS.into_iter().find(|(known, _)| *known == word);
        ours.map_or_else(|| word.parse().map(Channel::Chat), |(_, channel)| Ok(channel))
    }
}

/// A platform that people chat on, by its name: in events, settings, commands and addresses, and so for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Platform(TinyAsciiStr<MAX_NAME>);

/// Why something is not the name of a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a platform's name has 1 to {MAX_NAME} small letters and digits, begins with a letter, and is no word of ours")]
pub struct NoName;

impl Platform {
    /// The platform of this name.
    ///
    /// # Panics
    /// If it cannot be a name; for a constant that is when it is compiled.
    #[must_use]
    pub const fn named(name: &str) -> Self {
        match TinyAsciiStr::try_from_str(name) {
            Ok(name) if is_plain(name.as_utf8()) => Self(name),
            Ok(_) | Err(_) => panic!("this cannot be the name of a platform"),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.as_str()
    }

    /// Its name as people write it.
    #[must_use]
    pub fn title(self) -> String {
        self.0.to_ascii_titlecase().to_string()
    }
}

impl FromStr for Platform {
    type Err = NoName;

    fn from_str(name: &str) -> Result<Self, NoName> {
        let ours = name == MACHINE || OURS.iter().any(|(word, _)| *word == name);
        let name = TinyAsciiStr::try_from_str(name).map_err(|_| NoName)?;
        if ours || !is_plain(name.as_utf8()) { Err(NoName) } else { Ok(Self(name)) }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether it is a letter, and then letters and digits. A loop, because constants know no iterators.
const fn is_plain(name: &[u8]) -> bool {
    let mut at = 0;
    while at < name.len() {
        if !name[at].is_ascii_lowercase() && (at == 0 || !name[at].is_ascii_digit()) {
            return false;
        }
        at += 1;
    }
    at > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_written_as_its_word() {
        for word in ["web", "cli", "ide", "api", "telegram", "never5heard"] {
            let channel: Channel = serde_json::from_value(word.into()).expect("a channel");
            assert_eq!((channel.word(), channel.pushes()), (word, !OURS.iter().any(|(ours, _)| *ours == word)));
            assert_eq!(serde_json::to_value(channel).expect("written"), word);
        }
    }

    #[test]
    fn what_is_no_name_is_no_platform() {
        for wrong in ["", "os", "web", "Telegram", "a b", "a:b", "a/b", "7up", "微信", "seventeen_letters", "a\0"] {
            assert_eq!(wrong.parse::<Platform>(), Err(NoName), "{wrong:?}");
        }
        assert_eq!(Platform::named("feishu").title(), "Feishu");
    }
}
