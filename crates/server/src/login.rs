//! Browsers: one-time links that let one in, and the logins that keep it in.
//!
//! Invariants: a link works once, within minutes, and not after a restart; of every secret only the digest is kept; a
//! login that was revoked is nobody from the next request on, and its event streams end. The file is replaced whole.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, header};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use throughline_api::login::LoginLink;
use throughline_engine::{Clock as _, SystemClock};
use throughline_model::event::Seq;
use throughline_model::notice::Reasons;
use throughline_model::time::Timestamp;
use tokio::sync::watch;
use uuid::Uuid;

use crate::token::{same_digest, secret};
use crate::wire;

/// The route that a browser is let in by.
pub(crate) const ENTRANCE: &str = "/api/v1/login";
/// How long a link works.
const LINK_MS: i64 = 10 * 60 * 1000;
/// How long a browser is let in.
const LOGIN_MS: i64 = 180 * 24 * 60 * 60 * 1000;
/// How many links may be open; the oldest goes.
const LINKS: usize = 16;
/// How many browsers are let in; the oldest goes.
const LOGINS: usize = 64;
/// How much of a browser's own name is kept.
const NAME_CHARS: usize = 200;

/// Which browser.
pub(crate) type LoginId = Uuid;

/// A browser that is let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Login {
    pub(crate) id: LoginId,
    /// SHA-256 of the cookie's secret, in hex.
    digest: String,
    pub(crate) browser: String,
    /// Milliseconds since 1970.
    since: i64,
    /// Where it is told things; nowhere if it did not ask to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) push: Option<Subscription>,
    /// For which reasons.
    #[serde(default)]
    pub(crate) reasons: Reasons,
    /// How far.
    #[serde(default)]
    told: Told,
}

/// How far a browser is told things, and what it is still owed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Told {
    /// Up to this event nothing is left to be told, but what is held.
    pub(crate) upto: Seq,
    /// The quiet hours in which something is held for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<Night>,
}

/// Quiet hours of one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Night {
    /// What is held happened since then.
    pub(crate) since: Timestamp,
    /// They end.
    pub(crate) until: Timestamp,
}

/// Where a browser is told things, as it said itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Subscription {
    pub(crate) endpoint: String,
    pub(crate) p256dh: String,
    pub(crate) auth: String,
    pub(crate) locale: String,
}

/// A browser that asked to be told things.
#[derive(Clone, Debug)]
pub(crate) struct Subscriber {
    pub(crate) login: LoginId,
    pub(crate) to: Subscription,
    /// For which reasons.
    pub(crate) reasons: Reasons,
    /// How far.
    pub(crate) told: Told,
}

impl Login {
    pub(crate) fn since(&self) -> Timestamp {
        Timestamp::from_millis(self.since)
    }

    pub(crate) fn until(&self) -> Timestamp {
        Timestamp::from_millis(self.since.saturating_add(LOGIN_MS))
    }
}

/// How a browser got here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Over loopback, or through something that has no TLS.
    Plain,
    /// Through TLS: its cookie never travels otherwise.
    Secure,
}

struct Link {
    digest: String,
    until: i64,
}

/// See the file's header.
pub(crate) struct Logins {
    file: PathBuf,
    cookie: String,
    links: Mutex<Vec<Link>>,
    logins: Mutex<Vec<Login>>,
    revoked: watch::Sender<u64>,
}

impl Logins {
    /// The logins in this file; none if it is not there.
    pub(crate) fn load(file: &Path) -> io::Result<Self> {
        let logins = match File::open(file) {
            Ok(open) => {
                let mut text = String::new();
                open.take(1024 * 1024).read_to_string(&mut text)?;
                serde_json::from_str(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => vec![],
            Err(error) => return Err(error),
        };
        // Browsers share cookies between the ports of a host: each home has a name of its own.
        let home = Sha256::digest(file.as_os_str().as_encoded_bytes());
        Ok(Logins {
            file: file.to_owned(),
            cookie: format!("throughline-{}", hex::encode(&home[..4])),
            links: Mutex::default(),
            logins: Mutex::new(logins),
            revoked: watch::Sender::new(0),
        })
    }

    /// A new link below this URL.
    pub(crate) fn link(&self, url: &str) -> io::Result<LoginLink> {
        let code = secret()?;
        let until = SystemClock.at().millis() + LINK_MS;
        let mut links = locked(&self.links);
        if links.len() >= LINKS {
            links.remove(0);
        }
        links.push(Link { digest: digest(&code), until });
        let expires_at = wire::moment(Timestamp::from_millis(until));
        Ok(LoginLink { url: format!("{url}/login#{code}"), expires_at })
    }

    /// Lets a browser in by the code of a link. The answer is the cookie to set; none if the code does not work.
    pub(crate) fn enter(&self, code: &str, browser: &str, way: Way) -> io::Result<Option<(Login, String)>> {
        let now = SystemClock.at().millis();
        {
            let mut links = locked(&self.links);
            links.retain(|link| link.until > now);
            let wanted = digest(code);
            let Some(place) = links.iter().position(|link| same_digest(link.digest.as_bytes(), wanted.as_bytes()))
            else {
                return Ok(None);
            };
            links.remove(place);
        }
        let secret = secret()?;
        let id = Uuid::from_u128(SystemClock.entropy());
        let browser = browser.chars().filter(|c| !c.is_control()).take(NAME_CHARS).collect();
        let (digest, reasons, told) = (digest(&secret), Reasons::default(), Told::default());
        let login = Login { id, digest, browser, since: now, push: None, reasons, told };
        self.change(|logins| {
            logins.retain(|login| login.until().millis() > now);
            if logins.len() >= LOGINS {
                logins.remove(0);
            }
            logins.push(login.clone());
        })?;
        let cookie = self.set_cookie(&secret, LOGIN_MS / 1000, way);
        Ok(Some((login, cookie)))
    }

    /// The login whose cookie came along.
    pub(crate) fn of(&self, headers: &HeaderMap) -> Option<LoginId> {
        let given = digest(cookie(headers, &self.cookie)?);
        let now = SystemClock.at();
        let logins = locked(&self.logins);
        let known = |login: &&Login| login.until() > now && same_digest(login.digest.as_bytes(), given.as_bytes());
        logins.iter().find(known).map(|login| login.id)
    }

    pub(crate) fn holds(&self, id: LoginId) -> bool {
        locked(&self.logins).iter().any(|login| login.id == id)
    }

    /// All of them, newest first.
    pub(crate) fn list(&self) -> Vec<Login> {
        locked(&self.logins).iter().rev().cloned().collect()
    }

    /// Ends one; whether there was such a one.
    pub(crate) fn revoke(&self, id: LoginId) -> io::Result<bool> {
        let mut found = false;
        self.change(|logins| {
            found = logins.iter().any(|login| login.id == id);
            logins.retain(|login| login.id != id);
        })?;
        self.revoked.send_modify(|count| *count += 1);
        Ok(found)
    }

    /// Tells a browser things that come after this event, or no more. Who only has a new address is told on.
    pub(crate) fn subscribe(&self, id: LoginId, to: Option<Subscription>, now: Seq) -> io::Result<()> {
        self.change(|logins| {
            if let Some(login) = logins.iter_mut().find(|login| login.id == id) {
                if login.push.is_none() {
                    login.told = Told { upto: now, held: None };
                }
                login.push = to;
            }
        })
    }

    /// Keeps how far these browsers are told.
    pub(crate) fn mark(&self, marks: &[(LoginId, Told)]) -> io::Result<()> {
        self.change(|logins| {
            for (id, told) in marks {
                if let Some(login) = logins.iter_mut().find(|login| login.id == *id) {
                    login.told = *told;
                }
            }
        })
    }

    /// Tells a browser for these reasons, and for no other; whether there is such a one.
    pub(crate) fn choose(&self, id: LoginId, reasons: Reasons) -> io::Result<bool> {
        let mut found = false;
        self.change(|logins| {
            if let Some(login) = logins.iter_mut().find(|login| login.id == id) {
                login.reasons = reasons;
                found = true;
            }
        })?;
        Ok(found)
    }

    /// Forgets a subscription that is no longer good, unless the browser has another one by now.
    pub(crate) fn unsubscribe(&self, id: LoginId, gone: &Subscription) -> io::Result<()> {
        self.change(|logins| {
            for login in logins.iter_mut().filter(|login| login.id == id && login.push.as_ref() == Some(gone)) {
                login.push = None;
            }
        })
    }

    /// The browsers that asked to be told things.
    pub(crate) fn subscribers(&self) -> Vec<Subscriber> {
        let now = SystemClock.at();
        let logins = locked(&self.logins);
        let told = logins.iter().filter(|login| login.until() > now);
        told.filter_map(|login| {
            let (to, reasons) = (login.push.clone()?, login.reasons.clone());
            Some(Subscriber { login: login.id, to, reasons, told: login.told })
        })
        .collect()
    }

    /// When the first quiet hours end in which something is held.
    pub(crate) fn first_morning(&self) -> Option<Timestamp> {
        let logins = locked(&self.logins);
        logins.iter().filter(|login| login.push.is_some()).filter_map(|login| Some(login.told.held?.until)).min()
    }

    /// Told whenever one was revoked.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.revoked.subscribe()
    }

    /// The cookie that takes the browser's away.
    pub(crate) fn forget_cookie(&self) -> String {
        self.set_cookie("", 0, Way::Plain)
    }

    /// Sent back to the API alone: no other path needs it, and another service on this host gets less of it.
    fn set_cookie(&self, value: &str, secs: i64, way: Way) -> String {
        let secure = match way {
            Way::Plain => "",
            Way::Secure => "; Secure",
        };
        format!("{}={value}; Path=/api/v1; Max-Age={secs}; HttpOnly; SameSite=Strict{secure}", self.cookie)
    }

    /// Durable before it counts.
    fn change(&self, change: impl FnOnce(&mut Vec<Login>)) -> io::Result<()> {
        let mut logins = locked(&self.logins);
        let mut next = logins.clone();
        change(&mut next);
        let fresh = self.file.with_extension("new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(&serde_json::to_vec(&next)?)?;
        file.sync_all()?;
        std::fs::rename(&fresh, &self.file)?;
        if let Some(folder) = self.file.parent() {
            File::open(folder)?.sync_all()?;
        }
        *logins = next;
        Ok(())
    }
}

fn digest(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}

fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(';')).find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logins() -> (tempfile::TempDir, Logins) {
        let home = tempfile::tempdir().unwrap();
        let logins = Logins::load(&home.path().join("logins.json")).unwrap();
        (home, logins)
    }

    fn code(logins: &Logins) -> String {
        logins.link("http://here").unwrap().url.split_once("/login#").unwrap().1.to_owned()
    }

    fn sent(set_cookie: &str) -> HeaderMap {
        let pair = set_cookie.split(';').next().unwrap();
        HeaderMap::from_iter([(header::COOKIE, format!("other=1; {pair}").parse().unwrap())])
    }

    #[test]
    fn a_link_lets_one_browser_in_once() {
        let (home, logins) = logins();
        let code = code(&logins);
        assert!(logins.enter("wrong", "x", Way::Plain).unwrap().is_none());
        let (login, cookie) = logins.enter(&code, "Firefox\n", Way::Plain).unwrap().expect("the code works");
        assert!(logins.enter(&code, "x", Way::Plain).unwrap().is_none(), "only once");
        assert_eq!(login.browser, "Firefox");
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        assert_eq!(logins.of(&sent(&cookie)), Some(login.id));
        assert_eq!(logins.of(&HeaderMap::new()), None);
        assert!(!cookie.contains("Secure"), "it has to work without TLS: {cookie}");
        let file = std::fs::read_to_string(home.path().join("logins.json")).unwrap();
        let secret = cookie.split(['=', ';']).nth(1).unwrap();
        assert!(!file.contains(secret), "only digests are kept: {file}");
    }

    #[test]
    fn a_login_outlives_the_daemon_until_it_is_revoked() {
        let (home, first) = logins();
        let (login, cookie) = first.enter(&code(&first), "x", Way::Plain).unwrap().unwrap();
        let next = Logins::load(&home.path().join("logins.json")).unwrap();
        assert_eq!(next.of(&sent(&cookie)), Some(login.id));
        assert!(next.revoke(login.id).unwrap());
        assert!(!next.revoke(login.id).unwrap());
        assert_eq!(next.of(&sent(&cookie)), None);
        assert_eq!(Logins::load(&home.path().join("logins.json")).unwrap().list(), []);
    }

    #[test]
    fn links_and_logins_are_bounded() {
        let (_home, logins) = logins();
        let first = code(&logins);
        for _ in 0..LINKS {
            code(&logins);
        }
        assert!(logins.enter(&first, "x", Way::Plain).unwrap().is_none());
        for _ in 0..LOGINS + 3 {
            logins.enter(&code(&logins), "x", Way::Plain).unwrap().unwrap();
        }
        assert_eq!(logins.list().len(), LOGINS);
    }
}
