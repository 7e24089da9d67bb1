//! Databases that do not keep texts as UTF-8.

use callsheet_store::{Access, Location, Store};

use crate::test_store::TestStore;

#[test]
fn a_database_that_is_not_utf_8_is_refused() {
    let Some(place) = TestStore::postgres() else {
        return;
    };
    for encoding in ["SQL_ASCII", "LATIN1"] {
        let name = format!(
            "{}_{}",
            place.text().rsplit_once('/').unwrap().1,
            encoding.to_lowercase()
        );
        place.raw(&format!(
            "create database {name} encoding '{encoding}' lc_collate 'C' lc_ctype 'C' template template0"
        ));
        let url = format!("{}/{name}", place.text().rsplit_once('/').unwrap().0);
        let location = Location::parse(&url).unwrap();
        for access in [Access::Read, Access::Existing, Access::Write] {
            let refused = Store::open(&location, access).unwrap_err();
            assert_eq!(
                refused.to_string(),
                format!(
                    "the store `{location}` has the encoding `{encoding}`, and a store needs UTF-8; \
                    `createdb -E UTF8 -T template0 NAME` makes a database for it"
                )
            );
        }
        place.raw(&format!("drop database {name} with (force)"));
    }
}
