//! From `[channels.NAME]` in the settings to an account: what a platform's folder tells the rest of the house of it.
//!
//! **Invariant:** nothing outside of a folder in `platforms` knows the platform. Whoever needs something of one finds it
//! in its [`Manifest`], in the [`Account`] that its settings lead to, or in its [`Abilities`](crate::Abilities).

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use throughline_model::channel::{Channel as Where, Platform};

use crate::channel::Channel;

/// What is known of a platform before there is an account on it.
#[derive(Clone, Copy, Debug)]
pub struct Manifest {
    /// Its name.
    pub platform: Platform,
    /// Other names that people use for it.
    pub aliases: &'static [&'static str],
    /// Reads its table in the settings.
    pub read: fn(Value) -> Result<Arc<dyn Settings>, serde_json::Error>,
}

impl Manifest {
    /// The platform of this name, whose settings are an `S`.
    #[must_use]
    pub const fn of<S: Settings + DeserializeOwned>(platform: Platform) -> Self {
        Self { platform, aliases: &[], read: |table| Ok(Arc::new(serde_json::from_value::<S>(table)?)) }
    }

    /// Also known by these names.
    #[must_use]
    pub const fn also(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// Whether people mean it by this name.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.platform.name() == name || self.aliases.contains(&name)
    }
}

/// What stands under `[channels.NAME]`.
pub trait Settings: fmt::Debug + Send + Sync + 'static {
    /// The account that they are for. `called_at` is where the platform can call us, if it can at all.
    ///
    /// # Errors
    /// What is missing or wrong, in words that name the key.
    fn connect(&self, called_at: Option<&str>) -> Result<Account, String>;
}

/// A channel that is set up, with what the rest of the house has to know of its settings.
#[derive(Clone)]
pub struct Account {
    /// The channel.
    pub channel: Arc<dyn Channel>,
    /// Whether groups are heard.
    pub groups: bool,
    /// What must never be read in a message.
    pub secrets: Vec<String>,
}

impl Account {
    /// One that hears no groups, and has nothing to hide.
    #[must_use]
    pub fn new(channel: impl Channel) -> Self {
        Self { channel: Arc::new(channel), groups: false, secrets: vec![] }
    }

    /// Where it lets people talk.
    #[must_use]
    pub fn place(&self) -> Where {
        Where::Chat(self.platform())
    }

    /// Which platform it is on.
    #[must_use]
    pub fn platform(&self) -> Platform {
        self.channel.manifest().platform
    }
}

/// The channels of this daemon.
#[derive(Clone, Default)]
pub struct Channels(Vec<Account>);

impl Channels {
    /// These channels.
    #[must_use]
    pub fn new(accounts: Vec<Account>) -> Self {
        Self(accounts)
    }

    /// The one through which a conversation takes place, if it is set up.
    #[must_use]
    pub fn of(&self, place: Where) -> Option<&Account> {
        self.0.iter().find(|account| account.place() == place)
    }

    /// The one that people mean by this name, if it is set up.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Account> {
        self.0.iter().find(|account| account.channel.manifest().is_called(name))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Account> {
        self.0.iter()
    }
}

/// Where a secret is: in the settings, in a variable of the daemon's environment, or in a file of its own.
pub struct Secret<'a> {
    /// The whole key that holds it; `_env` and `_file` after it say where else it is.
    pub key: &'a str,
    /// The secret itself.
    pub value: &'a Option<String>,
    /// The variable that has it.
    pub env: &'a Option<String>,
    /// The file that has it.
    pub file: &'a Option<PathBuf>,
}

impl Secret<'_> {
    /// The secret.
    ///
    /// # Errors
    /// If it is said nowhere or twice, or is not where it should be.
    pub fn read(&self) -> Result<String, String> {
        let key = self.key;
        let read = match (self.value, self.env, self.file) {
            (Some(value), None, None) => value.clone(),
            (None, Some(name), None) => {
                std::env::var(name).map_err(|_| format!("{key}_env: the variable {name} is not set for the daemon"))?
            }
            (None, None, Some(path)) => {
                std::fs::read_to_string(path).map_err(|error| format!("{key}_file: {}: {error}", path.display()))?
            }
            _ => return Err(format!("say one of {key}, {key}_env and {key}_file")),
        };
        match read.trim() {
            "" => Err(format!("{key} is empty")),
            secret => Ok(secret.to_owned()),
        }
    }

    /// The secret, if it is said at all.
    ///
    /// # Errors
    /// As [`Secret::read`].
    pub fn read_if_said(&self) -> Result<Option<String>, String> {
        let said = self.value.is_some() || self.env.is_some() || self.file.is_some();
        said.then(|| self.read()).transpose()
    }
}
