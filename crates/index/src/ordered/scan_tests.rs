//! What threads hardly ever meet: a leaf whose edge goes while a scan is on its way to it.

use crossbeam_epoch::pin;

use super::*;
use crate::ordered::Node;

struct Number([u8; 8]);

// SAFETY: never changed; the test's numbers outlive its index.
unsafe impl Entry for Number {
    fn key(&self) -> &[u8] {
        &self.0
    }
}

/// Goal: a leaf whose neighbour under another parent goes is not taken to end where it did.
/// Method: the way to a leaf that ends at a separator of the root, walked by hand; all behind
/// that separator is removed before the leaf's view is taken.
#[test]
fn an_edge_from_further_up_is_proved_after_the_leaf() {
    let numbers: Vec<Number> = (0..60_u64).map(|at| Number(at.to_be_bytes())).collect();
    let index = OrderedIndex::new();
    let guard = pin();
    for number in &numbers {
        // SAFETY: the numbers outlive the index.
        assert!(unsafe { index.insert(number, &guard) }.is_none());
    }
    let (root, view) = index.root(&guard).unwrap();
    let Kind::Inner(inner) = root.kind() else {
        panic!("one leaf")
    };
    assert_eq!(root.level(), 2, "the edge is to come from above the parent");
    let step = Step {
        inner,
        view,
        index: 0,
    };
    let edge = step.edge(Direction::Forward).unwrap();
    let (parent, parent_view) = inner.child::<Number>(0, &view).unwrap();
    let Kind::Inner(inner) = parent.kind() else {
        panic!("no parent")
    };
    let last = inner.keys.len();
    let stop = || {
        let (leaf, view): (Node<'_, Number>, _) = inner.child(last, &parent_view)?;
        match leaf.kind() {
            Kind::Leaf(leaf) => Stop::new(leaf, view, edge, None, false),
            Kind::Inner(_) => panic!("no leaf"),
        }
    };
    assert!(stop().is_ok(), "nothing has changed");

    let behind = edge.unwrap().bytes;
    for number in numbers.iter().filter(|number| number.key() >= behind) {
        assert!(index.remove(number.key(), &guard).is_some());
    }
    assert!(
        parent_view.still().is_ok(),
        "the leaf's parent has not changed"
    );
    assert!(stop().is_err(), "the leaf goes on behind its edge now");
}
