//! Lists of privileges, and how GRANT and REVOKE change them.
//!
//! Relies on: [`Roles`] for who has whose privileges.  Promises: a list changes as PostgreSQL's does: who grants is written
//! down, what was granted on with a grant option goes with it, nobody grants in a circle; the text is that of `aclitem`.
//! Does not: know which object a list belongs to.

use super::Roles;
use quintet_base::{RoleId, SqlError, SqlResult, SqlState};
use quintet_ir::{ObjectKind, Privileges};

/// What somebody was granted by somebody.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Item {
    pub grantee: RoleId,
    pub grantor: RoleId,
    pub privileges: Privileges,
    /// Those that the grantee may grant on.
    pub options: Privileges,
}

/// All grants on an object.
pub(crate) type Acl = Vec<Item>;

/// Whether dependent grants go too, or keep a grant from being taken back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Behavior {
    Restrict,
    Cascade,
}

/// A change of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Add,
    Remove,
}

/// All privileges that there are on a kind of object.
pub(crate) fn all_of(kind: ObjectKind) -> Privileges {
    use Privileges as P;
    match kind {
        ObjectKind::Table => {
            P::INSERT | P::SELECT | P::UPDATE | P::DELETE | P::TRUNCATE | P::REFERENCES | P::TRIGGER
        }
        ObjectKind::Sequence => P::SELECT | P::UPDATE | P::USAGE,
        ObjectKind::Routine => P::EXECUTE,
        ObjectKind::Type => P::USAGE,
        ObjectKind::Schema => P::USAGE | P::CREATE,
        ObjectKind::Database => P::CREATE | P::TEMPORARY | P::CONNECT,
    }
}

/// The list of an object that nothing was granted on.
pub(crate) fn default_acl(kind: ObjectKind, owner: RoleId) -> Acl {
    let everybody = match kind {
        ObjectKind::Routine => Privileges::EXECUTE,
        ObjectKind::Type => Privileges::USAGE,
        ObjectKind::Database => Privileges::TEMPORARY | Privileges::CONNECT,
        ObjectKind::Table | ObjectKind::Sequence | ObjectKind::Schema => Privileges::NONE,
    };
    let item = |grantee, privileges| Item {
        grantee,
        grantor: owner,
        privileges,
        options: Privileges::NONE,
    };
    let items = [item(RoleId::PUBLIC, everybody), item(owner, all_of(kind))];
    let items = items.into_iter().filter(|item| !item.privileges.is_empty());
    items.collect()
}

/// Which of the wanted privileges a role has.
pub(crate) fn privileges_of(
    roles: &Roles,
    acl: &[Item],
    role: RoleId,
    wanted: Privileges,
) -> Privileges {
    let applies = |item: &&Item| {
        item.grantee == RoleId::PUBLIC || roles.has_privileges_of(role, item.grantee)
    };
    let given = acl.iter().filter(applies);
    given.fold(Privileges::NONE, |all, item| {
        all | (item.privileges & wanted)
    })
}

/// Which of the wanted privileges a role may grant. The owner may grant all.
pub(crate) fn options_of(
    roles: &Roles,
    acl: &[Item],
    role: RoleId,
    owner: RoleId,
    wanted: Privileges,
) -> Privileges {
    if roles.has_privileges_of(role, owner) {
        return wanted;
    }
    let given = acl.iter().filter(|item| {
        item.grantee == RoleId::PUBLIC || roles.has_privileges_of(role, item.grantee)
    });
    given.fold(Privileges::NONE, |all, item| all | (item.options & wanted))
}

/// Who is written down as the grantor when `role` grants, and what that one may grant.
pub(crate) fn best_grantor(
    roles: &Roles,
    acl: &[Item],
    role: RoleId,
    owner: RoleId,
    wanted: Privileges,
) -> (RoleId, Privileges) {
    if role == owner || roles.is_superuser(role) {
        return (owner, wanted);
    }
    let direct = |other: RoleId| match other == owner {
        true => wanted,
        false => {
            let own = acl.iter().filter(|item| item.grantee == other);
            own.fold(Privileges::NONE, |all, item| all | (item.options & wanted))
        }
    };
    let mut best = (role, Privileges::NONE);
    for other in roles.inherited(role) {
        let options = direct(*other);
        if options == wanted {
            return (*other, options);
        }
        if options.count() > best.1.count() {
            best = (*other, options);
        }
    }
    best
}

/// A list after a change of one item.
///
/// # Errors
/// `0LP01` for a grant in a circle, `2BP01` if others depend on what is taken back and are not to lose it.
pub(crate) fn update(
    acl: &[Item],
    change: Item,
    mode: Mode,
    owner: RoleId,
    behavior: Behavior,
) -> SqlResult<Acl> {
    if mode == Mode::Add && !change.options.is_empty() {
        refuse_circle(acl, change, owner)?;
    }
    let mut next = acl.to_vec();
    let same = |item: &Item| item.grantee == change.grantee && item.grantor == change.grantor;
    let place = next.iter().position(same).unwrap_or_else(|| {
        next.push(Item {
            privileges: Privileges::NONE,
            options: Privileges::NONE,
            ..change
        });
        next.len() - 1
    });
    let item = &mut next[place];
    let before = item.options;
    match mode {
        Mode::Add => {
            item.privileges |= change.privileges;
            item.options |= change.options;
        }
        Mode::Remove => {
            item.privileges = item.privileges & !change.privileges;
            item.options = item.options & !change.options;
        }
    }
    let lost = before & !item.options;
    if item.privileges.is_empty() && item.options.is_empty() {
        next.remove(place);
    }
    match lost.is_empty() {
        true => Ok(next),
        false => revoke_further(next, change.grantee, lost, owner, behavior),
    }
}

/// Takes back what somebody has granted who may not grant it any more.
fn revoke_further(
    mut acl: Acl,
    grantor: RoleId,
    lost: Privileges,
    owner: RoleId,
    behavior: Behavior,
) -> SqlResult<Acl> {
    // The owner never loses them.
    if grantor == owner {
        return Ok(acl);
    }
    // They may be had from somebody else, too.
    let others = acl.iter().filter(|item| item.grantee == grantor);
    let still = others.fold(Privileges::NONE, |all, item| all | item.options);
    let lost = lost & !still;
    while let Some(item) = acl
        .iter()
        .copied()
        .find(|item| item.grantor == grantor && !(item.privileges & lost).is_empty())
    {
        if behavior == Behavior::Restrict {
            return Err(SqlError::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                "dependent privileges exist",
            )
            .hint("Use CASCADE to revoke them too."));
        }
        let gone = Item {
            privileges: lost,
            options: lost,
            ..item
        };
        acl = update(&acl, gone, Mode::Remove, owner, behavior)?;
    }
    Ok(acl)
}

/// Nobody gets a grant option from whom they have given it to themselves.
fn refuse_circle(acl: &[Item], change: Item, owner: RoleId) -> SqlResult<()> {
    if change.grantor == owner {
        return Ok(());
    }
    let mut without = acl.to_vec();
    while let Some(item) = without
        .iter()
        .copied()
        .find(|item| item.grantee == change.grantee && !item.options.is_empty())
    {
        without = update(&without, item, Mode::Remove, owner, Behavior::Cascade)?;
    }
    let own = without.iter().filter(|item| item.grantee == change.grantor);
    let own = own.fold(Privileges::NONE, |all, item| all | item.options);
    match own.contains(change.options) {
        true => Ok(()),
        false => Err(SqlError::new(
            SqlState::INVALID_GRANT_OPERATION,
            "grant options cannot be granted back to your own grantor",
        )),
    }
}

/// The list when the object has got another owner: what the old one has given and got is the new one's.
pub(crate) fn with_new_owner(acl: &[Item], old: RoleId, new: RoleId) -> Acl {
    let renamed = |role| if role == old { new } else { role };
    let mut next = Acl::new();
    for item in acl {
        let (grantee, grantor) = (renamed(item.grantee), renamed(item.grantor));
        let same = |other: &&mut Item| other.grantee == grantee && other.grantor == grantor;
        match next.iter_mut().find(same) {
            Some(other) => {
                other.privileges |= item.privileges;
                other.options |= item.options;
            }
            None => next.push(Item {
                grantee,
                grantor,
                ..*item
            }),
        }
    }
    next
}

/// The list without what roles were granted, and what they have granted on.
///
/// # Errors
/// As [`update`].
pub(crate) fn without_role(acl: &[Item], roles: &[RoleId], owner: RoleId) -> SqlResult<Acl> {
    let mut next = acl.to_vec();
    let is_theirs = |item: &&Item| roles.contains(&item.grantee);
    while let Some(item) = next.iter().find(is_theirs).copied() {
        next = update(&next, item, Mode::Remove, owner, Behavior::Cascade)?;
    }
    Ok(next)
}

/// `grantee=letters/grantor`, a star behind each letter that may be granted on.
pub(crate) fn text(roles: &Roles, item: &Item) -> String {
    let mut text = match item.grantee {
        RoleId::PUBLIC => String::new(),
        grantee => name(roles, grantee),
    };
    text.push('=');
    for (privilege, _, letter) in Privileges::ALL {
        if item.privileges.contains(privilege) {
            text.push(letter);
        }
        if item.options.contains(privilege) {
            text.push('*');
        }
    }
    text.push('/');
    text.push_str(&name(roles, item.grantor));
    text
}

/// A role's name as it stands in an item: quoted unless it is made of letters, digits and underscores; a number, if it
/// has gone.
fn name(roles: &Roles, role: RoleId) -> String {
    let Some(role) = roles.get(role) else {
        return role.to_string();
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match role.name.chars().all(plain) {
        true => role.name.clone(),
        false => format!("\"{}\"", role.name.replace('"', "\"\"")),
    }
}

/// Reads what [`text`] writes; `None`: it is none, or names a role that is not there.
pub(crate) fn parse(roles: &Roles, text: &str) -> Option<Item> {
    let (grantee, rest) = parse_name(text)?;
    let rest = rest.strip_prefix('=')?;
    let (letters, grantor) = rest.split_once('/')?;
    let (grantor, "") = parse_name(grantor)? else {
        return None;
    };
    let mut item = Item {
        grantee: match grantee.as_str() {
            "" => RoleId::PUBLIC,
            name => role(roles, name)?,
        },
        grantor: role(roles, &grantor)?,
        privileges: Privileges::NONE,
        options: Privileges::NONE,
    };
    let mut last = Privileges::NONE;
    for letter in letters.chars() {
        if letter == '*' {
            item.options |= last;
            continue;
        }
        let known = Privileges::ALL.iter().find(|(.., its)| *its == letter)?;
        last = known.0;
        item.privileges |= last;
    }
    Some(item)
}

/// A name at the beginning, without its quotes, and what is behind it.
fn parse_name(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(['=', '/']).unwrap_or(text.len());
        return Some((text[..end].to_string(), &text[end..]));
    };
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let (part, behind) = rest.split_once('"')?;
        name.push_str(part);
        match behind.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, behind)),
        }
    }
}

/// A role by its name, or by its number if it has gone.
fn role(roles: &Roles, name: &str) -> Option<RoleId> {
    let number = || name.parse().ok().map(RoleId);
    roles.named(name).or_else(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: RoleId = RoleId(100);
    const ANN: RoleId = RoleId(101);
    const BOB: RoleId = RoleId(102);

    fn item(grantee: RoleId, grantor: RoleId, options: Privileges) -> Item {
        Item {
            grantee,
            grantor,
            privileges: Privileges::SELECT,
            options,
        }
    }

    fn add(acl: &[Item], item: Item) -> SqlResult<Acl> {
        update(acl, item, Mode::Add, OWNER, Behavior::Restrict)
    }

    #[test]
    fn what_was_granted_on_goes_with_the_grant_option_or_keeps_it() {
        let read = Privileges::SELECT;
        let mut acl = default_acl(ObjectKind::Table, OWNER);
        acl = add(&acl, item(ANN, OWNER, read)).unwrap();
        acl = add(&acl, item(BOB, ANN, Privileges::NONE)).unwrap();
        let take = item(ANN, OWNER, read);
        let kept = update(&acl, take, Mode::Remove, OWNER, Behavior::Restrict).unwrap_err();
        assert_eq!(kept.message, "dependent privileges exist");
        let acl = update(&acl, take, Mode::Remove, OWNER, Behavior::Cascade).unwrap();
        assert_eq!(acl, default_acl(ObjectKind::Table, OWNER));
    }

    #[test]
    fn nobody_grants_in_a_circle() {
        let read = Privileges::SELECT;
        let mut acl = default_acl(ObjectKind::Table, OWNER);
        acl = add(&acl, item(ANN, OWNER, read)).unwrap();
        acl = add(&acl, item(BOB, ANN, read)).unwrap();
        let back = add(&acl, item(ANN, BOB, read)).unwrap_err();
        assert_eq!(back.state, SqlState::INVALID_GRANT_OPERATION);
    }

    #[test]
    fn a_new_owner_has_what_the_old_one_had_once() {
        let acl = vec![
            item(OWNER, OWNER, Privileges::NONE),
            item(ANN, OWNER, Privileges::NONE),
        ];
        let acl = with_new_owner(&acl, OWNER, ANN);
        assert_eq!(acl, vec![item(ANN, ANN, Privileges::NONE)]);
    }
}
