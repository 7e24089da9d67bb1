//! Every `sslmode` against a server with TLS, with its right certificate and with wrong ones, and against one without.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use callsheet_store::{Access, Location, Store, Wait};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

use crate::lost::Server;
use crate::test_store::{client, event, server};

/// An authority, and a folder for what it signs.
struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "authority");
        let certificate = params.self_signed(&key).unwrap();
        fs::write(folder.path().join("ca.crt"), certificate.pem()).unwrap();
        Self {
            folder,
            issuer: Issuer::new(params, key),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Signs a certificate with a key, as `NAME.crt` and `NAME.key`.
    fn sign(&self, name: &str, params: &CertificateParams) {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        write(self.folder.path(), name, &certificate.pem(), &key);
    }
}

/// Writes a certificate and its key, which only its owner can read.
fn write(folder: &Path, name: &str, certificate: &str, key: &KeyPair) {
    fs::write(folder.join(format!("{name}.crt")), certificate).unwrap();
    let path = folder.join(format!("{name}.key"));
    fs::write(&path, key.serialize_pem()).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn params(names: &[&str]) -> CertificateParams {
    CertificateParams::new(
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>(),
    )
    .unwrap()
}

/// A server, and how to ask for a connection to it.
struct Asked<'a> {
    server: &'a Server,
    authority: &'a Authority,
}

impl Asked<'_> {
    /// Returns the URL of a user, for a host of that name.
    fn url(&self, host: &str, more: &str) -> String {
        let (login, rest) = self.server.url.rsplit_once('@').unwrap();
        let tail = rest.strip_prefix("127.0.0.1").unwrap();
        format!("{login}@{host}{tail}?hostaddr=127.0.0.1&{more}")
    }

    /// Opens a store, and returns how its connections are encrypted, or why there is none.
    fn open(&self, host: &str, more: &str) -> String {
        let more = more.replace("CA", self.authority.path("ca.crt").to_str().unwrap());
        self.shown(&self.url(host, &more))
    }

    fn shown(&self, url: &str) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Connections of the case before may still be about to go.
        let name = format!("case_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let location = Location::parse(&format!("{url}&application_name={name}"));
        let opened = location.and_then(|location| Store::open(&location, Access::Write));
        let store = match opened {
            Ok(store) => store,
            Err(error) => return self.nameless(&error.to_string()),
        };
        let project = store.project("demo").wait().unwrap();
        let mut follower = store.follow(&project, 0).unwrap();
        store
            .append_events(&project, vec![event(1)])
            .wait()
            .unwrap();
        follower.next().wait().unwrap();
        let sql = "select coalesce(s.version, 'plain') from pg_stat_activity a join pg_stat_ssl s using (pid) \
            where a.application_name = $1";
        let mut client = client(&self.server.url);
        let since = Instant::now();
        // The one that works and the one that listens.
        let found = loop {
            let rows = client.query(sql, &[&name]).unwrap();
            if rows.len() >= 2 {
                break rows;
            }
            assert!(since.elapsed() < Duration::from_secs(30), "nobody listens");
        };
        let found: BTreeSet<String> = found.iter().map(|row| row.get(0)).collect();
        Vec::from_iter(found).join(" and ")
    }

    /// Takes port and folder out of a text.
    fn nameless(&self, text: &str) -> String {
        let port = self.server.url.rsplit(':').next().unwrap();
        let port = port.split('/').next().unwrap();
        let folder = self.authority.folder.path().to_str().unwrap();
        text.replace(folder, "[DIR]").replace(port, "[PORT]")
    }

    /// Returns a line for each mode.
    fn table(&self, host: &str) -> String {
        let mut table = String::new();
        for more in [
            "",
            "sslmode=disable",
            "sslmode=prefer",
            "sslmode=require",
            "sslmode=require&sslrootcert=CA",
            "sslmode=verify-ca&sslrootcert=CA",
            "sslmode=verify-full&sslrootcert=CA",
        ] {
            writeln!(table, "{more}: {}", self.open(host, more)).unwrap();
        }
        table
    }
}

#[test]
fn a_server_without_tls() {
    if server().is_none() {
        return;
    }
    let (server, authority) = (Server::start(&[]), Authority::new());
    let asked = Asked {
        server: &server,
        authority: &authority,
    };
    insta::assert_snapshot!(asked.table("db.test"), @"
    : plain
    sslmode=disable: plain
    sslmode=prefer: plain
    sslmode=require: the store `postgres://callsheet@db.test:[PORT]/postgres` cannot be reached: the server does not speak TLS, which `sslmode` asks for; `ssl = on` in its configuration changes that
    sslmode=require&sslrootcert=CA: the store `postgres://callsheet@db.test:[PORT]/postgres` cannot be reached: the server does not speak TLS, which `sslmode` asks for; `ssl = on` in its configuration changes that
    sslmode=verify-ca&sslrootcert=CA: the store `postgres://callsheet@db.test:[PORT]/postgres` cannot be reached: the server does not speak TLS, which `sslmode` asks for; `ssl = on` in its configuration changes that
    sslmode=verify-full&sslrootcert=CA: the store `postgres://callsheet@db.test:[PORT]/postgres` cannot be reached: the server does not speak TLS, which `sslmode` asks for; `ssl = on` in its configuration changes that
    ");
}

#[test]
fn a_server_with_tls() {
    if server().is_none() {
        return;
    }
    let (server, authority) = (Server::start(&[]), Authority::new());
    authority.sign("server", &params(&["db.test", "*.wild.test", "127.0.0.1"]));
    server.script("encrypt", &[authority.folder.path().to_str().unwrap()]);
    let asked = Asked {
        server: &server,
        authority: &authority,
    };
    insta::assert_snapshot!(asked.table("db.test"), @"
    : TLSv1.3
    sslmode=disable: plain
    sslmode=prefer: TLSv1.3
    sslmode=require: TLSv1.3
    sslmode=require&sslrootcert=CA: TLSv1.3
    sslmode=verify-ca&sslrootcert=CA: TLSv1.3
    sslmode=verify-full&sslrootcert=CA: TLSv1.3
    ");
    insta::assert_snapshot!(asked.table("other.test"), @"
    : TLSv1.3
    sslmode=disable: plain
    sslmode=prefer: TLSv1.3
    sslmode=require: TLSv1.3
    sslmode=require&sslrootcert=CA: TLSv1.3
    sslmode=verify-ca&sslrootcert=CA: TLSv1.3
    sslmode=verify-full&sslrootcert=CA: the store `postgres://callsheet@other.test:[PORT]/postgres` cannot be reached: the certificate of the server is for `db.test`, `*.wild.test`, `127.0.0.1`, and not for `other.test`
    ");
    let full = "sslmode=verify-full&sslrootcert=CA";
    assert_eq!(asked.open("a.wild.test", full), "TLSv1.3");
    assert_eq!(asked.open("127.0.0.1", full), "TLSv1.3");
    // Nobody whom this machine or another authority trusts has signed it.
    let other = Authority::new();
    let stranger = Asked {
        server: &server,
        authority: &other,
    };
    insta::assert_snapshot!(stranger.table("db.test"), @"
    : TLSv1.3
    sslmode=disable: plain
    sslmode=prefer: TLSv1.3
    sslmode=require: TLSv1.3
    sslmode=require&sslrootcert=CA: the store `postgres://callsheet@db.test:[PORT]/postgres` cannot be reached: the certificate of the server is not signed by an authority that you trust; `sslrootcert=PATH` names a file with the right one
    sslmode=verify-ca&sslrootcert=CA: the store `postgres://callsheet@db.test:[PORT]/postgres` cannot be reached: the certificate of the server is not signed by an authority that you trust; `sslrootcert=PATH` names a file with the right one
    sslmode=verify-full&sslrootcert=CA: the store `postgres://callsheet@db.test:[PORT]/postgres` cannot be reached: the certificate of the server is not signed by an authority that you trust; `sslrootcert=PATH` names a file with the right one
    ");
    let strange = [
        "sslmode=verify-full&sslrootcert=system",
        "sslmode=verify-ca&sslrootcert=system",
        "sslmode=verify-ca&sslrootcert=CA.missing",
    ];
    let strange = strange.map(|more| asked.open("db.test", more)).join("\n");
    insta::assert_snapshot!(strange, @"
    the store `postgres://callsheet@db.test:[PORT]/postgres` cannot be reached: the certificate of the server is not signed by an authority that you trust; `sslrootcert=PATH` names a file with the right one
    `sslrootcert=system` needs `sslmode=verify-full` and not `verify-ca`: anybody can have a certificate of a public authority
    the store `postgres://callsheet@db.test:[PORT]/postgres` cannot be reached: the file `[DIR]/ca.crt.missing` of `sslrootcert` cannot be read: no such file or directory
    ");
    fs::write(authority.path("empty.crt"), "nothing").unwrap();
    let empty = authority.path("empty.crt");
    let more = format!("sslmode=verify-ca&sslrootcert={}", empty.display());
    insta::assert_snapshot!(asked.open("db.test", &more), @"the store `postgres://callsheet@db.test:[PORT]/postgres` cannot be reached: the file `[DIR]/empty.crt` of `sslrootcert` has no certificate in PEM form");
}

#[test]
fn a_certificate_that_its_server_has_signed_is_known_by_itself() {
    if server().is_none() {
        return;
    }
    let (server, authority) = (Server::start(&[]), Authority::new());
    let key = KeyPair::generate().unwrap();
    let mut own = params(&["db.test"]);
    // As `openssl req -x509` makes them.
    own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let own = own.self_signed(&key).unwrap().pem();
    write(authority.folder.path(), "server", &own, &key);
    server.script("encrypt", &[authority.folder.path().to_str().unwrap()]);
    fs::write(authority.path("ca.crt"), &own).unwrap();
    let asked = Asked {
        server: &server,
        authority: &authority,
    };
    insta::assert_snapshot!(asked.table("db.test"), @"
    : TLSv1.3
    sslmode=disable: plain
    sslmode=prefer: TLSv1.3
    sslmode=require: TLSv1.3
    sslmode=require&sslrootcert=CA: TLSv1.3
    sslmode=verify-ca&sslrootcert=CA: TLSv1.3
    sslmode=verify-full&sslrootcert=CA: TLSv1.3
    ");
    insta::assert_snapshot!(asked.open("other.test", "sslmode=verify-full&sslrootcert=CA"), @"the store `postgres://callsheet@other.test:[PORT]/postgres` cannot be reached: the certificate of the server is for `db.test`, and not for `other.test`");
}

#[test]
fn a_server_knows_a_client_by_its_certificate() {
    if server().is_none() {
        return;
    }
    let (server, authority) = (Server::start(&[]), Authority::new());
    authority.sign("server", &params(&["db.test"]));
    let mut ann = params(&[]);
    ann.distinguished_name.push(DnType::CommonName, "ann");
    authority.sign("ann", &ann);
    fs::copy(authority.path("ca.crt"), authority.path("root.crt")).unwrap();
    let rules = "hostssl all ann all cert\nhostssl all plain all reject\n";
    fs::write(authority.path("pg_hba.conf"), rules).unwrap();
    client(&server.url)
        .batch_execute(
            "create role ann login; create role plain login password 'secret'; \
            grant create on database postgres to ann, plain",
        )
        .unwrap();
    server.script("encrypt", &[authority.folder.path().to_str().unwrap()]);
    let asked = Asked {
        server: &server,
        authority: &authority,
    };
    let of = |user: &str, more: &str| {
        let url = asked.url("db.test", more);
        let url = format!("postgres://{user}@{}", url.rsplit_once('@').unwrap().1);
        asked.shown(&format!("{url}&schema={}", user.split(':').next().unwrap()))
    };
    let file = |name: &str| authority.path(name).to_str().unwrap().to_owned();
    let (certificate, key) = (file("ann.crt"), file("ann.key"));
    let ann = |key: &str| {
        of(
            "ann",
            &format!("sslmode=require&sslcert={certificate}&sslkey={key}"),
        )
    };
    assert_eq!(ann(&key), "TLSv1.3");
    // Encryption is only preferred, and this user may not log in with it.
    assert_eq!(of("plain:secret", ""), "plain");
    fs::copy(&key, file("open.key")).unwrap();
    fs::set_permissions(file("open.key"), fs::Permissions::from_mode(0o644)).unwrap();
    let refused = [
        of("plain:secret", "sslmode=require"),
        of("ann", "sslmode=require"),
        of("callsheet", "sslmode=require"),
        ann(&file("server.key")),
        ann(&file("ann.crt")),
        ann(&file("open.key")),
        ann(&file("missing.key")),
    ];
    insta::assert_snapshot!(refused.join("\n"), @r#"
    the store `postgres://plain@db.test:[PORT]/postgres` refused the login: pg_hba.conf rejects connection for host "127.0.0.1", user "plain", database "postgres", SSL encryption
    the store `postgres://ann@db.test:[PORT]/postgres` refused the login: connection requires a valid client certificate
    the store `postgres://callsheet@db.test:[PORT]/postgres` asks for a password, and there is none: not in the URL, and not in your password file
    the store `postgres://ann@db.test:[PORT]/postgres` cannot be reached: `sslkey` does not fit `sslcert`, or cannot be used ([DIR]/server.key): keys may not be consistent: KeyMismatch
    the store `postgres://ann@db.test:[PORT]/postgres` cannot be reached: the file `[DIR]/ann.crt` of `sslkey` is not used, because group or others have access to it; `chmod 600` changes that
    the store `postgres://ann@db.test:[PORT]/postgres` cannot be reached: the file `[DIR]/open.key` of `sslkey` is not used, because group or others have access to it; `chmod 600` changes that
    the store `postgres://ann@db.test:[PORT]/postgres` cannot be reached: the file `[DIR]/missing.key` of `sslkey` cannot be read: no such file or directory
    "#);
}
