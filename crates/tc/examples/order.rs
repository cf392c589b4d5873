//! What a transaction of many records costs this component alone: what TPC-C's NewOrder asks of it, without the statements.
//!
//! ```text
//! cargo build --release -p quintet-tc --example order
//! valgrind --tool=callgrind --toggle-collect='*measured*' target/release/examples/order 500
//! ```
//! Callgrind's count inside `measured`, divided by the transactions, is instructions for each.

use quintet_base::{Durability, Level, SpaceId};
use quintet_dc::{MemoryMedium, MemoryStore};
use quintet_rt::{Disk, Rand, SimDisk};
use quintet_tc::{Error, Place, Tc, TcConfig, Txn};
use quintet_wal::{Wal, WalConfig};
use std::sync::Arc;

const WAREHOUSE: SpaceId = SpaceId(1001);
const DISTRICT: SpaceId = SpaceId(1002);
const CUSTOMER: SpaceId = SpaceId(1003);
const ITEM: SpaceId = SpaceId(1004);
const STOCK: SpaceId = SpaceId(1005);
const ORDERS: SpaceId = SpaceId(1006);
const BY_CUSTOMER: SpaceId = SpaceId(1007);
const NEW_ORDER: SpaceId = SpaceId(1008);
const LINE: SpaceId = SpaceId(1009);

fn key(parts: &[u32]) -> Vec<u8> {
    let encoded = parts
        .iter()
        .flat_map(|part| [1].into_iter().chain((part ^ 1 << 31).to_be_bytes()));
    encoded.collect()
}

fn insert(txn: &mut Txn, space: SpaceId, key: &[u8], value: &[u8]) -> Result<(), Error> {
    txn.begin_point();
    let place = Place::new(space, key);
    txn.expect(place);
    let taken = txn.read_claimed_at(place, |row| row.is_some())?;
    assert!(!taken);
    txn.put_at(place, value)
}

fn update(txn: &mut Txn, space: SpaceId, key: &[u8], row: &mut Vec<u8>) -> Result<(), Error> {
    txn.begin_point();
    let place = Place::new(space, key);
    txn.read_claimed_at(place, |stored| {
        row.clear();
        row.extend_from_slice(stored.expect("it is there"));
    })?;
    row[7] = row[7].wrapping_add(1);
    txn.put_at(place, row)
}

fn read(txn: &mut Txn, space: SpaceId, key: &[u8]) -> Result<usize, Error> {
    txn.begin_point();
    txn.read(space, key, |row| row.map_or(0, <[u8]>::len))
}

struct Order {
    district: u32,
    customer: u32,
    number: u32,
    items: Vec<u32>,
}

#[inline(never)]
fn measured(tc: &Tc, order: &Order, row: &mut Vec<u8>) -> Result<(), Error> {
    run(tc, order, row)
}

fn run(tc: &Tc, order: &Order, row: &mut Vec<u8>) -> Result<(), Error> {
    let Order {
        district,
        customer,
        number,
        items,
    } = order;
    let mut txn = tc.begin(Level::Serializable);
    txn.write_optimistically();
    let mut keys: Vec<(SpaceId, Vec<u8>)> = vec![
        (WAREHOUSE, key(&[1])),
        (DISTRICT, key(&[1, *district])),
        (CUSTOMER, key(&[1, *district, *customer])),
    ];
    for item in items {
        keys.push((ITEM, key(&[*item])));
        keys.push((STOCK, key(&[1, *item])));
    }
    let announced: Vec<_> = keys.iter().map(|(s, k)| (*s, &k[..])).collect();
    txn.announce(&announced);
    read(&mut txn, WAREHOUSE, &keys[0].1)?;
    update(&mut txn, DISTRICT, &keys[1].1, row)?;
    read(&mut txn, CUSTOMER, &keys[2].1)?;
    let orders = key(&[1, *district, *number]);
    insert(&mut txn, ORDERS, &orders, &[3; 40])?;
    let by_customer = key(&[1, *district, *customer, *number, 1, *district, *number]);
    txn.put(BY_CUSTOMER, &by_customer, &orders)?;
    insert(&mut txn, NEW_ORDER, &orders, &[4; 16])?;
    for (line, pair) in (1..).zip(keys[3..].chunks(2)) {
        read(&mut txn, ITEM, &pair[0].1)?;
        update(&mut txn, STOCK, &pair[1].1, row)?;
        insert(
            &mut txn,
            LINE,
            &key(&[1, *district, *number, line]),
            &[5; 64],
        )?;
    }
    txn.commit(Durability::Async).map(drop)
}

fn fill(tc: &Tc, space: SpaceId, rows: impl Iterator<Item = Vec<u8>>, bytes: usize) {
    let rows: Vec<Vec<u8>> = rows.collect();
    for rows in rows.chunks(1000) {
        let mut txn = tc.begin(Level::Snapshot);
        for key in rows {
            txn.put(space, key, vec![9; bytes]).expect("it fits");
        }
        txn.commit(Durability::Async).expect("nobody else commits");
    }
}

fn main() {
    let count: u32 = std::env::args()
        .nth(1)
        .expect("how many")
        .parse()
        .expect("a number");
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
    let wal = WalConfig {
        durability: Durability::Async,
        ring_bytes: 512 << 20,
        keep_in_memory: true,
        ..WalConfig::new("/log")
    };
    let (log, _) = Wal::open(disk, wal, None).expect("a new log");
    let store = Arc::new(MemoryStore::open(&MemoryMedium::default()));
    let (tc, _) = Tc::open(log, store, TcConfig::for_memory(4 << 30)).expect("it opens");
    fill(&tc, WAREHOUSE, [key(&[1])].into_iter(), 90);
    fill(&tc, DISTRICT, (1..=10).map(|d| key(&[1, d])), 100);
    let orders = || (1..=10).flat_map(|d| (1..=3000).map(move |o| [1, d, o]));
    fill(&tc, CUSTOMER, orders().map(|parts| key(&parts)), 560);
    fill(&tc, ORDERS, orders().map(|parts| key(&parts)), 40);
    fill(
        &tc,
        NEW_ORDER,
        orders().filter(|o| o[2] > 2100).map(|parts| key(&parts)),
        16,
    );
    let by_customer = orders().map(|[w, d, o]| key(&[w, d, o * 7 % 3000 + 1, o, w, d, o]));
    fill(&tc, BY_CUSTOMER, by_customer, 15);
    let lines = orders().flat_map(|[w, d, o]| (1..=10).map(move |l| key(&[w, d, o, l])));
    fill(&tc, LINE, lines, 64);
    fill(&tc, ITEM, (1..=100_000).map(|i| key(&[i])), 80);
    fill(&tc, STOCK, (1..=100_000).map(|i| key(&[1, i])), 310);
    let mut rand = Rand::seeded(7);
    let mut row = Vec::new();
    let mut next = [3001; 11];
    for done in 0..count + 200 {
        let district = 1 + rand.below(10) as u32;
        let mut items: Vec<u32> = (0..10).map(|_| 1 + rand.below(100_000) as u32).collect();
        items.sort_unstable();
        items.dedup();
        let order = Order {
            district,
            customer: 1 + rand.below(3000) as u32,
            number: next[district as usize],
            items,
        };
        next[district as usize] += 1;
        let result = match done < 200 {
            true => run(&tc, &order, &mut row),
            false => measured(&tc, &order, &mut row),
        };
        result.expect("nobody else commits");
    }
}
