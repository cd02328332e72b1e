//! The bearer token of the TCP listener: made once per home, readable by its owner alone, compared in constant time.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

const SECRET_BYTES: usize = 32;

/// A text that nobody can guess.
#[expect(clippy::disallowed_methods, reason = "secrets are drawn here and nowhere else")]
pub(crate) fn secret() -> io::Result<String> {
    let mut bytes = [0u8; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(hex::encode(bytes))
}

/// Whether two texts have the same digest: the time taken says nothing about them.
pub(crate) fn same_digest(ours: &[u8], theirs: &[u8]) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).fold(0u8, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// What a client has to know.
#[derive(Clone)]
pub struct Token {
    text: String,
}

impl std::fmt::Debug for Token {
    /// A secret stays out of logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// The token in this file, which is made if it is not there.
    ///
    /// # Errors
    /// If the file cannot be made or read, or holds something else.
    pub fn load_or_create(path: &Path) -> io::Result<Self> {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Ok(file) => Self::create(path, file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::load(path),
            Err(error) => Err(error),
        }
    }

    fn create(path: &Path, mut file: File) -> io::Result<Self> {
        let text = secret()?;
        let written =
            file.write_all(text.as_bytes()).and_then(|()| file.write_all(b"\n")).and_then(|()| file.sync_all());
        if let Err(error) = written {
            // Half a token is worse than none: the next start makes a new one.
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        Ok(Token { text })
    }

    fn load(path: &Path) -> io::Result<Self> {
        let mut text = String::new();
        File::open(path)?.take(4096).read_to_string(&mut text)?;
        let text = text.trim().to_owned();
        if text.len() != 2 * SECRET_BYTES || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the file does not hold a token; remove it to get a new one",
            ));
        }
        Ok(Token { text })
    }

    /// The token itself, for who may have it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// Whether this is the token. Digests are compared, so that the time taken says nothing about the text.
    #[must_use]
    pub(crate) fn is(&self, given: &str) -> bool {
        let (ours, theirs) = (Sha256::digest(self.text.as_bytes()), Sha256::digest(given.as_bytes()));
        same_digest(&ours, &theirs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_home_keeps_its_token_and_only_its_owner_can_read_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("token");
        let first = Token::load_or_create(&path).unwrap();
        let again = Token::load_or_create(&path).unwrap();
        assert_eq!(first.reveal(), again.reveal());
        assert_eq!(first.reveal().len(), 64);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(first.is(again.reveal()));
        assert!(!first.is(""));
        assert!(!first.is(&first.reveal()[..63]));
    }

    #[test]
    fn a_file_that_holds_no_token_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("token");
        std::fs::write(&path, "short\n").unwrap();
        assert!(Token::load_or_create(&path).is_err());
    }
}
