//! Pairing: a one-time code from an authenticated place links whoever brings it on a channel; revoking unlinks.
//!
//! **Invariant:** of a code only the digest is kept. Who a sender is, is looked up in the store for every update, so
//! that a revoked identity is nobody from then on.

use std::time::Duration;

use throughline_channels::Account;
use throughline_model::channel::Channel;
use throughline_model::command::Command;
use throughline_model::identity::Identity;
use throughline_model::ids::PersonId;
use throughline_model::person::{Offer, PersonCommand};
use throughline_model::rejection::Rejection;
use throughline_model::stream::StreamId;
use throughline_model::time::Timestamp;
use throughline_store::port::{Answer, Ask};

use crate::engine::Engine;
use crate::error::EngineError;

/// How long a code works.
const CODE_LIFE: Duration = Duration::from_secs(10 * 60);
/// Letters that nobody mistakes for others, and how many of them: 50 bits.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CODE_LETTERS: usize = 10;

/// A code that was given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// Where.
    pub channel: Channel,
    /// What is to be brought.
    pub code: String,
    /// Until when it works.
    pub expires_at: Timestamp,
    /// An address that brings it, where the platform has one.
    pub link: Option<String>,
}

impl Engine {
    /// The channels that are set up.
    pub fn channels(&self) -> impl Iterator<Item = Channel> {
        self.inner.channels.iter().map(Account::place)
    }

    /// Gives out a code that links whoever brings it on the channel of this name to the person.
    ///
    /// # Errors
    /// If the channel is not set up, or the store fails.
    pub async fn offer_pairing(&self, person: PersonId, channel: &str) -> Result<Pairing, EngineError> {
        let named = self.inner.channels.named(channel);
        let account = named.ok_or_else(|| EngineError::NoChannel { name: channel.to_owned() })?;
        let channel = account.place();
        let now = self.inner.core.clock.now();
        let mut entropy = now.entropy;
        let mut letters = || {
            let letter = LETTERS[(entropy % 32) as usize];
            entropy /= 32;
            char::from(letter)
        };
        let code: String = (0..CODE_LETTERS).map(|_| letters()).collect();
        let expires_at = now.at.after(CODE_LIFE);
        let offer = Offer { digest: Offer::digest_of(&code), channel, expires_at };
        self.send(StreamId::Person(person), Command::Person(PersonCommand::OfferPairing { offer })).await?;
        Ok(Pairing { channel, link: account.channel.invitation(&code).await, code, expires_at })
    }

    /// Where a person is recognised.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn identities(&self, person: PersonId) -> Result<Vec<Identity>, EngineError> {
        let state = self.state(StreamId::Person(person)).await?;
        Ok(state.person().map(|person| person.identities.clone()).unwrap_or_default())
    }

    /// Recognises a person there no longer, from this moment on.
    ///
    /// # Errors
    /// If it is not theirs, or the one that the daemon itself knows them by; or if the store fails.
    pub async fn revoke(&self, person: PersonId, handle: &str) -> Result<Identity, EngineError> {
        let known = self.identities(person).await?;
        let missing = Rejection::NotFound { what: "identity" };
        let identity = known.into_iter().find(|known| known.handle() == handle).ok_or(missing)?;
        if identity.channel().is_none() {
            return Err(Rejection::NotAvailable { what: "revoking the user that the daemon runs as" }.into());
        }
        let command = PersonCommand::Unlink { identity: identity.clone() };
        self.send(StreamId::Person(person), Command::Person(command)).await?;
        Ok(identity)
    }

    /// Who an identity is.
    pub(crate) async fn person_of(&self, identity: &Identity) -> Result<Option<PersonId>, EngineError> {
        self.named(identity.name()).await
    }

    /// Whose code this is.
    pub(crate) async fn person_of_code(&self, digest: &str) -> Result<Option<PersonId>, EngineError> {
        self.named(Offer::name(digest)).await
    }

    async fn named(&self, name: String) -> Result<Option<PersonId>, EngineError> {
        match self.store().ask(Ask::Name(name)).await? {
            Answer::Name(of) => Ok(of.and_then(|of| of.parse().ok())),
            _ => Ok(None),
        }
    }
}
