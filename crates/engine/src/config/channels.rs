//! Channels: `[channels.telegram]` and `[channels.feishu]` in config.toml. One that is not there is off.
//!
//! A secret stands in the file itself, in a variable of the daemon's environment, or in a file of its own.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use throughline_channels::feishu::{self, Feishu};
use throughline_channels::mask::Mask;
use throughline_channels::telegram::{self, Telegram};
use throughline_channels::{Channel as Platform, Channels};
use throughline_model::conversation::Channel;

use super::projects::McpServerSettings;
use super::{Config, ConfigError};
use crate::home::Home;

/// The channels that are set up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelSettings {
    /// A Telegram bot.
    pub telegram: Option<TelegramSettings>,
    /// A Feishu or Lark app.
    pub feishu: Option<FeishuSettings>,
}

/// `[channels.telegram]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TelegramSettings {
    /// The bot's token.
    pub token: Option<String>,
    /// The variable that has it.
    pub token_env: Option<String>,
    /// The file that has it.
    pub token_file: Option<PathBuf>,
    /// Where the Bot API is, for one of your own.
    pub api_url: Option<String>,
    /// Whether groups are heard.
    pub groups: bool,
}

/// `[channels.feishu]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeishuSettings {
    /// The app's id.
    pub app_id: String,
    /// Its secret.
    pub app_secret: Option<String>,
    /// The variable that has it.
    pub app_secret_env: Option<String>,
    /// The file that has it.
    pub app_secret_file: Option<PathBuf>,
    /// `feishu` (if left out), `lark`, or an address.
    pub domain: Option<String>,
    /// Whether groups are heard.
    pub groups: bool,
}

/// Where a secret is.
struct Secret<'a> {
    /// The key that holds it; `_env` and `_file` after it say where else it is.
    key: &'a str,
    value: &'a Option<String>,
    env: &'a Option<String>,
    file: &'a Option<PathBuf>,
}

impl Secret<'_> {
    fn read(&self) -> Result<String, String> {
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
}

impl TelegramSettings {
    fn token(&self) -> Result<String, String> {
        let key = "channels.telegram.token";
        Secret { key, value: &self.token, env: &self.token_env, file: &self.token_file }.read()
    }
}

impl FeishuSettings {
    fn secret(&self) -> Result<String, String> {
        let key = "channels.feishu.app_secret";
        Secret { key, value: &self.app_secret, env: &self.app_secret_env, file: &self.app_secret_file }.read()
    }

    fn domain(&self) -> &str {
        match self.domain.as_deref() {
            None | Some("feishu") => feishu::FEISHU,
            Some("lark") => feishu::LARK,
            Some(address) => address,
        }
    }
}

impl ChannelSettings {
    /// Whether groups are heard there.
    #[must_use]
    pub fn groups(&self, channel: Channel) -> bool {
        match channel {
            Channel::Telegram => self.telegram.as_ref().is_some_and(|known| known.groups),
            Channel::Feishu => self.feishu.as_ref().is_some_and(|known| known.groups),
            Channel::Web | Channel::Cli | Channel::Ide | Channel::Api => false,
        }
    }

    fn connect(&self) -> Result<Channels, String> {
        let mut channels: Vec<Arc<dyn Platform>> = vec![];
        if let Some(settings) = &self.telegram {
            let address = settings.api_url.as_deref().unwrap_or(telegram::ADDRESS);
            let bot = Telegram::new(address, &settings.token()?, None).map_err(|error| error.to_string())?;
            channels.push(Arc::new(bot));
        }
        if let Some(settings) = &self.feishu {
            let app = Feishu::new(settings.domain(), &settings.app_id, &settings.secret()?, None);
            channels.push(Arc::new(app.map_err(|error| error.to_string())?));
        }
        Ok(Channels::new(channels))
    }

    fn secrets(&self) -> impl Iterator<Item = String> {
        let telegram = self.telegram.as_ref().and_then(|known| known.token().ok());
        let feishu = self.feishu.as_ref().and_then(|known| known.secret().ok());
        telegram.into_iter().chain(feishu)
    }
}

impl Config {
    /// The channels that are set up.
    ///
    /// # Errors
    /// If a secret is missing or cannot be one.
    pub fn connect(&self, home: &Home) -> Result<Channels, ConfigError> {
        self.channels.connect().map_err(|message| ConfigError::Invalid { path: home.config_file(), message })
    }

    /// What must never reach a chat: the secrets of channels, and the values of variables and headers that are secret
    /// by their name.
    pub(crate) fn mask(&self) -> Mask {
        let secret = |name: &str| {
            let name = name.to_ascii_uppercase();
            ["KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CREDENTIAL", "COOKIE"].iter().any(|word| name.contains(word))
        };
        let servers = self.projects.values().flat_map(|project| project.mcp_servers.values());
        let tables = servers.map(|server| match server {
            McpServerSettings::Process { env, .. } => env,
            McpServerSettings::Server { headers, .. } => headers,
        });
        let tables = tables.chain(self.projects.values().map(|project| &project.env)).chain([&self.env]);
        let values = tables.flatten().filter(|(name, _)| secret(name)).map(|(_, value)| value.clone());
        Mask::new(values.chain(self.channels.secrets()))
    }
}
