//! ORDER BY with and without LIMIT: the first of all rows in order are what a LIMIT gives, whatever was left out on the way.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use support::{open_with, rows, state};

/// Enough rows that those behind the last one wanted are left out, with ties, NULLs and values at the ends of their types.
const SETUP: &str = "
    create table t (id int primary key, i int, l bigint, s smallint, x text, c char(12), n numeric, f float8, d date, b bool, g int not null);
    insert into t select n,
        case when n % 11 = 0 then null else (n * 7919) % 1009 - 500 end,
        case n % 13 when 0 then null when 1 then 9223372036854775807 when 2 then -9223372036854775807 - 1 else n * 31 % 97 end,
        case when n % 7 = 0 then null else (n % 5)::smallint end,
        case when n % 17 = 0 then null when n % 3 = 0 then 'same beginning ' || n * 7919 % 613 else chr(97 + n % 26) end,
        case when n % 19 = 0 then null else repeat('z', n % 4) || repeat(' ', n % 3) end,
        case n % 23 when 0 then null when 1 then 'NaN' when 2 then 1e30 else (n * 7919 % 1013) / 8.0 - 50 end,
        case n % 29 when 0 then null when 1 then 'NaN' when 2 then '-Infinity' when 3 then -0.0 when 4 then 0 else (n * 7919 % 1013) / 8.0 end,
        case when n % 31 = 0 then null else date '2020-01-01' + n * 7919 % 400 end,
        case when n % 5 = 0 then null else n % 2 = 0 end,
        n % 10
      from generate_series(1, 1500) n;";

#[test]
fn a_limit_gives_the_first_of_all_rows() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    let mut compared = 0;
    for column in [
        "i", "l", "s", "x", "c", "n", "f", "d", "b", "i + g", "lower(x)", "-n",
    ] {
        for way in ["", " desc", " nulls first", " desc nulls last"] {
            for rest in ["id", "g desc, id", "x desc, id"] {
                for filter in ["", " where g < 7", " where g = 3 and i is not null"] {
                    let query = format!(
                        "select id, {column} from t{filter} order by {column}{way}, {rest}"
                    );
                    let all = rows(&mut client, &query);
                    for limit in ["limit 10", "limit 3 offset 5", "limit 400", "limit 0"] {
                        let numbers: Vec<usize> = limit
                            .split(' ')
                            .filter_map(|word| word.parse().ok())
                            .collect();
                        let (count, from) = (numbers[0], numbers.get(1).copied().unwrap_or(0));
                        let expected: Vec<_> = all.iter().skip(from).take(count).cloned().collect();
                        assert_eq!(
                            rows(&mut client, &format!("{query} {limit}")),
                            expected,
                            "{query} {limit}"
                        );
                        compared += 1;
                    }
                }
            }
        }
    }
    assert_eq!(compared, 12 * 4 * 3 * 3 * 4);
}

#[test]
fn rows_that_are_equal_keep_their_order() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    for column in ["g", "s", "c", "b"] {
        let query = format!("select id from t order by {column}");
        let by_number = format!("{query}, id");
        assert_eq!(
            rows(&mut client, &query),
            rows(&mut client, &by_number),
            "{column}"
        );
        let first = format!("{query} limit 20");
        assert_eq!(
            rows(&mut client, &first),
            rows(&mut client, &format!("{by_number} limit 20")),
            "{column}"
        );
    }
}

#[test]
fn what_fails_behind_the_last_row_fails() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    // Only rows of the greatest i have it.
    client
        .query("update t set g = 0 where i = (select max(i) from t)")
        .unwrap();
    let sql = "select id from t order by i, 1 / g limit 5";
    assert_eq!(state(&mut client, sql), SqlState::DIVISION_BY_ZERO);
}

#[test]
fn a_row_gives_a_column_as_often_as_it_is_named() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    let sql = "select x, x, length(x), id, id + 1, c from (select * from t where id between 40 and 43 order by x) q";
    let expected = [
        "o|o|1|40|41|            ",
        "same beginning 352|same beginning 352|18|42|43|zz          ",
        "p|p|1|41|42|z           ",
        "r|r|1|43|44|zzz         ",
    ];
    let mut got = rows(&mut client, sql);
    got.sort_by_key(|row| row.split('|').nth(3).unwrap().to_owned());
    let mut expected: Vec<_> = expected.map(str::to_owned).into();
    expected.sort_by_key(|row| row.split('|').nth(3).unwrap().to_owned());
    assert_eq!(got, expected);
    let sql = "select sum(length(a)), sum(length(b)), count(distinct a) from (select x as a, x as b, id from t order by l, id) q";
    let plain = "select sum(length(x)), sum(length(x)), count(distinct x) from t";
    assert_eq!(rows(&mut client, sql), rows(&mut client, plain));
    let sql = "select max(r), sum(length(x)) from (select x, row_number() over (partition by g, s order by x, id) r from t) q";
    let plain =
        "select max(c), sum(l) from (select count(*) c, sum(length(x)) l from t group by g, s) q";
    assert_eq!(rows(&mut client, sql), rows(&mut client, plain));
}
