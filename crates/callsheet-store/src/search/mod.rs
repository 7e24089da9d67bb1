//! Finding texts: by their words, ranked, in prompts and logs; or exactly, in prompts.
//!
//! The inverted index of the database offers passages by their n-grams. Whatever it offers is proven on the text.

mod exact;
pub(crate) mod index;
mod rank;
mod trigram;
mod words;

pub(crate) use exact::candidates;
pub use index::Unindexed;
pub(crate) use rank::best;
