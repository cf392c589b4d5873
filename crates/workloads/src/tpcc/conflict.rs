//! The conflict keys of TPC-C's calls, made by hand, for measuring a scheduler alone.
//!
//! Relies on: `procedures.sql`, read by a person.  Promises: at SNAPSHOT with columns told apart, two calls that
//! may write the same column of a row, or insert the same key, have keys that meet; no others have.
//! Does not: replace what `analysis` derives from the text of a procedure; it is what a test of that may
//! be compared with.
//!
//! | call | keys |
//! |---|---|
//! | new-order | district's next order (w, d); stock (supplying w, item) of each line; inserts of orders, new orders and lines (w, d) |
//! | payment | warehouse's sum (w); district's sum (w, d); customer (w, d, c), by name (w, d) |
//! | delivery | new orders, orders, lines and customers (w), since districts and orders are found at run time |
//! | order-status, stock-level | none: they read |
//!
//! An insert conflicts with an insert and not with an update or a deletion: those act on rows of their snapshot.

use super::{DELIVERY, NEW_ORDER, PAYMENT};
use crate::call::{Argument, Call};
use quintet_base::conflict::{ConflictKey, Mode, Modes, Space};

const WAREHOUSE: Space = Space(0);
const DISTRICT: Space = Space(1);
const CUSTOMER: Space = Space(2);
const STOCK: Space = Space(3);
const ORDERS: Space = Space(4);
const NEW_ORDERS: Space = Space(5);
const ORDER_LINES: Space = Space(6);

/// Writes what the other procedures do not write.
const OWN: Mode = Mode(0);
/// Of a district: the number of the next order. Of orders and lines: a row.
const NEW: Mode = Mode(1);

/// Which of the modes conflict.
pub fn conflict_modes() -> Modes {
    let mut modes = Modes::new();
    for space in [
        WAREHOUSE,
        DISTRICT,
        CUSTOMER,
        STOCK,
        ORDERS,
        NEW_ORDERS,
        ORDER_LINES,
    ] {
        modes.declare(space, OWN, OWN);
    }
    for space in [DISTRICT, ORDERS, NEW_ORDERS, ORDER_LINES] {
        modes.declare(space, NEW, NEW);
    }
    modes
}

/// What a call writes; none if it only reads.
pub fn conflict_keys(call: &Call) -> Vec<ConflictKey> {
    let part = |at: usize| match &call.arguments[at] {
        Argument::Int(Some(number)) => Some(hash(*number)),
        _ => None,
    };
    let known = |at: usize| part(at).expect("keys are not null");
    let key = ConflictKey::new;
    match call.procedure {
        NEW_ORDER => {
            let district = [known(0), known(1)];
            let (Argument::Ints(items), Argument::Ints(supplies)) =
                (&call.arguments[3], &call.arguments[4])
            else {
                unreachable!("lists of items and warehouses")
            };
            let mut keys = Vec::with_capacity(4 + items.len());
            keys.push(key(DISTRICT, NEW, &district));
            for space in [ORDERS, NEW_ORDERS, ORDER_LINES] {
                keys.push(key(space, NEW, &district));
            }
            let lines = items.iter().zip(supplies);
            keys.extend(lines.map(|(item, supply)| key(STOCK, OWN, &[hash(*supply), hash(*item)])));
            keys
        }
        PAYMENT => {
            let customer = [known(2), known(3), part(4).unwrap_or(0)];
            let depth = if part(4).is_some() { 3 } else { 2 };
            vec![
                key(WAREHOUSE, OWN, &[known(0)]),
                key(DISTRICT, OWN, &[known(0), known(1)]),
                key(CUSTOMER, OWN, &customer[..depth]),
            ]
        }
        DELIVERY => [NEW_ORDERS, ORDERS, ORDER_LINES, CUSTOMER]
            .map(|space| key(space, OWN, &[known(0)]))
            .to_vec(),
        _ => Vec::new(),
    }
}

/// Spreads neighbours.
fn hash(number: i32) -> u64 {
    (number as u64 ^ 0x9E37_79B9)
        .wrapping_mul(0xBF58_476D_1CE4_E5B9)
        .rotate_left(31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Ending;

    fn call(procedure: usize, arguments: Vec<Argument>) -> Vec<ConflictKey> {
        conflict_keys(&Call {
            procedure,
            arguments,
            ending: Ending::Commit,
        })
    }

    fn int(number: i32) -> Argument {
        Argument::Int(Some(number))
    }

    fn order(warehouse: i32, district: i32, lines: &[(i32, i32)]) -> Vec<ConflictKey> {
        let items = lines.iter().map(|line| line.0).collect();
        let supplies = lines.iter().map(|line| line.1).collect();
        let quantities = lines.iter().map(|_| 1).collect();
        let lists = [items, supplies, quantities].map(Argument::Ints);
        let mut arguments = vec![int(warehouse), int(district), int(1)];
        arguments.extend(lists);
        call(NEW_ORDER, arguments)
    }

    fn payment(w: i32, d: i32, cw: i32, cd: i32, c: Option<i32>) -> Vec<ConflictKey> {
        let name = c.is_none().then(|| "BARBARBAR".to_string());
        let customer = [Argument::Int(c), Argument::Text(name), Argument::Cents(1)];
        let mut arguments = vec![int(w), int(d), int(cw), int(cd)];
        arguments.extend(customer);
        call(PAYMENT, arguments)
    }

    fn meet(a: &[ConflictKey], b: &[ConflictKey]) -> bool {
        let modes = conflict_modes();
        a.iter()
            .any(|key| b.iter().any(|other| key.meets(other, &modes)))
    }

    // The four conditions of the thesis's Table 5.2, and no other pair.
    #[test]
    fn pairs_meet_as_the_thesis_says() {
        let some_order = order(1, 1, &[(7, 1), (8, 2)]);
        assert!(meet(&some_order, &order(1, 1, &[(9, 1)])), "same district");
        assert!(meet(&some_order, &order(2, 5, &[(8, 2)])), "same stock");
        assert!(
            !meet(&some_order, &order(2, 5, &[(7, 2)])),
            "same item, other stock"
        );

        let some_payment = payment(1, 1, 2, 3, Some(4));
        assert!(
            meet(&some_payment, &payment(1, 9, 5, 5, Some(5))),
            "same warehouse"
        );
        assert!(
            meet(&some_payment, &payment(3, 1, 2, 3, Some(4))),
            "same customer"
        );
        assert!(
            meet(&some_payment, &payment(3, 1, 2, 3, None)),
            "perhaps the same"
        );
        assert!(
            !meet(&some_payment, &payment(3, 1, 2, 4, None)),
            "another district"
        );

        let delivery = |warehouse| call(DELIVERY, vec![int(warehouse), int(1)]);
        assert!(meet(&delivery(1), &delivery(1)) && !meet(&delivery(1), &delivery(2)));
        assert!(
            meet(&delivery(2), &some_payment),
            "the customer's warehouse"
        );
        assert!(!meet(&delivery(1), &some_payment), "only the payment's");

        assert!(!meet(&some_order, &delivery(1)) && !meet(&some_order, &some_payment));
    }
}
