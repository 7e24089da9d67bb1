//! Places read back, and passwords stay inside.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::Location;

/// Reads a URL with nothing around it.
fn server(url: &str) -> Result<Server, StoreError> {
    Server::new(url, Origin::User, &Environment::default())
}

#[test]
fn a_path_and_a_url_are_told_apart() {
    let file = Location::parse(".callsheet/callsheet.db").unwrap();
    assert_eq!(file.file(), Some(Path::new(".callsheet/callsheet.db")));
    let empty = Location::parse("").unwrap_err().to_string();
    assert_eq!(empty, "the place of the store is empty");
    let shown = |url: &str| server(url).unwrap().to_string();
    assert_eq!(
        shown("postgresql://me:secret@db.example:5433/team"),
        "postgres://me@db.example:5433/team"
    );
    assert_eq!(
        shown("postgres://me@a,b:5433/team"),
        "postgres://me@a:5432,b:5433/team"
    );
    assert_eq!(
        shown("postgres:///team?host=/run/db&user=me&password=secret"),
        "postgres://me@/run/db/team"
    );
}

#[test]
fn a_url_that_cannot_be_read_is_not_repeated() {
    let said = |url: &str| server(url).unwrap_err().to_string();
    let form = "it reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE`";
    for url in ["postgres://me:hunter2@h:port/x", "postgres://h/x?hunter2"] {
        assert_eq!(
            said(url),
            format!("the URL of the store cannot be read; {form}")
        );
    }
    for url in [
        "postgres://me:hun@ter2@h/x",
        "postgres://me:hun/ter2@h/x",
        "postgres://h/x?password=hun@ter2",
    ] {
        assert!(said(url).contains("`%40` (@)"), "{}", said(url));
        assert!(!said(url).contains("ter2"), "{}", said(url));
    }
    assert_eq!(
        said("postgres:///x"),
        format!("the URL of the store names no host, and neither does PGHOST; {form}")
    );
}

#[test]
fn what_only_this_program_understands_is_taken_out() {
    let plain = server("postgres://me@h/x").unwrap();
    assert_eq!(
        (plain.schema(), plain.durability(), plain.answer_limit()),
        ("callsheet", Durability::Full, Duration::from_mins(1))
    );
    assert_eq!(plain.connect_limit(), Duration::from_secs(10));
    let said = server(
        "postgres://me@h/x?schema=team_a&connect_timeout=3&durability=server&answer_timeout=7",
    )
    .unwrap();
    assert_eq!(
        (said.schema(), said.durability(), said.answer_limit()),
        ("team_a", Durability::Server, Duration::from_secs(7))
    );
    assert_eq!(said.connect_limit(), Duration::from_secs(3));
    for bad in [
        "schema=",
        "schema=a%22b",
        "schema=Team",
        "schema=pg_x",
        "schema=1",
        "durability=none",
        "answer_timeout=0",
        "answer_timeout=-1",
        "answer_timeout=1s",
    ] {
        let said = server(&format!("postgres://me:hunter2@h/x?{bad}"));
        let name = bad.split_once('=').unwrap().0;
        let wanted = format!("the URL of the store has a `{name}` that cannot be read; they read ");
        let said = said.unwrap_err().to_string();
        assert!(said.starts_with(&wanted), "{said}");
    }
    for (options, name) in [
        ("-c%20synchronous_commit%3Doff", "synchronous_commit"),
        ("--synchronous-commit%3Doff", "synchronous_commit"),
        ("-c%20search_path%3Dx", "search_path"),
    ] {
        let said = server(&format!("postgres://me@h/x?options={options}"));
        let said = said.unwrap_err().to_string();
        assert!(
            said.contains(&format!("sets `{name}` by `options`")),
            "{said}"
        );
    }
}

#[test]
fn a_socket_of_this_machine_is_not_encrypted() {
    let mode = |url: &str| server(url).unwrap().encryption().tls.mode;
    let full = "sslmode=verify-full";
    assert_eq!(mode("postgres://h/x"), SslMode::Prefer);
    assert_eq!(mode(&format!("postgres://h/x?{full}")), SslMode::VerifyFull);
    let socket = format!("postgres:///x?host=/run/db&{full}");
    assert_eq!(mode(&socket), SslMode::Disable);
}

/// Percent-encodes what a password may hold, all of it or only what has to be.
fn encoded(password: &str, all: bool) -> String {
    let plain = |byte: u8| !all && byte.is_ascii_alphanumeric();
    password
        .bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

proptest! {
    #[test]
    fn no_password_is_ever_shown(password in "\\PC{8,24}", all: bool, tail in "[ -~]{0,12}", form in 0..5) {
        let safe = encoded(&password, all);
        let url = match form {
            0 => format!("postgres://me:{safe}@db.example:5433/team"),
            1 => format!("postgres://me@db.example/team?password={safe}"),
            2 => format!("postgres://me:{password}@db.example/team"),
            3 => format!("postgres://me:{safe}@db.example:{tail}/team{tail}"),
            _ => format!("postgres://me@db.example/team?password={safe}&{tail}"),
        };
        let shown = match server(&url) {
            Ok(server) => format!("{server} {server:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        prop_assert!(!shown.contains(&password), "{shown}");
        prop_assert!(!shown.contains(&safe), "{shown}");
    }
}
