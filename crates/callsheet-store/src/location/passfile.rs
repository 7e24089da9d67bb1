//! The password file of PostgreSQL: a line of `host:port:database:user:password` for each login.
//!
//! A file that others can read is not read, as with libpq, and no error repeats any of it.

use std::path::Path;

/// The login that a password is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Login<'a> {
    pub(super) host: &'a str,
    pub(super) port: &'a str,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
    /// Whether a line has to name the host: `*` would hand a password to a host that somebody else has chosen.
    pub(super) is_strict: bool,
}

/// Reads a password file; none where there is no such file, and why it is not read where others can read it.
pub(super) fn read(path: &Path) -> Result<Option<String>, String> {
    let shown = path.display();
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let why = super::cause(&error);
            return Err(format!("the password file `{shown}` cannot be read: {why}"));
        }
    };
    if !found.is_file() {
        return Err(format!("the password file `{shown}` is not a plain file"));
    }
    if super::is_open_to_others(&found) {
        return Err(format!(
            "the password file `{shown}` is not used, because group or others have access to it; \
            `chmod 600` changes that"
        ));
    }
    let text = std::fs::read_to_string(path);
    text.map(Some).map_err(|error| {
        format!(
            "the password file `{shown}` cannot be read: {}",
            super::cause(&error)
        )
    })
}

/// Returns the password of the first line that fits a login.
pub(super) fn password(text: &str, login: Login<'_>) -> Option<String> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let found = lines.find_map(|line| {
        let (host, rest) = field(line)?;
        let (port, rest) = field(rest)?;
        let (database, rest) = field(rest)?;
        let (user, rest) = field(rest)?;
        let fits = host.fits(login.host)
            && !(host.is_any && login.is_strict)
            && port.fits(login.port)
            && database.fits(login.database)
            && user.fits(login.user);
        // What follows the password after another `:` is not part of it.
        let password = || field(rest).map_or_else(|| unescaped(rest), |(field, _)| field.text);
        fits.then(password)
    });
    found.filter(|password| !password.is_empty())
}

/// One field of a line.
struct Field {
    text: String,
    /// Whether it is written as `*`, and not as `\*`.
    is_any: bool,
}

impl Field {
    fn fits(&self, value: &str) -> bool {
        self.is_any || self.text == value
    }
}

/// Returns the field before the next `:` that is not escaped, and what comes after it.
fn field(line: &str) -> Option<(Field, &str)> {
    let mut escaped = false;
    let end = line.find(|c| {
        let ends = c == ':' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    let (raw, rest) = (&line[..end], &line[end + 1..]);
    let field = Field {
        text: unescaped(raw),
        is_any: raw == "*",
    };
    Some((field, rest))
}

/// Returns a field without the `\` before `:` and `\`.
fn unescaped(raw: &str) -> String {
    let mut text = String::new();
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        let next = if c == '\\' { chars.next() } else { None };
        text.push(next.unwrap_or(c));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# comment\n\nonly:three:fields\n\
        db:5432:team:me:first\n\
        db:5432:team:me:second\n\
        db:*:*:me:any port\n\
        \\*:1:x:me:star\n\
        a\\:b:1:c\\\\d:me:p\\:q\\\\r:rest\n\
        none:1:x:me:\n\
        *:*:*:you:everywhere\r\n";

    fn found(
        host: &str,
        port: &str,
        database: &str,
        user: &str,
        is_strict: bool,
    ) -> Option<String> {
        let login = Login {
            host,
            port,
            database,
            user,
            is_strict,
        };
        password(FILE, login)
    }

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        for (login, wanted) in [
            (["db", "5432", "team", "me"], Some("first")),
            (["db", "5433", "team", "me"], Some("any port")),
            (["*", "1", "x", "me"], Some("star")),
            (["z", "1", "x", "me"], None),
            (["a:b", "1", "c\\d", "me"], Some("p:q\\r")),
            (["none", "1", "x", "me"], None),
            (["z", "1", "x", "you"], Some("everywhere")),
        ] {
            let [host, port, database, user] = login;
            let password = found(host, port, database, user, false);
            assert_eq!(password.as_deref(), wanted, "{login:?}");
        }
    }

    #[test]
    fn a_strict_login_needs_a_line_that_names_its_host() {
        assert_eq!(found("z", "1", "x", "you", true), None);
        assert_eq!(
            found("db", "1", "x", "me", true).as_deref(),
            Some("any port")
        );
    }

    #[test]
    fn a_file_that_others_can_read_is_not_read() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pgpass");
        assert_eq!(read(&path), Ok(None));
        std::fs::write(&path, FILE).unwrap();
        let set = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).unwrap();
        };
        set(0o600);
        assert_eq!(read(&path), Ok(Some(FILE.to_owned())));
        for mode in [0o640, 0o604, 0o610] {
            set(mode);
            let wanted = format!(
                "the password file `{}` is not used, because group or others have access to it; `chmod 600` changes that",
                path.display()
            );
            assert_eq!(read(&path), Err(wanted));
        }
        let wanted = format!(
            "the password file `{}` is not a plain file",
            folder.path().display()
        );
        assert_eq!(read(folder.path()), Err(wanted));
    }
}
