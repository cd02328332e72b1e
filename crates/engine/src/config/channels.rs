//! Channels: `[channels.telegram]` and `[channels.feishu]` in config.toml. One that is not there is off.
//!
//! A secret stands in the file itself, in a variable of the daemon's environment, or in a file of its own. A platform is
//! asked for what is new, or connected to; one that is to call us instead needs an address to call.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use throughline_channels::feishu::{self, CallbackKeys, Feishu};
use throughline_channels::mask::Mask;
use throughline_channels::telegram::{self, Telegram, Webhook};
use throughline_channels::{Channel as Platform, Channels};
use throughline_model::conversation::Channel;

use super::projects::McpServerSettings;
use super::reach::PublicUrl;
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
    /// Whether the platform calls us, instead of being asked.
    pub webhook: bool,
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
    /// What calls of the platform are known by. With it the platform calls us, and is not connected to.
    pub callback: Option<CallbackSettings>,
    /// Whether groups are heard.
    pub groups: bool,
}

/// `[channels.feishu.callback]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallbackSettings {
    /// The app's verification token.
    pub verification_token: Option<String>,
    /// The variable that has it.
    pub verification_token_env: Option<String>,
    /// The file that has it.
    pub verification_token_file: Option<PathBuf>,
    /// The app's encrypt key, if it has one.
    pub encrypt_key: Option<String>,
    /// The variable that has it.
    pub encrypt_key_env: Option<String>,
    /// The file that has it.
    pub encrypt_key_file: Option<PathBuf>,
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

    fn connect(&self, public: Option<&PublicUrl>) -> Result<Telegram, String> {
        let token = self.token()?;
        let webhook = match (self.webhook, public) {
            (false, _) => None,
            // A Bot API server of one's own takes any address.
            (true, Some(url)) if url.is_secure() || self.api_url.is_some() => {
                Some(Webhook::at(format!("{url}/hooks/telegram"), &token))
            }
            (true, _) => return Err("channels.telegram.webhook needs `public_url` under [web], with https://".into()),
        };
        let address = self.api_url.as_deref().unwrap_or(telegram::ADDRESS);
        Telegram::new(address, &token, webhook).map_err(|error| error.to_string())
    }
}

impl CallbackSettings {
    fn verification_token(&self) -> Result<String, String> {
        let key = "channels.feishu.callback.verification_token";
        let (value, env) = (&self.verification_token, &self.verification_token_env);
        Secret { key, value, env, file: &self.verification_token_file }.read()
    }

    fn encrypt_key(&self) -> Result<Option<String>, String> {
        let key = "channels.feishu.callback.encrypt_key";
        let secret = Secret { key, value: &self.encrypt_key, env: &self.encrypt_key_env, file: &self.encrypt_key_file };
        let said = self.encrypt_key.is_some() || self.encrypt_key_env.is_some() || self.encrypt_key_file.is_some();
        said.then(|| secret.read()).transpose()
    }

    fn keys(&self) -> Result<CallbackKeys, String> {
        Ok(CallbackKeys { verification_token: self.verification_token()?, encrypt_key: self.encrypt_key()? })
    }
}

impl FeishuSettings {
    fn secret(&self) -> Result<String, String> {
        let key = "channels.feishu.app_secret";
        Secret { key, value: &self.app_secret, env: &self.app_secret_env, file: &self.app_secret_file }.read()
    }

    fn connect(&self, public: Option<&PublicUrl>) -> Result<Feishu, String> {
        if self.callback.is_some() && public.is_none() {
            return Err("channels.feishu.callback needs `public_url` under [web]".into());
        }
        let keys = self.callback.as_ref().map(CallbackSettings::keys).transpose()?;
        Feishu::new(self.domain(), &self.app_id, &self.secret()?, keys).map_err(|error| error.to_string())
    }

    fn secrets(&self) -> impl Iterator<Item = String> {
        let keys = self.callback.as_ref().and_then(|known| known.keys().ok());
        let keys = keys.map(|keys| [Some(keys.verification_token), keys.encrypt_key]);
        self.secret().ok().into_iter().chain(keys.into_iter().flatten().flatten())
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

    fn connect(&self, public: Option<&PublicUrl>) -> Result<Channels, String> {
        let mut channels: Vec<Arc<dyn Platform>> = vec![];
        if let Some(settings) = &self.telegram {
            channels.push(Arc::new(settings.connect(public)?));
        }
        if let Some(settings) = &self.feishu {
            channels.push(Arc::new(settings.connect(public)?));
        }
        Ok(Channels::new(channels))
    }

    fn secrets(&self) -> impl Iterator<Item = String> {
        let telegram = self.telegram.as_ref().and_then(|known| known.token().ok());
        let feishu = self.feishu.iter().flat_map(FeishuSettings::secrets);
        telegram.into_iter().chain(feishu)
    }
}

impl Config {
    /// The channels that are set up.
    ///
    /// # Errors
    /// If a secret is missing or cannot be one, or there is no address for a platform that is to call.
    pub fn connect(&self, home: &Home) -> Result<Channels, ConfigError> {
        let connected = self.channels.connect(self.reach.public_url.as_ref());
        connected.map_err(|message| ConfigError::Invalid { path: home.config_file(), message })
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
