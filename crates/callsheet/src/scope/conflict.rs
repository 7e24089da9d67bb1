//! Whether two tasks would write the same files.

use super::dialect::ScopeGlobs;
use super::pattern::{self, Pattern};
use crate::Error;

/// Returns how much two write scopes are in each other's way, from 0 (not at all) to 1.
///
/// The score is the share of pairs of patterns, one of each scope, that some path could match together. Where one scope
/// lies wholly within the other it is 1. What cannot be decided counts as a conflict. A scope without patterns writes
/// nothing and conflicts with nothing.
///
/// ```
/// use callsheet::scope::conflict_score;
///
/// assert_eq!(conflict_score(&["src/**"], &["docs/**"])?, 0.0);
/// assert_eq!(conflict_score(&["src/**", "docs/*.md"], &["src/auth/*.rs", "tests/**"])?, 0.25);
/// assert_eq!(conflict_score(&["src/**"], &["src/auth/**"])?, 1.0);
/// # Ok::<(), callsheet::Error>(())
/// ```
pub fn conflict_score<S: AsRef<str>>(one: &[S], other: &[S]) -> Result<f64, Error> {
    let (one, other) = (patterns("one", one)?, patterns("other", other)?);
    let all = one.len() * other.len();
    if all == 0 {
        return Ok(0.0);
    }
    if within(&one, &other) || within(&other, &one) {
        return Ok(1.0);
    }
    let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
    let meeting = pairs.filter(|(a, b)| pattern::meet(a, b)).count();
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    Ok(number(meeting) / number(all))
}

fn patterns<S: AsRef<str>>(name: &str, globs: &[S]) -> Result<Vec<Pattern>, Error> {
    ScopeGlobs::new(name, globs)?;
    Ok(globs
        .iter()
        .map(|glob| Pattern::parse(glob.as_ref()))
        .collect())
}

/// Tells whether every pattern of `inner` lies within some pattern of `outer`.
fn within(inner: &[Pattern], outer: &[Pattern]) -> bool {
    inner
        .iter()
        .all(|inner| outer.iter().any(|outer| pattern::covers(outer, inner)))
}
