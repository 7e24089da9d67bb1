//! Encryption of connections, by rustls: what is checked of the server, and what this program shows of itself.
//!
//! Private keys are read and never shown; an error names the file.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::location::{Encryption, Roots, SslMode, Tls, cause};

/// The name of what is spoken within, which some servers ask for.
const PROTOCOL: &[u8] = b"postgresql";

/// Returns what encrypts connections, or why there is no such thing. Files are read once.
pub(super) fn connector(encryption: &Encryption) -> Result<MakeRustlsConnect, String> {
    let config = match encryption.config.get() {
        Some(config) => Arc::clone(config),
        None => {
            let config = Arc::new(client(&encryption.tls)?);
            Arc::clone(encryption.config.get_or_init(|| config))
        }
    };
    Ok(MakeRustlsConnect::new(ClientConfig::clone(&config)))
}

fn client(tls: &Tls) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let check = Check {
        provider: Arc::clone(&provider),
        trusted: match tls.mode {
            SslMode::Disable | SslMode::Prefer | SslMode::Require => None,
            SslMode::VerifyCa | SslMode::VerifyFull => Some(Trusted::read(&tls.roots)?),
        },
        checks_name: tls.mode == SslMode::VerifyFull,
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be used: {error}"))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(check));
    let mut config = match &tls.identity {
        Some((certificate, key)) if tls.mode != SslMode::Disable => {
            let chain = certificates(certificate, "sslcert")?;
            let said = format!(
                "`sslkey` does not fit `sslcert`, or cannot be used ({})",
                key.display()
            );
            builder
                .with_client_auth_cert(chain, private_key(key)?)
                .map_err(|error| format!("{said}: {error}"))?
        }
        _ => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(config)
}

/// Returns the certificates of a file that a parameter names.
fn certificates(path: &Path, name: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let shown = path.display();
    let text = std::fs::read(path).map_err(|error| unreadable(path, name, &error))?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match read {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(format!(
            "the file `{shown}` of `{name}` has no certificate in PEM form"
        )),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    use std::os::unix::fs::MetadataExt as _;
    let shown = path.display();
    let found = std::fs::metadata(path).map_err(|error| unreadable(path, "sslkey", &error))?;
    // A key of the system may be shared with a group.
    let is_of_system = found.uid() == 0 && found.mode() & 0o027 == 0;
    if crate::location::is_open_to_others(&found) && !is_of_system {
        return Err(format!(
            "the file `{shown}` of `sslkey` is not used, because group or others have access to it; \
            `chmod 600` changes that"
        ));
    }
    let text = std::fs::read(path).map_err(|error| unreadable(path, "sslkey", &error))?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| {
        format!(
            "the file `{shown}` of `sslkey` has no private key in PEM form without a passphrase"
        )
    })
}

fn unreadable(path: &Path, name: &str, error: &io::Error) -> String {
    let shown = path.display();
    format!(
        "the file `{shown}` of `{name}` cannot be read: {}",
        cause(error)
    )
}

/// Who is trusted.
#[derive(Debug)]
struct Trusted {
    authorities: RootCertStore,
    /// The certificates of a file that somebody has named. A server that signed its own is known by exactly that one, although it is
    /// no authority.
    named: Vec<CertificateDer<'static>>,
}

impl Trusted {
    fn read(roots: &Roots) -> Result<Self, String> {
        let named = match roots {
            Roots::File(path) => certificates(path, "sslrootcert")?,
            Roots::System => Vec::new(),
        };
        let mut authorities = RootCertStore::empty();
        match roots {
            Roots::File(_) => {
                authorities.add_parsable_certificates(named.iter().cloned());
            }
            Roots::System => {
                let found = rustls_native_certs::load_native_certs();
                authorities.add_parsable_certificates(found.certs);
                if authorities.is_empty() {
                    return Err(
                        "this machine has no certificates of authorities that it trusts; \
                        `sslrootcert=PATH` names a file with some"
                            .to_owned(),
                    );
                }
            }
        }
        Ok(Self { authorities, named })
    }
}

/// What is checked of a server.
#[derive(Debug)]
struct Check {
    provider: Arc<CryptoProvider>,
    /// Who has to have signed its certificate, where that counts.
    trusted: Option<Trusted>,
    checks_name: bool,
}

impl ServerCertVerifier for Check {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(trusted) = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        let certificate = ParsedCertificate::try_from(end_entity)?;
        if !trusted.named.iter().any(|named| named == end_entity) {
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                &trusted.authorities,
                intermediates,
                now,
                algorithms,
            )?;
        }
        if self.checks_name {
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

/// Tells whether a connection failed while its encryption was set up.
pub(super) fn is_handshake(error: &tokio_postgres::Error) -> bool {
    // The library has no other way to tell.
    error
        .to_string()
        .starts_with("error performing TLS handshake")
}

/// Returns what went wrong while encryption was set up, in our words.
pub(super) fn error_text(error: &tokio_postgres::Error) -> String {
    let cause = std::error::Error::source(error);
    let by_rustls = cause
        .and_then(|cause| cause.downcast_ref::<io::Error>())
        .and_then(io::Error::get_ref)
        .and_then(|cause| cause.downcast_ref::<Error>());
    match (by_rustls, cause) {
        (Some(Error::InvalidCertificate(why)), _) => refused(why),
        (Some(Error::AlertReceived(alert)), _) => format!(
            "the server refused the encryption ({alert:?}); it may want a certificate by `sslcert` and `sslkey`"
        ),
        (Some(other), _) => format!("the encryption failed: {other}"),
        (None, Some(cause)) if cause.to_string() == "server does not support TLS" => {
            "the server does not speak TLS, which `sslmode` asks for; `ssl = on` in its configuration changes that"
                .to_owned()
        }
        (None, Some(cause)) => format!("the encryption failed: {cause}"),
        (None, None) => "the encryption failed".to_owned(),
    }
}

/// Says why a certificate of a server is not taken.
fn refused(why: &CertificateError) -> String {
    let why = match why {
        // Another authority may have the name of the right one.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "is not signed by an authority that you trust; `sslrootcert=PATH` names a file with the right one"
                .to_owned()
        }
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let presented: Vec<String> = presented.iter().map(|name| plain(name)).collect();
            let names = match presented.as_slice() {
                [] => "for no host at all".to_owned(),
                names => format!("for {}", names.join(", ")),
            };
            format!("is {names}, and not for `{}`", expected.to_str())
        }
        CertificateError::NotValidForName => "is for another host".to_owned(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired".to_owned(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet; is the clock of this machine right?".to_owned()
        }
        other => format!("is not accepted: {other}"),
    };
    format!("the certificate of the server {why}")
}

/// Returns a name of a certificate, which the client library prints with its kind around it.
fn plain(name: &str) -> String {
    let inner = name.split_once('(').map_or(name, |(_, rest)| rest);
    let inner = inner.trim_end_matches(')').trim_matches('"');
    format!("`{inner}`")
}
