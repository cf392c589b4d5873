//! The common name in a certificate that has been verified.
//!
//! Relies on: whoever verified it; DER as X.509 has it (RFC 5280, section 4.1).  Promises: one common name, or none: a
//! certificate with several is nobody's.  Does not: verify anything.
//!
//! ```text
//! Certificate ─ tbsCertificate ─ [0] version?, serial, signature, issuer, validity, subject
//!                                                                                  └ SET of (OID, value)
//! ```

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OID: u8 = 0x06;
const VERSION: u8 = 0xa0;
/// UTF8String and PrintableString; others are not names that a user could have.
const TEXTS: [u8; 2] = [0x0c, 0x13];
/// 2.5.4.3
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];

/// What is left of a structure.
struct Der<'d>(&'d [u8]);

impl<'d> Der<'d> {
    /// The next element: its tag and what is in it.
    fn next(&mut self) -> Option<(u8, &'d [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let length = match first {
            0..=0x7f => usize::from(first),
            0x81..=0x84 => {
                let (bytes, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
                rest = after;
                bytes
                    .iter()
                    .fold(0, |all, byte| all << 8 | usize::from(*byte))
            }
            _ => return None,
        };
        let (inside, after) = rest.split_at_checked(length)?;
        self.0 = after;
        Some((tag, inside))
    }

    fn expect(&mut self, tag: u8) -> Option<&'d [u8]> {
        self.next()
            .filter(|(found, _)| *found == tag)
            .map(|(_, inside)| inside)
    }
}

/// The subject's common name.
pub(crate) fn common_name(certificate: &[u8]) -> Option<String> {
    let certificate = Der(certificate).expect(SEQUENCE)?;
    let mut fields = Der(Der(certificate).expect(SEQUENCE)?);
    let (tag, _) = fields.next()?;
    if tag == VERSION {
        fields.next()?; // the serial number
    }
    fields.expect(SEQUENCE)?; // signature
    fields.expect(SEQUENCE)?; // issuer
    fields.expect(SEQUENCE)?; // validity
    let mut subject = Der(fields.expect(SEQUENCE)?);
    let mut name = None;
    while let Some((tag, set)) = subject.next() {
        let mut set = Der(set);
        while let (SET, Some(pair)) = (tag, set.expect(SEQUENCE)) {
            let mut pair = Der(pair);
            if pair.expect(OID)? != COMMON_NAME {
                continue;
            }
            let (kind, value) = pair.next()?;
            let text = std::str::from_utf8(value)
                .ok()
                .filter(|_| TEXTS.contains(&kind))?;
            if name.replace(text).is_some() || text.contains('\0') {
                return None;
            }
        }
    }
    name.map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let inside = parts.concat();
        let length = u8::try_from(inside.len()).expect("short");
        [&[tag, 0x81, length][..], &inside].concat()
    }

    fn certificate(subject: &[Vec<u8>]) -> Vec<u8> {
        let empty = element(SEQUENCE, &[]);
        let sets: Vec<&[u8]> = subject.iter().map(Vec::as_slice).collect();
        let subject = element(SEQUENCE, &sets);
        let version = element(VERSION, &[&[2, 1, 2]]);
        let fields = element(
            SEQUENCE,
            &[&version, &[2, 1, 7], &empty, &empty, &empty, &subject],
        );
        element(SEQUENCE, &[&fields])
    }

    fn name(oid: &[u8], text: &str) -> Vec<u8> {
        let (oid, text) = (element(OID, &[oid]), element(0x0c, &[text.as_bytes()]));
        element(SET, &[&element(SEQUENCE, &[&oid, &text])])
    }

    #[test]
    fn one_common_name_is_a_name_and_two_are_none() {
        let organisation = name(&[0x55, 0x04, 0x0a], "shop");
        let (ann, bob) = (name(&COMMON_NAME, "ann"), name(&COMMON_NAME, "bob"));
        let of = |subject: &[Vec<u8>]| common_name(&certificate(subject));
        assert_eq!(
            of(&[organisation.clone(), ann.clone()]).as_deref(),
            Some("ann")
        );
        assert_eq!(of(&[ann, bob]), None);
        assert_eq!(of(std::slice::from_ref(&organisation)), None);
        let whole = certificate(&[organisation]);
        for end in 0..whole.len() {
            assert_eq!(common_name(&whole[..end]), None, "cut off at {end}");
        }
    }
}
