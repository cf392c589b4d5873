//! TLS from certificate and key files.
//!
//! Relies on: rustls with ring, by way of pgwire.  Promises: what cannot be used is refused at the
//! start, by file name; a client's certificate that has expired, or that nobody vouches for, ends the handshake.
//! Does not: demand certificates of clients, or read the files again.

use crate::config::{Error, TlsFiles};
use pgwire::tokio::TlsAcceptor;
use pgwire::tokio::tokio_rustls::rustls::{self, ServerConfig, pki_types};
use pki_types::pem::PemObject;
use pki_types::{CertificateDer, PrivateKeyDer};
use quintet_rt::{RealDisk, disk};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use std::path::Path;
use std::sync::Arc;

/// Reads the files.
///
/// # Errors
/// A file that is not there or holds something else; a key that is not the certificate's.
pub(crate) fn acceptor(files: &TlsFiles, authority: Option<&Path>) -> Result<TlsAcceptor, Error> {
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
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(Error::Tls)?;
    let builder = match authority {
        None => builder.with_no_client_auth(),
        Some(path) => builder.with_client_cert_verifier(verifier(path, provider)?),
    };
    let config = builder
        .with_single_cert(chain, secret)
        .map_err(Error::Tls)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Checks certificates of clients who show one; whether they must is for the rules of admission.
fn verifier(
    path: &Path,
    provider: Arc<rustls::crypto::CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, Error> {
    let pem = || Error::Pem {
        path: path.to_path_buf(),
        what: "certificate of an authority",
    };
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&read(path)?) {
        let certificate = certificate.map_err(|_| pem())?;
        roots.add(certificate).map_err(|_| pem())?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .allow_unauthenticated()
        .build()
        .map_err(|_| pem())
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
        let missing = acceptor(&files("no such file"), None).err();
        assert!(
            matches!(&missing, Some(Error::File { path, .. }) if path.ends_with("no such file"))
        );
        let wrong = acceptor(&files("Cargo.toml"), None).err();
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
