//! How a browser on another machine gets here: the address that it opens, and the certificate that the daemon shows.
//!
//! *Invariant:* the daemon itself is reached from other machines only through TLS; without a certificate of its own
//! something else stands in front of it.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;

/// Where the daemon listens with TLS, unless the settings say.
const TLS_LISTEN: &str = "0.0.0.0:8443";

/// See the file's header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// What a browser elsewhere opens; none if none is meant to.
    pub public_url: Option<PublicUrl>,
    /// The daemon's own TLS; none if something in front of it has it.
    pub tls: Option<TlsSettings>,
    /// Certificates that a push service of one's own is trusted by, PEM.
    pub push_ca: Option<PathBuf>,
}

/// A certificate, and where it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// The address, on any interface.
    pub listen: SocketAddr,
    /// The certificate and its chain, PEM.
    pub cert: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
}

/// The scheme, host and port of a URL, as a browser writes its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    scheme: Scheme,
    host: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
}

impl PublicUrl {
    /// What its `Host` header says.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether what travels there is encrypted on all of its way.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.scheme == Scheme::Https
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        write!(f, "{scheme}://{}", self.host)
    }
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("web.public_url `{text}` is not a scheme and a host, such as `https://desk.example:8443`");
        let lower = text.trim().to_ascii_lowercase();
        let (scheme, rest, usual_port) = match (lower.strip_prefix("https://"), lower.strip_prefix("http://")) {
            (Some(rest), _) => (Scheme::Https, rest, ":443"),
            (None, Some(rest)) => (Scheme::Http, rest, ":80"),
            (None, None) => return Err(wrong()),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        // Browsers leave out the usual port.
        let host = rest.strip_suffix(usual_port).unwrap_or(rest);
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
        if host.is_empty() || !host.chars().all(plain) {
            return Err(wrong());
        }
        Ok(Self { scheme, host: host.to_owned() })
    }
}

/// The table `[web]`, unchecked.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct File {
    public_url: Option<String>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    tls_listen: Option<SocketAddr>,
    push_ca: Option<PathBuf>,
}

impl File {
    pub(super) fn checked(self) -> Result<Reach, String> {
        let public_url = self.public_url.as_deref().map(PublicUrl::from_str).transpose()?;
        let tls = match (self.tls_cert, self.tls_key) {
            (None, None) if self.tls_listen.is_some() => {
                return Err("web.tls_listen needs `tls_cert` and `tls_key`".into());
            }
            (None, None) => None,
            (Some(cert), Some(key)) => {
                let usual = || TLS_LISTEN.parse().map_err(|error| format!("{TLS_LISTEN}: {error}"));
                let listen = self.tls_listen.map_or_else(usual, Ok)?;
                Some(TlsSettings { listen, cert, key })
            }
            (Some(_), None) => return Err("web.tls_cert needs `tls_key`".into()),
            (None, Some(_)) => return Err("web.tls_key needs `tls_cert`".into()),
        };
        if tls.is_some() && !public_url.as_ref().is_some_and(PublicUrl::is_secure) {
            return Err("web.tls_cert needs `public_url`, the https:// address that browsers open".into());
        }
        Ok(Reach { public_url, tls, push_ca: self.push_ca })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_written_as_browsers_write_origins() {
        for (given, origin, host) in [
            ("https://Desk.Example", "https://desk.example", "desk.example"),
            ("https://desk.example:443/", "https://desk.example", "desk.example"),
            ("https://desk.example:8443", "https://desk.example:8443", "desk.example:8443"),
            ("http://10.0.0.7:80", "http://10.0.0.7", "10.0.0.7"),
            ("https://[fd7a::1]:8443", "https://[fd7a::1]:8443", "[fd7a::1]:8443"),
        ] {
            let url: PublicUrl = given.parse().expect(given);
            assert_eq!((url.to_string().as_str(), url.host()), (origin, host));
        }
        for wrong in ["desk.example", "ftp://desk", "https://", "https://desk/page", "https://me@desk", "https://a b"] {
            assert!(PublicUrl::from_str(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_certificate_needs_its_key_and_an_address() {
        let path = || Some(PathBuf::from("x.pem"));
        let url = || Some("https://desk".to_owned());
        let reach = File { public_url: url(), tls_cert: path(), tls_key: path(), ..File::default() };
        assert_eq!(reach.checked().expect("fine").tls.expect("there").listen.port(), 8443);
        for wanted in [
            File { tls_cert: path(), tls_key: path(), ..File::default() },
            File { public_url: url(), tls_cert: path(), ..File::default() },
            File { public_url: url(), tls_key: path(), ..File::default() },
            File { tls_listen: Some(([0, 0, 0, 0], 1).into()), ..File::default() },
            File { public_url: Some("http://desk".into()), tls_cert: path(), tls_key: path(), ..File::default() },
        ] {
            assert!(wanted.checked().is_err());
        }
    }
}
