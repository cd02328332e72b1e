//! Channels: `[channels.NAME]` in config.toml, for each platform that has a folder in `throughline_channels`. One that is
//! not there is off. What a table says, only its platform can read.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use throughline_channels::mask::Mask;
use throughline_channels::{Channels, Settings, platforms};
use throughline_model::channel::Platform;

use super::projects::McpServerSettings;
use super::reach::PublicUrl;
use super::{Config, ConfigError};
use crate::home::Home;

/// The channels that are set up.
#[derive(Clone, Debug, Default)]
pub struct ChannelSettings(BTreeMap<Platform, Arc<dyn Settings>>);

impl<'de> Deserialize<'de> for ChannelSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tables = BTreeMap::<String, Value>::deserialize(deserializer)?;
        let unknown =
            |name: &str| D::Error::custom(format!("there is no channel `{name}`; there are {}", platforms::names()));
        let read = tables.into_iter().map(|(name, table)| {
            let manifest = platforms::ALL.iter().find(|known| known.platform.name() == name);
            let manifest = manifest.ok_or_else(|| unknown(&name))?;
            let settings = (manifest.read)(table);
            let settings = settings.map_err(|error| D::Error::custom(format!("channels.{name}: {error}")))?;
            Ok((manifest.platform, settings))
        });
        read.collect::<Result<_, _>>().map(Self)
    }
}

impl ChannelSettings {
    fn connect(&self, public: Option<&PublicUrl>) -> Result<Channels, String> {
        let accounts = self.0.iter().map(|(platform, settings)| {
            let called_at = public.map(|url| format!("{url}/hooks/{platform}"));
            settings.connect(called_at.as_deref())
        });
        accounts.collect::<Result<_, _>>().map(Channels::new)
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
    pub(crate) fn mask(&self, channels: &Channels) -> Mask {
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
        Mask::new(values.chain(channels.iter().flat_map(|account| account.secrets.clone())))
    }
}
