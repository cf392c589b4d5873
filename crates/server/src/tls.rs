//! TLS from certificate and key files.
//!
//! Relies on: rustls with ring, by way of pgwire.  Promises: what cannot be used is refused at the
//! start, by file name.  Does not: ask clients for certificates, or read the files again.

use crate::config::{Error, TlsFiles};
use pgwire::tokio::TlsAcceptor;
use pgwire::tokio::tokio_rustls::rustls::{self, ServerConfig, pki_types};
use pki_types::pem::PemObject;
use pki_types::{CertificateDer, PrivateKeyDer};
use quintet_rt::{RealDisk, disk};
use std::path::Path;
use std::sync::Arc;

/// Reads the files.
///
/// # Errors
/// A file that is not there or holds something else; a key that is not the certificate's.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, Error> {
    let (certificate, key) = (&files.certificate, &files.key);
    let pem = |path: &Path, what| Error::Pem {
        path: path.to_path_buf(),
        what,
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&read(certificate)?)
        .collect::<Result<_, _>>()
        .map_err(|_| pem(certificate, "certificate"))?;
    if chain.is_empty() {
        return Err(pem(certificate, "certificate"));
    }
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|_| pem(key, "private key"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Error::Tls)?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(Error::Tls)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let read = disk::read_file(&RealDisk, path);
    read.map_err(|source| Error::File {
        path: path.to_path_buf(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let files = |certificate: &str| TlsFiles {
            certificate: here.join(certificate),
            key: here.join("Cargo.toml"),
        };
        let missing = acceptor(&files("no such file")).err();
        assert!(
            matches!(&missing, Some(Error::File { path, .. }) if path.ends_with("no such file"))
        );
        let wrong = acceptor(&files("Cargo.toml")).err();
        assert!(
            matches!(
                &wrong,
                Some(Error::Pem {
                    what: "certificate",
                    ..
                })
            ),
            "{wrong:?}"
        );
    }
}
