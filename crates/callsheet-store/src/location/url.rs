//! URLs of PostgreSQL, taken apart into the parameters that they set.
//!
//! A URL may hold a password, so nothing here repeats any of it.

use std::collections::BTreeMap;

/// What a connection is made with, by the names that libpq has for it.
pub(super) type Params = BTreeMap<String, String>;

/// Returns what a URL sets; nothing if it cannot be read.
pub(super) fn parse(url: &str) -> Option<Params> {
    let (_, rest) = url.split_once("://")?;
    let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = address.split_once('/').unwrap_or((address, ""));
    let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let (hosts, ports): (Vec<&str>, Vec<&str>) = hosts
        .split(',')
        .map(host_and_port)
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .unzip();
    let joined = |all: &[&str]| {
        if all.iter().all(|one| one.is_empty()) {
            String::new()
        } else {
            all.join(",")
        }
    };
    let mut params = Params::new();
    let parts = [
        ("user", user),
        ("password", password),
        ("host", &joined(&hosts)),
        ("port", &joined(&ports)),
        ("dbname", database),
    ];
    for (name, value) in parts {
        params.insert(name.to_owned(), decoded(value)?);
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=')?;
        params.insert(decoded(name)?, decoded(value)?);
    }
    is_plain(&params).then(|| without_empty(params))
}

/// Takes a port off its host.
fn host_and_port(text: &str) -> Option<(&str, &str)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        let port = if rest.is_empty() {
            ""
        } else {
            rest.strip_prefix(':')?
        };
        return Some((host, port));
    }
    Some(text.split_once(':').unwrap_or((text, "")))
}

/// Tells whether all names are such as parameters have.
fn is_plain(params: &Params) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c == '_';
    let is_name = |name: &String| !name.is_empty() && name.chars().all(plain);
    params.keys().all(is_name)
}

/// Drops what says nothing: then it comes from elsewhere.
fn without_empty(mut params: Params) -> Params {
    for name in ["user", "password", "host", "port", "dbname"] {
        if params.get(name).is_some_and(String::is_empty) {
            params.remove(name);
        }
    }
    params
}

/// Replaces `%20` and the like; no value has the character NUL.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digit = |digit: u8| char::from(digit).to_digit(16);
        let value = digit(digits[0])? * 16 + digit(digits[1])?;
        bytes.push(u8::try_from(value).ok().filter(|byte| *byte != 0)?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(url: &str) -> Option<String> {
        let pairs = parse(url)?.into_iter();
        let pairs = pairs.map(|(name, value)| format!("{name}={value}"));
        Some(pairs.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_url_sets_parameters() {
        for (url, wanted) in [
            ("postgres://", ""),
            ("postgres:///?service=team", "service=team"),
            ("postgres://h", "host=h"),
            (
                "postgres://me:a:b%40c@h:1/x%20y?connect_timeout=3",
                "connect_timeout=3 dbname=x y host=h password=a:b@c port=1 user=me",
            ),
            ("postgres://a,b:5433/x", "dbname=x host=a,b port=,5433"),
            (
                "postgres://[::1]:7,[fe80::2]/x",
                "dbname=x host=::1,fe80::2 port=7,",
            ),
            ("postgres://%2Frun%2Fdb/x", "dbname=x host=/run/db"),
            (
                "postgres:///x?host=/run/db&user=me",
                "dbname=x host=/run/db user=me",
            ),
            // The last one counts.
            ("postgres://h/x?host=i&schema=", "dbname=x host=i schema="),
        ] {
            assert_eq!(shown(url).as_deref(), Some(wanted), "{url}");
        }
    }

    #[test]
    fn what_cannot_be_read_sets_nothing() {
        for url in [
            "h/x",
            "postgres://h/x?a",
            "postgres://h/x?a b=c",
            "postgres://h/x?A=c",
            "postgres://h/x?=c",
            "postgres://h/%zz",
            "postgres://h/%4",
            "postgres://h/%00",
            "postgres://h/%ff",
            "postgres://[::1/x",
            "postgres://[::1]1/x",
        ] {
            assert_eq!(shown(url), None, "{url}");
        }
    }
}
