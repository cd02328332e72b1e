//! `[channels.telegram]`.

use std::path::PathBuf;

use serde::Deserialize;

use super::{ADDRESS, Telegram, Webhook};
use crate::setup::{Account, Secret, Settings};

/// A bot of one's own.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct BotSettings {
    token: Option<String>,
    token_env: Option<String>,
    token_file: Option<PathBuf>,
    /// Where the Bot API is, for one of your own.
    api_url: Option<String>,
    /// Whether the platform calls us, instead of being asked.
    webhook: bool,
    groups: bool,
}

impl BotSettings {
    fn token(&self) -> Result<String, String> {
        let key = "channels.telegram.token";
        Secret { key, value: &self.token, env: &self.token_env, file: &self.token_file }.read()
    }
}

impl Settings for BotSettings {
    fn connect(&self, called_at: Option<&str>) -> Result<Account, String> {
        let token = self.token()?;
        let webhook = match (self.webhook, called_at) {
            (false, _) => None,
            // A Bot API server of one's own takes any address.
            (true, Some(url)) if url.starts_with("https://") || self.api_url.is_some() => {
                Some(Webhook::at(url.to_owned(), &token))
            }
            (true, _) => return Err("channels.telegram.webhook needs `public_url` under [web], with https://".into()),
        };
        let address = self.api_url.as_deref().unwrap_or(ADDRESS);
        let channel = Telegram::new(address, &token, webhook).map_err(|error| error.to_string())?;
        Ok(Account { groups: self.groups, secrets: vec![token], ..Account::new(channel) })
    }
}
