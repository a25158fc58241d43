//! URLs that name several hosts, as `redis+sentinel://` and `redis+cluster://` do.

use queue_core::{Error, ErrorKind, Result};

use super::{
    parameters::{ParameterNames, Parameters},
    target::{UrlTarget, scheme_of},
    written,
};

/// A family of such URLs: their schemes are the scheme of a single server, a plus sign, and the family's name.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) family: &'static str,
    /// The port of a host that names none.
    pub(super) port: u16,
    pub(super) parameters: ParameterNames,
    pub(super) example: &'static str,
}

/// The parts of such a URL.
pub(super) struct Hosts<'a> {
    form: &'static Form,
    scheme: String,
    server: &'static str,
    login: String,
    hosts: &'a str,
    /// The text after the first `/` behind the hosts.
    pub(super) path: &'a str,
    pub(super) parameters: Parameters,
}

impl Form {
    /// Whether a URL is of this family.
    pub(super) fn is_of(&self, url: &str) -> bool {
        self.scheme_of_server(&scheme_of(url)).is_some()
    }

    /// The scheme of a single server, for a scheme of this family.
    fn scheme_of_server(&self, scheme: &str) -> Option<&'static str> {
        let server = scheme.strip_suffix(self.family)?.strip_suffix('+')?;
        let known = ["redis", "rediss", "valkey", "valkeys"].into_iter();
        known.into_iter().find(|known| *known == server)
    }
}

impl<'a> Hosts<'a> {
    /// Splits a URL. No error shows text that may be part of a password.
    pub(super) fn split(url: &'a str, form: &'static Form) -> Result<Self> {
        let (_, rest) = url.split_once(':').unwrap_or_default();
        let scheme = scheme_of(url);
        let server = form.scheme_of_server(&scheme);
        let mut parts = Self {
            form,
            scheme,
            server: server.unwrap_or_default(),
            login: String::new(),
            hosts: "",
            path: "",
            parameters: Parameters::default(),
        };
        if server.is_none() {
            // The text there may be part of a password.
            "Redis".clone_into(&mut parts.scheme);
            let begins = format!("it does not begin with redis+{}://", form.family);
            return Err(parts.malformed(&begins));
        }
        let Some(rest) = rest.strip_prefix("//") else {
            return Err(parts.malformed("no // follows its scheme"));
        };
        if let Some(flaw) = written::flaw_of_signs(rest) {
            return Err(parts.malformed(flaw));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if path.contains('@') || query.contains('@') {
            let way_out = "write a / in a name or password as %2F, and a ? as %3F";
            return Err(parts.malformed(way_out));
        }
        if let Some((login, _)) = authority.rsplit_once('@') {
            parts.login = format!("{login}@");
        }
        parts.hosts = authority.rsplit('@').next().unwrap_or_default();
        if parts.hosts.is_empty() {
            return Err(parts.malformed("it names no hosts"));
        }
        parts.path = path;
        parts.parameters = Parameters::read(query, form.parameters)?;
        Ok(parts)
    }

    /// The servers, each with this database and the URL's login.
    pub(super) fn targets(&self, database: &str) -> Result<Vec<UrlTarget>> {
        let targets = self.hosts.split(',').map(|host| {
            let port = match host.rsplit_once(':') {
                Some((_, port)) if !port.contains(']') => String::new(),
                _ => format!(":{}", self.form.port),
            };
            // The rest is as in a URL of a single server.
            let (server, login) = (self.server, &self.login);
            let one = format!("{server}://{login}{host}{port}/{database}");
            UrlTarget::parse(&one).map_err(|error| match error.kind() {
                // The parser's message is about a URL with one host, and would mislead.
                ErrorKind::Invalid => {
                    self.malformed("one of its hosts or ports, the login or the database is wrong")
                }
                _ => error,
            })
        });
        targets.collect()
    }

    /// The error for a URL that cannot be read, for this reason.
    pub(super) fn malformed(&self, what: &str) -> Error {
        let (scheme, example) = (&self.scheme, self.form.example);
        Error::invalid(format!(
            "the {scheme} URL is not understood: {what}; write it as {example}"
        ))
    }
}
