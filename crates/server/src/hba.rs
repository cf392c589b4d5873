//! Rules of admission, in the manner of pg_hba.conf: who may come from where, and how they prove who they are.
//!
//! Relies on: nothing.  Promises: the first rule that fits decides; a file with a line that cannot be read is refused as a whole, with
//! the line's number; what PostgreSQL has and Quintet lacks is such a line, never one that is skipped.  Does not: know
//! names of hosts, includes, or patterns of names.
//!
//! ```text
//! # type     database  user        address         method
//! local      all       all                         peer
//! host       all       all         127.0.0.1/32    trust
//! hostssl    shop      ann,bob     10.0.0.0/8      scram-sha-256
//! hostssl    all       all         all             cert
//! host       all       all         all             reject
//! ```

use std::net::IpAddr;

/// How somebody proves who they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// Not at all.
    Trust,
    /// They are sent away.
    Reject,
    /// By a password.
    Scram,
    /// By a certificate whose common name is theirs.
    Cert,
    /// By the user of the system that they run as.
    Peer,
}

/// Which connections a rule is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Unix sockets.
    Local,
    Host,
    Encrypted,
    Plain,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Word {
    All,
    /// A database of the user's name.
    SameUser,
    Name(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Addresses {
    All,
    Net(IpAddr, u8),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Rule {
    kind: Kind,
    databases: Vec<Word>,
    users: Vec<Word>,
    addresses: Addresses,
    method: Method,
}

/// A file of rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rules(Vec<Rule>);

/// Somebody at the door.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller<'c> {
    /// `None`: a Unix socket.
    pub address: Option<IpAddr>,
    pub encrypted: bool,
    pub user: &'c str,
    pub database: &'c str,
}

impl Rules {
    /// Reads a file's text.
    ///
    /// # Errors
    /// The number of the line that cannot be read, and why.
    pub fn read(text: &str) -> Result<Rules, (usize, String)> {
        let lines = text.lines().enumerate();
        let rules = lines.filter_map(|(number, line)| {
            let fields = fields(line);
            match &fields {
                Ok(fields) if fields.is_empty() => None,
                _ => Some(
                    fields
                        .and_then(|fields| rule(&fields))
                        .map_err(|why| (number + 1, why)),
                ),
            }
        });
        Ok(Rules(rules.collect::<Result<_, _>>()?))
    }

    /// What the first rule that fits asks for; `None`: there is none.
    pub fn method(&self, caller: &Caller) -> Option<Method> {
        self.0
            .iter()
            .find(|rule| rule.fits(caller))
            .map(|rule| rule.method)
    }

    /// Whether a rule asks for certificates of clients.
    pub fn wants_certificates(&self) -> bool {
        self.0.iter().any(|rule| rule.method == Method::Cert)
    }
}

impl Rule {
    fn fits(&self, caller: &Caller) -> bool {
        let kind = match (self.kind, caller.address) {
            (Kind::Local, address) => address.is_none(),
            (_, None) => false,
            (Kind::Host, _) => true,
            (Kind::Encrypted, _) => caller.encrypted,
            (Kind::Plain, _) => !caller.encrypted,
        };
        let fits = |words: &[Word], name: &str| {
            words.iter().any(|word| match word {
                Word::All => true,
                Word::SameUser => caller.user == caller.database,
                Word::Name(known) => known == name,
            })
        };
        kind && fits(&self.databases, caller.database)
            && fits(&self.users, caller.user)
            && (caller.address).is_none_or(|address| self.addresses.contain(address))
    }
}

impl Addresses {
    fn contain(self, address: IpAddr) -> bool {
        let Addresses::Net(net, bits) = self else {
            return true;
        };
        // One that came to a socket for both families.
        let address = address.to_canonical();
        let same = |a: u128, b: u128, width: u8| {
            let shift = u32::from(width - bits);
            a.checked_shr(shift).unwrap_or(0) == b.checked_shr(shift).unwrap_or(0)
        };
        match (net, address) {
            (IpAddr::V4(net), IpAddr::V4(address)) => {
                same(u32::from(net).into(), u32::from(address).into(), 32)
            }
            (IpAddr::V6(net), IpAddr::V6(address)) => same(net.into(), address.into(), 128),
            _ => false,
        }
    }
}

/// A field: its words, and whether each was quoted.
type Field = Vec<(String, bool)>;

/// The fields of a line: words between blanks, several of them joined by commas, each perhaps in quotes.
fn fields(line: &str) -> Result<Vec<Field>, String> {
    let mut fields: Vec<Field> = Vec::new();
    let mut rest = line.chars().peekable();
    let mut joins = false;
    loop {
        match rest.peek().copied() {
            None | Some('#') => return Ok(fields),
            Some(c) if c.is_whitespace() => {
                rest.next();
            }
            Some(',') => {
                rest.next();
                joins = true;
            }
            Some(_) => {
                let (mut word, mut quoted) = (String::new(), false);
                while let Some(c) = rest.next_if(|c| !c.is_whitespace() && *c != ',' && *c != '#') {
                    if c != '"' {
                        word.push(c);
                        continue;
                    }
                    quoted = true;
                    loop {
                        match rest.next() {
                            Some('"') => break,
                            Some(c) => word.push(c),
                            None => return Err("a quote is not closed".to_string()),
                        }
                    }
                }
                match fields.last_mut().filter(|_| joins) {
                    Some(field) => field.push((word, quoted)),
                    None => fields.push(vec![(word, quoted)]),
                }
                joins = false;
            }
        }
    }
}

fn rule(fields: &[Field]) -> Result<Rule, String> {
    let mut rest = fields.iter();
    let mut next = |what: &str| rest.next().ok_or_else(|| format!("the {what} is missing"));
    let kind = match single(next("type")?)? {
        "local" => Kind::Local,
        "host" => Kind::Host,
        "hostssl" => Kind::Encrypted,
        "hostnossl" => Kind::Plain,
        other => return Err(format!("type \"{other}\" is not supported")),
    };
    let databases = words(next("database")?, true)?;
    let users = words(next("user")?, false)?;
    let mut addresses = Addresses::All;
    let mut method = next(if kind == Kind::Local {
        "method"
    } else {
        "address"
    })?;
    if kind != Kind::Local {
        let address = single(method)?;
        method = next("method")?;
        addresses = match (address, address.split_once('/')) {
            ("all", _) => Addresses::All,
            (_, Some((net, bits))) => net_of(net, bits)?,
            (net, None) => {
                let net: IpAddr = parse_address(net)?;
                let mask = parse_address(single(method)?)?;
                method = next("method")?;
                Addresses::Net(net, bits_of(net, mask)?)
            }
        };
    }
    let method = match single(method)? {
        "trust" => Method::Trust,
        "reject" => Method::Reject,
        "scram-sha-256" => Method::Scram,
        "cert" if kind == Kind::Encrypted => Method::Cert,
        "cert" => return Err("method \"cert\" needs type hostssl".to_string()),
        "peer" if kind == Kind::Local => Method::Peer,
        "peer" => return Err("method \"peer\" needs type local".to_string()),
        other => return Err(format!("method \"{other}\" is not supported")),
    };
    match rest.next() {
        None => Ok(Rule {
            kind,
            databases,
            users,
            addresses,
            method,
        }),
        Some(_) => Err("options of a method are not supported".to_string()),
    }
}

fn single(field: &Field) -> Result<&str, String> {
    match field.as_slice() {
        [(word, _)] => Ok(word),
        _ => Err("a list stands where one word is wanted".to_string()),
    }
}

fn words(field: &Field, of_databases: bool) -> Result<Vec<Word>, String> {
    let word = |(word, quoted): &(String, bool)| match word.as_str() {
        name if *quoted => Ok(Word::Name(name.to_string())),
        "all" => Ok(Word::All),
        "sameuser" if of_databases => Ok(Word::SameUser),
        name @ ("samerole" | "samegroup" | "replication") if of_databases => {
            Err(format!("database \"{name}\" is not supported"))
        }
        name if name.starts_with(['@', '+', '/']) => Err(format!("\"{name}\" is not supported")),
        name => Ok(Word::Name(name.to_string())),
    };
    field.iter().map(word).collect()
}

fn parse_address(text: &str) -> Result<IpAddr, String> {
    text.parse()
        .map_err(|_| format!("\"{text}\" is no address; names of hosts are not supported"))
}

fn net_of(net: &str, bits: &str) -> Result<Addresses, String> {
    let net = parse_address(net)?;
    let most = if net.is_ipv4() { 32 } else { 128 };
    let bits = bits.parse().ok().filter(|bits| *bits <= most);
    let bits = bits.ok_or_else(|| "the mask's length is not one".to_string())?;
    Ok(Addresses::Net(net, bits))
}

/// The length of a mask that is written as an address.
fn bits_of(net: IpAddr, mask: IpAddr) -> Result<u8, String> {
    let (ones, width, is_mask) = match (net, mask) {
        (IpAddr::V4(_), IpAddr::V4(mask)) => {
            let mask = u32::from(mask);
            (
                mask.leading_ones(),
                32,
                mask.leading_ones() == mask.count_ones(),
            )
        }
        (IpAddr::V6(_), IpAddr::V6(mask)) => {
            let mask = u128::from(mask);
            (
                mask.leading_ones(),
                128,
                mask.leading_ones() == mask.count_ones(),
            )
        }
        _ => (0, 0, false),
    };
    match is_mask && ones <= width {
        true => Ok(ones as u8),
        false => Err(format!("\"{mask}\" is no mask for {net}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(rules: &str, address: &str, encrypted: bool, user: &str) -> Option<Method> {
        let rules = Rules::read(rules).unwrap();
        rules.method(&Caller {
            address: match address {
                "[local]" => None,
                address => Some(address.parse().unwrap()),
            },
            encrypted,
            user,
            database: "shop",
        })
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = "# who may come\n\
            local shop ann trust\n\
            local all all peer\n\
            host shop ann, bob 10.0.0.0 255.0.0.0 trust # friends\n\
            hostssl all \"all\" 0.0.0.0/0 cert\n\
            hostnossl all all ::1/128 reject\n\
            host sameuser all all trust\n\
            host all all 192.168.1.0/24 scram-sha-256\n";
        assert_eq!(method(rules, "10.1.2.3", false, "bob"), Some(Method::Trust));
        assert_eq!(
            method(rules, "::ffff:10.1.2.3", false, "bob"),
            Some(Method::Trust)
        );
        assert_eq!(method(rules, "11.1.2.3", false, "bob"), None);
        assert_eq!(method(rules, "11.1.2.3", true, "all"), Some(Method::Cert));
        assert_eq!(method(rules, "11.1.2.3", true, "eve"), None);
        assert_eq!(method(rules, "::1", false, "eve"), Some(Method::Reject));
        assert_eq!(method(rules, "::1", true, "shop"), Some(Method::Trust));
        assert_eq!(
            method(rules, "192.168.1.9", true, "eve"),
            Some(Method::Scram)
        );
        assert_eq!(method(rules, "192.168.2.9", true, "eve"), None);
        assert_eq!(method(rules, "[local]", false, "ann"), Some(Method::Trust));
        assert_eq!(method(rules, "[local]", false, "bob"), Some(Method::Peer));
        let rules = "host all all all trust\n";
        assert_eq!(method(rules, "[local]", false, "ann"), None);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        for line in [
            "host all all 10.0.0.0/8",
            "host all all 10.0.0.0/33 trust",
            "host all all 10.0.0.0 255.0.255.0 trust",
            "host all all example.org trust",
            "host all all all md5",
            "host all all all cert",
            "host all all all peer",
            "local all all all trust",
            "hostgssenc all all all trust",
            "host all +group all trust",
            "host replication all all trust",
            "host all all all scram-sha-256 map=x",
            "host all \"all all trust",
            "host",
        ] {
            let text = format!("host all all all trust\n\n{line}\n");
            let (number, why) = Rules::read(&text).unwrap_err();
            assert_eq!(number, 3, "{line}: {why}");
        }
    }
}
