//! Event callbacks: how the platform calls who has a public address.

use std::io;
use std::time::Duration;

use aes::cipher::block_padding::Pkcs7;
use aes::cipher::{BlockModeEncrypt as _, KeyIvInit as _};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::post::{Answered, post};

/// How long until a call is made again that was not taken.
pub(super) const AGAIN: Duration = Duration::from_millis(100);

/// A call that the platform makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// `X-Lark-Request-Timestamp`, in seconds.
    pub timestamp: String,
    /// `X-Lark-Request-Nonce`.
    pub nonce: String,
    /// `X-Lark-Signature`; empty without a key.
    pub signature: String,
    /// The body.
    pub body: String,
}

impl Callback {
    /// A call with this payload at this time; with a key it is encrypted and signed.
    ///
    /// # Panics
    /// Never: the key and the block have the sizes that the cipher wants.
    #[must_use]
    pub fn new(payload: &str, encrypt_key: Option<&str>, timestamp_secs: u64) -> Self {
        let (timestamp, nonce) = (timestamp_secs.to_string(), "1234567890".to_owned());
        let Some(key) = encrypt_key else {
            return Self { timestamp, nonce, signature: String::new(), body: payload.to_owned() };
        };
        let body = json!({ "encrypt": sealed(payload, key) }).to_string();
        let signature = hex::encode(Sha256::digest(format!("{timestamp}{nonce}{key}{body}").as_bytes()));
        Self { timestamp, nonce, signature, body }
    }

    pub(super) async fn post_to(&self, url: &str) -> io::Result<Answered> {
        let headers = [
            ("x-lark-request-timestamp", self.timestamp.as_str()),
            ("x-lark-request-nonce", &self.nonce),
            ("x-lark-signature", &self.signature),
        ];
        post(url, None, &headers, &self.body).await
    }
}

/// AES-256-CBC with the key's hash, the first block in front, as Base64.
fn sealed(payload: &str, key: &str) -> String {
    let (key, iv) = (Sha256::digest(key.as_bytes()), [0x5a_u8; 16]);
    let cipher = cbc::Encryptor::<aes::Aes256>::new_from_slices(&key, &iv).expect("the right sizes");
    let body = cipher.encrypt_padded_vec::<Pkcs7>(payload.as_bytes());
    BASE64_STANDARD.encode([&iv[..], &body].concat())
}
