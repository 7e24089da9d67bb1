//! The header of a git bundle: which commits it needs, and which refs it brings.
//!
//! It is read as hostile input. Of the capabilities only the kind of hash is known; a bundle that asks for another one, such as one
//! with objects left out, is refused.

use super::is_hash;

const V2: &str = "# v2 git bundle";
const V3: &str = "# v3 git bundle";
const SHA1: &str = "@object-format=sha1";
const SHA256: &str = "@object-format=sha256";

/// What a bundle says of its pack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// The commits that a clone has to have.
    pub(super) needs: Vec<String>,
    /// The names of refs with their commits, in order, as they were given.
    pub(super) refs: Vec<(String, String)>,
}

impl Header {
    /// Returns the bytes that stand before the pack.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let is_sha256 = self.refs.iter().any(|(_, hash)| hash.len() == 64);
        let first = if is_sha256 { &[V3, SHA256][..] } else { &[V2] };
        let mut lines: Vec<String> = first.iter().map(|&line| line.to_owned()).collect();
        lines.extend(self.needs.iter().map(|hash| format!("-{hash} ")));
        lines.extend(
            self.refs
                .iter()
                .map(|(name, hash)| format!("{hash} {name}")),
        );
        lines.push("\n".to_owned());
        lines.join("\n").into_bytes()
    }

    /// Takes a bundle apart: its header and its pack, or what is wrong with it.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, &[u8]), &'static str> {
        let mut rest = bytes;
        let first = next_line(&mut rest)?;
        if first != V2 && first != V3 {
            return Err("it does not begin as a bundle");
        }
        let mut header = Self::default();
        loop {
            let line = next_line(&mut rest)?;
            if line.is_empty() {
                return Ok((header, rest));
            }
            if line.starts_with('@') && first == V3 {
                if line != SHA1 && line != SHA256 {
                    return Err("it asks for something that callsheet does not know");
                }
            } else if let Some(need) = line.strip_prefix('-') {
                let hash = need.split(' ').next().unwrap_or_default();
                header.needs.push(hash_of(hash)?);
            } else {
                let (hash, name) = line.split_once(' ').ok_or("a line of its header is odd")?;
                header.refs.push((name.to_owned(), hash_of(hash)?));
            }
        }
    }
}

fn hash_of(text: &str) -> Result<String, &'static str> {
    let fits = is_hash(text).then(|| text.to_owned());
    fits.ok_or("a line of its header has no hash")
}

fn next_line<'a>(rest: &mut &'a [u8]) -> Result<&'a str, &'static str> {
    let end = rest.iter().position(|&byte| byte == b'\n');
    let end = end.ok_or("its header has no end")?;
    let line = std::str::from_utf8(&rest[..end]).map_err(|_| "its header is not text")?;
    *rest = &rest[end + 1..];
    Ok(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            needs in prop::collection::vec("[0-9a-f]{40}", 0..3),
            refs in prop::collection::vec(("refs/[a-z/]{1,9}", "[0-9a-f]{40}"), 0..3),
            wide: bool,
            pack: Vec<u8>,
        ) {
            let widen = |hash: String| if wide { format!("{hash}{:024}", 7) } else { hash };
            let needs: Vec<String> = needs.into_iter().map(widen).collect();
            let refs = refs.into_iter().map(|(name, hash)| (name, widen(hash))).collect();
            let header = Header { needs, refs };
            let bytes = [header.to_bytes(), pack.clone()].concat();
            prop_assert_eq!(Header::read(&bytes), Ok((header, &pack[..])));
        }

        #[test]
        fn any_bytes_are_a_bundle_or_not(tail: Vec<u8>, v3: bool) {
            let first = if v3 { V3 } else { V2 };
            let _ = Header::read(&tail);
            let _ = Header::read(&[first.as_bytes(), b"\n", &tail].concat());
        }
    }

    #[test]
    fn what_is_wrong_is_reported() {
        let error_of = |text: &str| Header::read(text.as_bytes()).unwrap_err();
        assert_eq!(error_of(""), "its header has no end");
        assert_eq!(
            error_of("# v4 git bundle\n\n"),
            "it does not begin as a bundle"
        );
        assert_eq!(
            error_of("# v3 git bundle\n@filter=blob:none\n\n"),
            "it asks for something that callsheet does not know"
        );
        assert_eq!(
            error_of("# v2 git bundle\nx\n\n"),
            "a line of its header is odd"
        );
        assert_eq!(
            error_of("# v2 git bundle\n-HEAD \n\n"),
            "a line of its header has no hash"
        );
        assert_eq!(
            Header::read(b"# v2 git bundle\n\xff\n\n").unwrap_err(),
            "its header is not text"
        );
    }
}
