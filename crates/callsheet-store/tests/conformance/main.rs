//! One suite for both databases: whatever a case says of SQLite holds for PostgreSQL as well.
//!
//! Databases are real: files in a temporary folder, and a server whose URL is in `CALLSHEET_TEST_POSTGRES`, as
//! `scripts/postgres run` sets it.

#![expect(
    clippy::unwrap_used,
    reason = "a world that cannot be made fails the test"
)]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers of tests are small"
)]

mod acknowledged;
mod annotations;
mod batch_crash;
mod batch_runs;
mod batches;
mod branches;
mod bundles;
mod chain;
mod claims;
mod crash;
mod damage;
mod damage_batches;
mod damage_tasks;
mod documents;
mod driving;
mod encoding;
mod events;
mod faults;
mod flips;
mod follow;
mod gc;
mod history;
mod index;
mod leftovers;
mod locks;
mod log_index;
mod logs;
mod lost;
mod memory;
mod messages;
mod opening;
mod permissions;
mod process;
mod prompts;
mod runs;
mod schema;
mod search;
mod server;
mod settings;
mod silence;
mod tasks;
mod test_store;
mod tls;
mod together;
mod travel;
mod travel_tasks;

/// Makes two tests of each function that takes a store: one per database.
#[macro_export]
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test]
            fn $name() {
                super::$name(&$crate::test_store::TestStore::sqlite());
            })+
        }
        mod postgres {
            $(#[test]
            fn $name() {
                if let Some(store) = $crate::test_store::TestStore::postgres() {
                    super::$name(&store);
                }
            })+
        }
    };
}
