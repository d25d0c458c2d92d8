//! Whom a connection over TLS trusts.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme, version};

use super::per_process::PerProcess;

/// Why a file of certificates cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{path} has no certificate that can be read ({words})", path = path.display())]
pub struct NotCertificates {
    path: PathBuf,
    words: String,
}

/// The settings of a connection, which say whom it trusts; and what reads that, to be done before a connection needs it.
///
/// # Errors
/// The file of certificates cannot be read, or is empty.
pub fn configuration(bundle: Option<&Path>) -> Result<(ClientConfig, Trust), NotCertificates> {
    static OF_THIS_MACHINE: PerProcess<Known> = PerProcess::new();
    let provider = Arc::new(ring::default_provider());
    let trusted = match bundle {
        Some(path) => Trusted::In(in_file(path)?, Known::new()),
        None => Trusted::ByThisMachine(OF_THIS_MACHINE.get_or_make(|| Ok(Known::new()))?),
    };
    let verifier = Arc::new(Verifier { provider: Arc::clone(&provider), trusted });
    let configuration = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])
        .unwrap_or_else(|error| unreachable!("the provider has both versions: {error}"));
    let trust = Trust(Arc::clone(&verifier));
    let configuration = configuration.dangerous().with_custom_certificate_verifier(verifier);
    Ok((configuration.with_no_client_auth(), trust))
}

/// Whom connections trust, which is read from files once.
#[derive(Clone, Debug)]
pub struct Trust(Arc<Verifier>);

impl Trust {
    /// Whether it has been read.
    pub fn is_read(&self) -> bool {
        self.0.known().get().is_some()
    }

    /// Reads it, which may take long. An error is reported by the connection that needs it.
    pub fn read(&self) {
        let _ = self.0.inner();
    }
}

fn in_file(path: &Path) -> Result<Arc<RootCertStore>, NotCertificates> {
    let unreadable = |words: String| NotCertificates { path: path.into(), words };
    let mut roots = RootCertStore::empty();
    let found =
        CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))?;
    for certificate in found {
        let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
    }
    if roots.is_empty() { Err(unreadable("it is empty".into())) } else { Ok(Arc::new(roots)) }
}

/// Whom this machine trusts, or the variables `SSL_CERT_FILE` and `SSL_CERT_DIR`; else the roots that browsers have.
fn of_this_machine() -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    Arc::new(roots)
}

/// What certificates are checked with, once they are read. A fork may come at any moment of that: so each process has its own, which
/// its first client has made a place for.
type Known = OnceLock<Arc<WebPkiServerVerifier>>;

/// Checks certificates as the library does. Those that the machine trusts are read before the first connection that needs them, on
/// a thread that may wait (see [`Trust`]): it takes longer than all else that a first program does, and plain HTTP needs none.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    trusted: Trusted,
}

#[derive(Debug)]
enum Trusted {
    ByThisMachine(&'static Known),
    In(Arc<RootCertStore>, Known),
}

impl Verifier {
    fn known(&self) -> &Known {
        match &self.trusted {
            Trusted::ByThisMachine(place) => place,
            Trusted::In(_, place) => place,
        }
    }

    fn inner(&self) -> Result<&WebPkiServerVerifier, Error> {
        let place = self.known();
        if let Some(known) = place.get() {
            return Ok(known);
        }
        let roots = match &self.trusted {
            Trusted::ByThisMachine(_) => of_this_machine(),
            Trusted::In(roots, _) => Arc::clone(roots),
        };
        let provider = Arc::clone(&self.provider);
        let made = WebPkiServerVerifier::builder_with_provider(roots, provider)
            .build()
            .map_err(|error| Error::General(error.to_string()))?;
        Ok(place.get_or_init(|| made))
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let inner = self.inner()?;
        inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner()?.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner()?.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
