//! `[channels.feishu]`, which is Lark too.

use std::path::PathBuf;

use serde::Deserialize;

use super::{CallbackKeys, FEISHU, Feishu, LARK};
use crate::setup::{Account, Secret, Settings};

/// An app of one's own.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AppSettings {
    app_id: String,
    app_secret: Option<String>,
    app_secret_env: Option<String>,
    app_secret_file: Option<PathBuf>,
    /// `feishu` (if left out), `lark`, or an address.
    domain: Option<String>,
    /// What calls of the platform are known by. With it the platform calls us, and is not connected to.
    callback: Option<CallbackSettings>,
    groups: bool,
}

/// `[channels.feishu.callback]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CallbackSettings {
    verification_token: Option<String>,
    verification_token_env: Option<String>,
    verification_token_file: Option<PathBuf>,
    /// The app's encrypt key, if it has one.
    encrypt_key: Option<String>,
    encrypt_key_env: Option<String>,
    encrypt_key_file: Option<PathBuf>,
}

impl CallbackSettings {
    fn keys(&self) -> Result<CallbackKeys, String> {
        let verification_token = Secret {
            key: "channels.feishu.callback.verification_token",
            value: &self.verification_token,
            env: &self.verification_token_env,
            file: &self.verification_token_file,
        };
        let encrypt_key = Secret {
            key: "channels.feishu.callback.encrypt_key",
            value: &self.encrypt_key,
            env: &self.encrypt_key_env,
            file: &self.encrypt_key_file,
        };
        Ok(CallbackKeys { verification_token: verification_token.read()?, encrypt_key: encrypt_key.read_if_said()? })
    }
}

impl AppSettings {
    fn secret(&self) -> Result<String, String> {
        let key = "channels.feishu.app_secret";
        Secret { key, value: &self.app_secret, env: &self.app_secret_env, file: &self.app_secret_file }.read()
    }

    fn domain(&self) -> &str {
        match self.domain.as_deref() {
            None | Some("feishu") => FEISHU,
            Some("lark") => LARK,
            Some(address) => address,
        }
    }
}

impl Settings for AppSettings {
    fn connect(&self, called_at: Option<&str>) -> Result<Account, String> {
        if self.callback.is_some() && called_at.is_none() {
            return Err("channels.feishu.callback needs `public_url` under [web]".into());
        }
        let secret = self.secret()?;
        let keys = self.callback.as_ref().map(CallbackSettings::keys).transpose()?;
        let mut secrets = vec![secret.clone()];
        if let Some(keys) = &keys {
            secrets.push(keys.verification_token.clone());
            secrets.extend(keys.encrypt_key.clone());
        }
        let channel = Feishu::new(self.domain(), &self.app_id, &secret, keys).map_err(|error| error.to_string())?;
        Ok(Account { groups: self.groups, secrets, ..Account::new(channel) })
    }
}
