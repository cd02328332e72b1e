//! TLS with the person's own certificate. It is read again when its files change, so that a renewed one is shown without
//! a restart; files that cannot be used then leave the last ones in force.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use throughline_engine::TlsSettings;
use tokio_rustls::TlsAcceptor;

use crate::listen::ListenError;

/// When the files of the certificate and the key were last written.
type Written = (Option<SystemTime>, Option<SystemTime>);

/// See the file's header.
pub(crate) struct Tls {
    settings: TlsSettings,
    current: Mutex<(Written, TlsAcceptor)>,
}

impl Tls {
    pub(crate) fn load(settings: &TlsSettings) -> Result<Self, ListenError> {
        let current = Mutex::new((written(settings), read(settings)?));
        Ok(Self { settings: settings.clone(), current })
    }

    /// What shakes hands with the next connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let now = written(&self.settings);
        if now != current.0 {
            current.0 = now;
            match read(&self.settings) {
                Ok(acceptor) => current.1 = acceptor,
                Err(error) => {
                    tracing::error!(%error, "the certificate was changed and cannot be used; the last one stays")
                }
            }
        }
        current.1.clone()
    }
}

fn written(settings: &TlsSettings) -> Written {
    let at = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    (at(&settings.cert), at(&settings.key))
}

fn read(settings: &TlsSettings) -> Result<TlsAcceptor, ListenError> {
    let unusable = |path: &Path, message: String| ListenError::Tls { path: path.to_owned(), message };
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(&settings.cert).and_then(|certificates| certificates.collect());
    let chain = chain.map_err(|error| unusable(&settings.cert, error.to_string()))?;
    let key =
        PrivateKeyDer::from_pem_file(&settings.key).map_err(|error| unusable(&settings.key, error.to_string()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(|error| unusable(&settings.cert, error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
