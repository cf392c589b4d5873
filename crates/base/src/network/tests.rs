use super::*;
use crate::key;
use crate::types::SqlType;
use crate::value::Value;

fn shown(inet: Inet) -> String {
    let mut out = Vec::new();
    write(inet, &mut out);
    String::from_utf8(out).unwrap()
}

/// Addresses of few networks, so that many lie within others, and some of any bits.
fn addresses() -> Vec<Inet> {
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let mut state = seed | 1;
    let mut below = |n: u64| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (state >> 24) % n
    };
    let mut out = Vec::new();
    for _ in 0..400 {
        let family = [Family::V4, Family::V6][below(2) as usize];
        let mut bytes = vec![0; family.bytes()];
        let choices = if below(4) == 0 { 256 } else { 3 };
        for byte in &mut bytes {
            *byte = [0, 1, 128, 255][below(4) as usize] & below(choices) as u8;
        }
        let bits = below(u64::from(family.bits()) + 1) as u8;
        out.push(Inet::new(family, &bytes, bits).unwrap());
    }
    out
}

/// The order of the rule's words, bit by bit.
fn order_by_bits(a: Inet, b: Inet) -> Ordering {
    let bit = |inet: Inet, place: u8| inet.address()[usize::from(place / 8)] >> (7 - place % 8) & 1;
    if a.family() != b.family() {
        return a.family().cmp(&b.family());
    }
    let both = a.bits().min(b.bits());
    (0..both)
        .map(|place| bit(a, place).cmp(&bit(b, place)))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| (a.bits().cmp(&b.bits())).then_with(|| a.address().cmp(b.address())))
}

#[test]
fn keys_are_in_the_order_of_values_and_read_back() {
    let all = addresses();
    let key = |inet: Inet| {
        let mut out = Vec::new();
        key::encode(&Value::Inet(inet), &mut out);
        out
    };
    for &a in &all {
        let mut bytes: &[u8] = &key(a);
        assert_eq!(
            key::decode(SqlType::Inet, &mut bytes).unwrap(),
            Value::Inet(a)
        );
        assert!(bytes.is_empty());
        let network = a.network();
        let mut bytes: &[u8] = &key(network);
        assert_eq!(
            key::decode(SqlType::Cidr, &mut bytes).unwrap(),
            Value::Inet(network)
        );
        assert_eq!(key(network), key(network.as_inet()));
        for &b in &all {
            let order = a.order(b);
            assert_eq!(order, order_by_bits(a, b), "{a:?} and {b:?}");
            assert_eq!(order, key(a).cmp(&key(b)), "{a:?} and {b:?}");
        }
    }
}

#[test]
fn what_is_written_reads_back() {
    for inet in addresses() {
        assert_eq!(parse_inet(&shown(inet)).unwrap(), inet);
        let network = inet.network();
        assert_eq!(parse_cidr(&shown(network)).unwrap(), network);
        let mut mac = [0; 6];
        mac[..4].copy_from_slice(&inet.address()[..4]);
        let mut text = Vec::new();
        write_mac(mac, &mut text);
        assert_eq!(parse_mac(std::str::from_utf8(&text).unwrap()).unwrap(), mac);
    }
}

#[test]
fn broken_keys_are_refused() {
    let mut whole = Vec::new();
    let inet = parse_inet("10.1.2.3/8").unwrap();
    key::encode(&Value::Inet(inet), &mut whole);
    for (place, byte) in [(1, 9), (2, 11), (6, 33), (6, 16)] {
        let mut broken = whole.clone();
        broken[place] = byte;
        let mut bytes: &[u8] = &broken;
        assert!(key::decode(SqlType::Inet, &mut bytes).is_err(), "{place}");
    }
    let mut bytes: &[u8] = &whole;
    assert!(key::decode(SqlType::Cidr, &mut bytes).is_err());
}
