//! What is added to a URL, and what a project does not get.

use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;

use super::*;
use crate::location::server::Server;

/// A home directory with these files, and variables.
fn around(files: &[(&str, &str)], variables: &[(&str, &str)]) -> (TempDir, Environment) {
    let home = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = home.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let environment = Environment {
        variables: variables.iter().map(owned).collect(),
        home: Some(home.path().to_owned()),
        user: Some("ann".to_owned()),
    };
    (home, environment)
}

/// Returns the place and the password, or the error.
fn made(url: &str, origin: Origin, environment: &Environment) -> String {
    match Server::new(url, origin, environment) {
        Ok(server) => {
            let password = server.config().get_password().unwrap_or(b"-");
            format!("{server} {}", String::from_utf8_lossy(password))
        }
        Err(error) => error.to_string(),
    }
}

fn users(url: &str, environment: &Environment) -> String {
    made(url, Origin::User, environment)
}

fn projects(url: &str, environment: &Environment) -> String {
    made(url, Origin::Project, environment)
}

#[test]
fn variables_set_what_a_url_leaves_out() {
    let (_home, all) = around(
        &[],
        &[
            ("PGHOST", "db"),
            ("PGPORT", "5433"),
            ("PGUSER", "me"),
            ("PGPASSWORD", "pw"),
            ("PGDATABASE", "team"),
        ],
    );
    for (url, wanted) in [
        ("postgres://", "postgres://me@db:5433/team pw"),
        ("postgres://you:x@h:1/y", "postgres://you@h:1/y x"),
        ("postgres://h", "postgres://me@h:5433/team pw"),
        (
            "postgres:///y?host=/run/db",
            "postgres://me@/run/db:5433/y pw",
        ),
    ] {
        assert_eq!(users(url, &all), wanted, "{url}");
    }
}

#[test]
fn a_service_comes_before_variables_and_after_the_url() {
    let file = "[team]\nhost=db\nuser=me\npassword=pw\nschema=team_a\nsslmode=disable\n[odd]\nhost=db\ngssencmode=x\n";
    let files = [(".pg_service.conf", file)];
    let (home, mut all) = around(&files, &[("PGUSER", "you"), ("PGDATABASE", "x")]);
    assert_eq!(
        users("postgres:///?service=team", &all),
        "postgres://me@db/x pw"
    );
    assert_eq!(
        users("postgres://h/y?service=team", &all),
        "postgres://me@h/y pw"
    );
    let server = Server::new("postgres:///?service=team", Origin::User, &all).unwrap();
    assert_eq!(server.schema(), "team_a");
    assert_eq!(server.encryption().tls.mode, SslMode::Disable);
    assert_eq!(
        users("postgres:///?service=odd", &all),
        "a service or a variable of PostgreSQL says something about the store that this program does not understand"
    );
    all.variables
        .insert("PGSERVICE".to_owned(), "none".to_owned());
    assert_eq!(
        users("postgres://h/y", &all),
        format!(
            "no service `none` in `{}/.pg_service.conf`",
            home.path().display()
        )
    );
    assert_eq!(
        users("postgres:///?service=team", &all),
        "postgres://me@db/x pw"
    );
    // Another file, and one for everybody.
    let (other, _) = around(&[("pg_service.conf", "[none]\nhost=z\n")], &[]);
    let folder = other.path().display().to_string();
    all.variables
        .insert("PGSYSCONFDIR".to_owned(), folder.clone());
    assert_eq!(users("postgres://", &all), "postgres://you@z/x -");
    let file = format!("{folder}/pg_service.conf");
    all.variables.insert("PGSERVICEFILE".to_owned(), file);
    assert!(users("postgres:///?service=team", &all).starts_with("no service `team` in `"));
}

#[test]
fn the_password_file_is_asked_last() {
    let file = "db:5432:ann:ann:one\ndb:1:team:me:two\nlocalhost:*:*:me:three\na:*:*:me:four\nb:*:*:me:four\n";
    let (home, mut all) = around(&[(".pgpass", file)], &[]);
    for (url, wanted) in [
        ("postgres://db", "postgres://db one"),
        ("postgres://me@db:1/team", "postgres://me@db:1/team two"),
        ("postgres://me:x@db:1/team", "postgres://me@db:1/team x"),
        ("postgres://me@db:2/team", "postgres://me@db:2/team -"),
        (
            "postgres://me@/team?host=/var/run/postgresql",
            "postgres://me@/var/run/postgresql/team three",
        ),
        ("postgres://me@a,b/team", "postgres://me@a,b/team four"),
        // None gets the password of another.
        ("postgres://me@a,c/team", "postgres://me@a,c/team -"),
    ] {
        assert_eq!(users(url, &all), wanted, "{url}");
    }
    let several = Server::new("postgres://me@a,c/team", Origin::User, &all).unwrap();
    let wanted = format!(
        "the password file `{}/.pgpass` does not have the same password for all hosts of the URL",
        home.path().display()
    );
    assert_eq!(several.no_password(), Some(&*wanted));
    let (elsewhere, _) = around(&[("mine", "*:*:*:*:five\n")], &[]);
    let path = elsewhere.path().join("mine").display().to_string();
    assert_eq!(
        users(&format!("postgres://db?passfile={path}"), &all),
        "postgres://db five"
    );
    all.variables.insert("PGPASSFILE".to_owned(), path);
    assert_eq!(users("postgres://db", &all), "postgres://db five");
    all.variables
        .insert("PGPASSWORD".to_owned(), "six".to_owned());
    assert_eq!(users("postgres://db", &all), "postgres://db six");
}

#[test]
fn a_project_gets_no_password_that_is_not_for_its_host() {
    let files = [
        (".pgpass", "db:*:*:*:for db\n*:*:*:*:for all\n"),
        (
            ".pg_service.conf",
            "[team]\nhost=db\npassword=of the service\n",
        ),
    ];
    let (_home, all) = around(&files, &[("PGPASSWORD", "pw"), ("PGSERVICE", "team")]);
    assert_eq!(
        users("postgres://evil/x", &all),
        "postgres://evil/x of the service"
    );
    assert_eq!(projects("postgres://evil/x", &all), "postgres://evil/x -");
    assert_eq!(projects("postgres://db/x", &all), "postgres://db/x for db");
    assert_eq!(
        projects("postgres://evil,db/x", &all),
        "postgres://evil,db/x -"
    );
    let bare = Server::new("postgres://evil/x", Origin::Project, &all).unwrap();
    assert_eq!(bare.no_password(), Some(STRICT));
    for name in OWN {
        assert_eq!(
            projects(&format!("postgres://db/x?{name}=1.2.3.4"), &all),
            format!(
                "the URL of the store has `{name}`, which the settings of a project may not say; your own environment may"
            )
        );
    }
}

#[test]
fn a_project_cannot_ask_for_less_encryption() {
    let mode = |url: &str, origin, mode: &str| {
        let (_home, all) = around(&[], &[("PGSSLMODE", mode)]);
        let server = Server::new(url, origin, &all).unwrap();
        server.encryption().tls.mode
    };
    let (weak, strict) = (
        "postgres://h/x?sslmode=disable",
        "postgres://h/x?sslmode=verify-full",
    );
    assert_eq!(mode(weak, Origin::User, "verify-full"), SslMode::Disable);
    assert_eq!(
        mode(weak, Origin::Project, "verify-full"),
        SslMode::VerifyFull
    );
    assert_eq!(mode(strict, Origin::Project, "prefer"), SslMode::VerifyFull);
    let (_home, all) = around(&[], &[("PGSSLROOTCERT", "/own.crt")]);
    let server = Server::new("postgres://h/x?sslrootcert=system", Origin::Project, &all).unwrap();
    let roots = &server.encryption().tls.roots;
    assert_eq!(*roots, crate::location::Roots::File("/own.crt".into()));
    assert_eq!(server.encryption().tls.mode, SslMode::VerifyFull);
}
