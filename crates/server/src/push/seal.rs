//! A message that only one browser can read (RFC 8291, one record of `aes128gcm`), and the sender's signature that its push
//! service asks for (VAPID, RFC 8292). Pure but for randomness.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::error::Unspecified;
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

/// The longest message: push services take 4,096 bytes, of which the header and the tag are some.
pub(crate) const MAX_BYTES: usize = 3_000;
/// An uncompressed point of P-256.
const POINT_BYTES: usize = 65;
const AUTH_BYTES: usize = 16;
/// How long a signature is good for.
const SIGNED_SECS: i64 = 12 * 60 * 60;

/// A browser's half of the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reader {
    public: Vec<u8>,
    auth: Vec<u8>,
}

impl Reader {
    /// As the browser writes them; none if they are not keys.
    pub(crate) fn parse(p256dh: &str, auth: &str) -> Option<Self> {
        let decode = |text: &str| BASE64.decode(text.trim_end_matches('=')).ok();
        let (public, auth) = (decode(p256dh)?, decode(auth)?);
        let point = public.len() == POINT_BYTES && public.first() == Some(&4);
        (point && auth.len() == AUTH_BYTES).then_some(Self { public, auth })
    }
}

/// The body to send: only the reader's browser makes the message of it.
pub(crate) fn seal(reader: &Reader, message: &[u8]) -> Result<Vec<u8>, Unspecified> {
    let random = SystemRandom::new();
    let mut salt = [0; 16];
    random.fill(&mut salt)?;
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &random)?;
    let own_public = own.compute_public_key()?;
    let theirs = UnparsedPublicKey::new(&ECDH_P256, &reader.public);
    let (key, nonce) = agree_ephemeral(own, &theirs, |shared| keys(shared, reader, own_public.as_ref(), &salt))??;
    // The mark of the last record.
    let mut record = [message, &[2]].concat();
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record)?;
    let size = 4096_u32.to_be_bytes();
    let id_length = [u8::try_from(own_public.as_ref().len()).map_err(|_| Unspecified)?];
    Ok([&salt, size.as_slice(), &id_length, own_public.as_ref(), &record].concat())
}

fn keys(shared: &[u8], reader: &Reader, own: &[u8], salt: &[u8]) -> Result<([u8; 16], [u8; 12]), Unspecified> {
    let first = Salt::new(HKDF_SHA256, &reader.auth).extract(shared);
    let secret: [u8; 32] = expand(&first, &[b"WebPush: info\0", &reader.public, own])?;
    let second = Salt::new(HKDF_SHA256, salt).extract(&secret);
    Ok((expand(&second, &[b"Content-Encoding: aes128gcm\0"])?, expand(&second, &[b"Content-Encoding: nonce\0"])?))
}

fn expand<const N: usize>(key: &Prk, info: &[&[u8]]) -> Result<[u8; N], Unspecified> {
    struct Length(usize);
    impl KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let mut out = [0; N];
    key.expand(info, Length(N))?.fill(&mut out)?;
    Ok(out)
}

/// Who sends: the same key for all browsers of this home, for ever.
pub(crate) struct Sender {
    key: EcdsaKeyPair,
    random: SystemRandom,
}

impl Sender {
    /// A new key, to be kept.
    pub(crate) fn generate() -> Result<Vec<u8>, Unspecified> {
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())?;
        Ok(key.as_ref().to_vec())
    }

    pub(crate) fn load(kept: &[u8]) -> Result<Self, ring::error::KeyRejected> {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, kept, &random)?;
        Ok(Self { key, random })
    }

    /// What a browser is told to let in.
    pub(crate) fn public(&self) -> String {
        BASE64.encode(self.key.public_key().as_ref())
    }

    /// The `Authorization` header for a push service, at this second.
    pub(crate) fn authorization(&self, service: &str, contact: &str, now: i64) -> Result<String, Unspecified> {
        let head = BASE64.encode(json!({"typ": "JWT", "alg": "ES256"}).to_string());
        let claims = json!({"aud": service, "exp": now + SIGNED_SECS, "sub": contact}).to_string();
        let signed = format!("{head}.{}", BASE64.encode(claims));
        let signature = self.key.sign(&self.random, signed.as_bytes())?;
        Ok(format!("vapid t={signed}.{}, k={}", BASE64.encode(signature.as_ref()), self.public()))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey as Verifier};

    /// A browser that can read one message.
    pub(crate) struct Browser {
        private: EphemeralPrivateKey,
        pub(crate) reader: Reader,
    }

    impl Browser {
        pub(crate) fn new() -> Self {
            let random = SystemRandom::new();
            let private = EphemeralPrivateKey::generate(&ECDH_P256, &random).unwrap();
            let public = private.compute_public_key().unwrap().as_ref().to_vec();
            let mut auth = vec![0; AUTH_BYTES];
            random.fill(&mut auth).unwrap();
            Self { private, reader: Reader { public, auth } }
        }

        pub(crate) fn open(self, body: &[u8]) -> Vec<u8> {
            let (salt, rest) = body.split_at(16);
            assert_eq!(rest[..5], [0, 0, 16, 0, 65], "the size of a record, and of the sender's key");
            let (sender, sealed) = rest[5..].split_at(POINT_BYTES);
            let theirs = UnparsedPublicKey::new(&ECDH_P256, sender);
            let (key, nonce) =
                agree_ephemeral(self.private, &theirs, |shared| keys(shared, &self.reader, sender, salt))
                    .unwrap()
                    .unwrap();
            let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).unwrap());
            let mut sealed = sealed.to_vec();
            let opened =
                key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed).unwrap().to_vec();
            assert_eq!(opened.last(), Some(&2), "the last record");
            opened[..opened.len() - 1].to_vec()
        }
    }

    #[test]
    fn only_its_reader_opens_a_message() {
        let (browser, other) = (Browser::new(), Browser::new());
        let body = seal(&browser.reader, b"needs you").unwrap();
        assert!(body.len() < 4096);
        assert!(!body.windows(9).any(|part| part == b"needs you"));
        assert_ne!(body, seal(&browser.reader, b"needs you").unwrap(), "each has keys of its own");
        assert_eq!(browser.open(&body), b"needs you");
        assert!(std::panic::catch_unwind(move || other.open(&body)).is_err());
    }

    /// The example of RFC 8291, section 5 and appendix A: what the two sides derive is what it says.
    #[test]
    fn the_keys_are_those_of_the_standard() {
        let decode = |text: &str| BASE64.decode(text).unwrap();
        let shared = decode("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let reader = Reader::parse(
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            "BTBZMqHH6r4Tts7J_aSIgg",
        )
        .unwrap();
        let sender = decode("BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8");
        let salt = decode("DGv6ra1nlYgDCS1FRnbzlw");
        let (key, nonce) = keys(&shared, &reader, &sender, &salt).unwrap();
        assert_eq!(BASE64.encode(key), "oIhVW04MRdy2XN9CiKLxTg");
        assert_eq!(BASE64.encode(nonce), "4h_95klXJ5E_qnoN");
    }

    #[test]
    fn keys_that_are_none_are_refused() {
        for (public, auth) in [("", ""), ("AAAA", "BTBZMqHH6r4Tts7J_aSIgg"), ("!", "!")] {
            assert_eq!(Reader::parse(public, auth), None);
        }
    }

    #[test]
    fn a_push_service_can_check_who_sends() {
        let sender = Sender::load(&Sender::generate().unwrap()).unwrap();
        let header = sender.authorization("https://push.example", "https://desk.example", 1_000).unwrap();
        let (token, key) = header.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        assert_eq!(key, sender.public());
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let verifier = Verifier::new(&ECDSA_P256_SHA256_FIXED, BASE64.decode(key).unwrap());
        verifier.verify(signed.as_bytes(), &BASE64.decode(signature).unwrap()).unwrap();
        let claims: serde_json::Value =
            serde_json::from_slice(&BASE64.decode(signed.split_once('.').unwrap().1).unwrap()).unwrap();
        assert_eq!(claims, json!({"aud": "https://push.example", "exp": 44_200, "sub": "https://desk.example"}));
    }
}
