//! Event callbacks: the other way in, for who has a public address. Signed, and encrypted where a key is set.

use aes::cipher::block_padding::Pkcs7;
use aes::cipher::{BlockModeDecrypt as _, KeyIvInit as _};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::same;

/// What is agreed with the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackKeys {
    /// What unencrypted events carry.
    pub verification_token: String,
    /// What encrypted ones are encrypted with, and all are signed with.
    pub encrypt_key: Option<String>,
}

/// The headers that a signature is made of.
#[derive(Clone, Copy, Debug)]
pub struct Signed<'a> {
    /// `X-Lark-Request-Timestamp`.
    pub timestamp: &'a str,
    /// `X-Lark-Request-Nonce`.
    pub nonce: &'a str,
    /// `X-Lark-Signature`.
    pub signature: &'a str,
}

/// What a callback turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Called {
    /// The platform asks whether we are there; this is what it wants to hear.
    Challenge(String),
    /// An event, as JSON.
    Event(String),
}

/// Why a callback is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Disbelief {
    /// The signature is not the platform's.
    #[error("the signature does not fit")]
    Signature,
    /// It was signed too long ago, or too far ahead.
    #[error("it was signed at another time")]
    Time,
    /// The token is not the one that was agreed.
    #[error("the verification token does not fit")]
    Token,
    /// It cannot be read.
    #[error("it cannot be read")]
    Unreadable,
}

/// How far the two clocks may be apart.
const SKEW_SECS: u64 = 300;

impl CallbackKeys {
    /// Reads a callback that came at this time, in seconds.
    ///
    /// # Errors
    /// If it is not the platform's.
    pub fn read(&self, body: &str, signed: Option<Signed<'_>>, now_secs: u64) -> Result<Called, Disbelief> {
        let outer: Value = serde_json::from_str(body).map_err(|_| Disbelief::Unreadable)?;
        let plain = match (&self.encrypt_key, outer.get("encrypt").and_then(Value::as_str)) {
            (Some(key), Some(sealed)) => open(key, sealed).ok_or(Disbelief::Unreadable)?,
            (None, None) => body.to_owned(),
            // With a key set, nothing unencrypted is believed.
            (Some(_), None) | (None, Some(_)) => return Err(Disbelief::Unreadable),
        };
        let inner: Inner = serde_json::from_str(&plain).map_err(|_| Disbelief::Unreadable)?;
        let token = inner.token.or(inner.header.and_then(|header| header.token)).unwrap_or_default();
        if !same(token.as_bytes(), self.verification_token.as_bytes()) {
            return Err(Disbelief::Token);
        }
        if inner.kind.as_deref() == Some("url_verification") {
            return Ok(Called::Challenge(inner.challenge.unwrap_or_default()));
        }
        if let Some(key) = &self.encrypt_key {
            verify(key, body, signed.ok_or(Disbelief::Signature)?, now_secs)?;
        }
        Ok(Called::Event(plain))
    }
}

#[derive(Deserialize)]
struct Inner {
    #[serde(rename = "type")]
    kind: Option<String>,
    challenge: Option<String>,
    token: Option<String>,
    header: Option<InnerHeader>,
}

#[derive(Deserialize)]
struct InnerHeader {
    token: Option<String>,
}

fn verify(key: &str, body: &str, signed: Signed<'_>, now_secs: u64) -> Result<(), Disbelief> {
    let mut hash = Sha256::new();
    for part in [signed.timestamp, signed.nonce, key, body] {
        hash.update(part.as_bytes());
    }
    if !same(hex(&hash.finalize()).as_bytes(), signed.signature.as_bytes()) {
        return Err(Disbelief::Signature);
    }
    let at: u64 = signed.timestamp.parse().map_err(|_| Disbelief::Time)?;
    if at.abs_diff(now_secs) > SKEW_SECS { Err(Disbelief::Time) } else { Ok(()) }
}

fn open(key: &str, sealed: &str) -> Option<String> {
    let bytes = BASE64_STANDARD.decode(sealed).ok()?;
    let (iv, body) = bytes.split_at_checked(16)?;
    let key = Sha256::digest(key.as_bytes());
    let cipher = cbc::Decryptor::<aes::Aes256>::new_from_slices(&key, iv).ok()?;
    String::from_utf8(cipher.decrypt_padded_vec::<Pkcs7>(body).ok()?).ok()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes::cipher::BlockModeEncrypt as _;

    fn seal(key: &str, text: &str) -> String {
        let (key, iv) = (Sha256::digest(key.as_bytes()), [7u8; 16]);
        let cipher = cbc::Encryptor::<aes::Aes256>::new_from_slices(&key, &iv).unwrap();
        let body = cipher.encrypt_padded_vec::<Pkcs7>(text.as_bytes());
        let sealed = BASE64_STANDARD.encode([&iv[..], &body].concat());
        serde_json::json!({ "encrypt": sealed }).to_string()
    }

    fn sign(key: &str, body: &str, timestamp: &str) -> String {
        hex(&Sha256::digest(format!("{timestamp}n{key}{body}").as_bytes()))
    }

    const EVENT: &str = r#"{"schema":"2.0","header":{"token":"v","event_id":"e"},"event":{}}"#;

    #[test]
    fn plain_events_need_the_token() {
        let keys = CallbackKeys { verification_token: "v".into(), encrypt_key: None };
        assert_eq!(keys.read(EVENT, None, 0), Ok(Called::Event(EVENT.into())));
        let wrong = EVENT.replace(r#""v""#, r#""w""#);
        assert_eq!(keys.read(&wrong, None, 0), Err(Disbelief::Token));
        let challenge = r#"{"type":"url_verification","token":"v","challenge":"c"}"#;
        assert_eq!(keys.read(challenge, None, 0), Ok(Called::Challenge("c".into())));
    }

    #[test]
    fn encrypted_events_need_the_signature_and_the_time() {
        let keys = CallbackKeys { verification_token: "v".into(), encrypt_key: Some("k".into()) };
        let body = seal("k", EVENT);
        let signature = sign("k", &body, "1000");
        let signed = Signed { timestamp: "1000", nonce: "n", signature: &signature };
        assert_eq!(keys.read(&body, Some(signed), 1010), Ok(Called::Event(EVENT.into())));
        assert_eq!(keys.read(&body, Some(signed), 9000), Err(Disbelief::Time));
        assert_eq!(keys.read(&body, None, 1010), Err(Disbelief::Signature));
        let forged = Signed { nonce: "m", ..signed };
        assert_eq!(keys.read(&body, Some(forged), 1010), Err(Disbelief::Signature));
        assert_eq!(keys.read(EVENT, Some(signed), 1010), Err(Disbelief::Unreadable));
        assert_eq!(keys.read(&seal("other", EVENT), Some(signed), 1010), Err(Disbelief::Unreadable));
    }
}
