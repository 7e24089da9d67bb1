//! How a connection is encrypted and what is checked of the server, in the words of libpq.
//!
//! Nothing is read here: the files are read when a connection is made.

use std::path::{Path, PathBuf};

use super::url::Params;
use crate::StoreError;

/// Whether to encrypt, and what to check; the later, the stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SslMode {
    /// No encryption.
    Disable,
    /// Encryption where the server can.
    Prefer,
    /// Encryption, whoever answers.
    Require,
    /// Encryption, and a certificate of an authority that is trusted.
    VerifyCa,
    /// The same, and the certificate is for this host.
    VerifyFull,
}

impl SslMode {
    /// Returns the mode of a name; `allow` is taken for `prefer`, which encrypts more often.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "disable" => Self::Disable,
            "allow" | "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }

    /// Returns the name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }
}

/// Which authorities are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Roots {
    /// Those of the platform.
    System,
    /// Those of a file.
    File(PathBuf),
}

/// How a connection is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tls {
    /// Whether to encrypt, and what to check.
    pub(crate) mode: SslMode,
    /// Whom to trust, where something is checked.
    pub(crate) roots: Roots,
    /// The certificate and the key by which the server knows this program, where it asks for them.
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
}

impl Tls {
    /// Takes the parameters that are about encryption; `is_there` tells whether a file exists.
    pub(super) fn take(
        params: &mut Params,
        home: Option<&Path>,
        is_there: impl Fn(&Path) -> bool,
    ) -> Result<Self, StoreError> {
        let mode = params.remove("sslmode");
        let roots = params.remove("sslrootcert").filter(|path| !path.is_empty());
        let files = ["sslcert", "sslkey"].map(|name| params.remove(name).map(PathBuf::from));
        let mode = match mode {
            Some(name) => Some(SslMode::parse(&name).ok_or_else(unknown_mode)?),
            None => None,
        };
        let identity = match files {
            [Some(certificate), Some(key)] => Some((certificate, key)),
            [None, None] => None,
            _ => {
                let why = "`sslcert` and `sslkey` belong together, and one of them is missing";
                return Err(StoreError::refused(why));
            }
        };
        // What libpq takes where nothing is said.
        let default = home.map(|home| home.join(".postgresql/root.crt"));
        let default = || default.filter(|path| is_there(path));
        let (mode, roots) = match (mode, roots.as_deref()) {
            (None, Some("system")) => (SslMode::VerifyFull, Some(Roots::System)),
            (Some(mode), Some("system")) if mode < SslMode::VerifyFull => {
                let why = format!(
                    "`sslrootcert=system` needs `sslmode=verify-full` and not `{}`: \
                    anybody can have a certificate of a public authority",
                    mode.as_str()
                );
                return Err(StoreError::refused(why));
            }
            (Some(mode), Some("system")) => (mode, Some(Roots::System)),
            (mode, Some(path)) => (
                mode.unwrap_or(SslMode::Prefer),
                Some(Roots::File(path.into())),
            ),
            (mode, None) => (mode.unwrap_or(SslMode::Prefer), default().map(Roots::File)),
        };
        Ok(Self {
            mode: match mode {
                SslMode::Require if roots.is_some() => SslMode::VerifyCa,
                mode => mode,
            },
            roots: roots.unwrap_or(Roots::System),
            identity,
        })
    }
}

fn unknown_mode() -> StoreError {
    let modes = "`disable`, `prefer`, `require`, `verify-ca` or `verify-full`";
    StoreError::refused(format!("the `sslmode` of the store is not one of {modes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(given: &str, has_default: bool) -> String {
        let pairs = given
            .split_whitespace()
            .filter_map(|pair| pair.split_once('='));
        let mut params: Params = pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        match Tls::take(&mut params, Some(Path::new("/h")), |_| has_default) {
            Ok(tls) => {
                assert!(params.is_empty());
                let roots = match &tls.roots {
                    Roots::System => "system".to_owned(),
                    Roots::File(path) => path.display().to_string(),
                };
                let identity = tls.identity.map(|(a, b)| format!(" {a:?} {b:?}"));
                format!(
                    "{} {roots}{}",
                    tls.mode.as_str(),
                    identity.unwrap_or_default()
                )
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn modes_are_those_of_libpq() {
        for (given, wanted) in [
            ("", "prefer system"),
            ("sslmode=disable", "disable system"),
            ("sslmode=allow", "prefer system"),
            ("sslmode=prefer sslrootcert=a", "prefer a"),
            ("sslmode=require", "require system"),
            ("sslmode=require sslrootcert=a", "verify-ca a"),
            ("sslmode=verify-ca sslrootcert=a", "verify-ca a"),
            ("sslmode=verify-full", "verify-full system"),
            ("sslrootcert=system", "verify-full system"),
            (
                "sslmode=verify-full sslrootcert=system",
                "verify-full system",
            ),
            (
                "sslmode=verify-ca sslrootcert=system",
                "`sslrootcert=system` needs `sslmode=verify-full` and not `verify-ca`: anybody can have a certificate of a public authority",
            ),
            (
                "sslmode=maybe",
                "the `sslmode` of the store is not one of `disable`, `prefer`, `require`, `verify-ca` or `verify-full`",
            ),
            ("sslcert=c sslkey=k", "prefer system \"c\" \"k\""),
            (
                "sslcert=c",
                "`sslcert` and `sslkey` belong together, and one of them is missing",
            ),
        ] {
            assert_eq!(taken(given, false), wanted, "{given}");
        }
    }

    #[test]
    fn the_file_of_libpq_is_taken_where_none_is_named() {
        let file = "/h/.postgresql/root.crt";
        assert_eq!(taken("sslmode=require", true), format!("verify-ca {file}"));
        assert_eq!(
            taken("sslmode=verify-full", true),
            format!("verify-full {file}")
        );
        assert_eq!(
            taken("sslmode=verify-full sslrootcert=system", true),
            "verify-full system"
        );
    }
}
