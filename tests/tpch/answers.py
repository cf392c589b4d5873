"""The 22 queries of TPC-H at a small scale: all of them are answered, by rows that another way of asking agrees with."""

from harness import check, equal, server, test
from tpch import load
from tpch.queries import QUERIES

SCALE = 0.002

# The same answers without subqueries, or with others.
OTHER_WAYS = {
    4: """
select o_orderpriority, count(distinct o_orderkey)
from orders join lineitem on l_orderkey = o_orderkey and l_commitdate < l_receiptdate
where o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-10-01'
group by o_orderpriority order by o_orderpriority
""",
    13: """
select c_count, count(*) as custdist
from (select c_custkey, (select count(*) from orders where o_custkey = c_custkey and o_comment not like '%special%requests%')
      from customer) as c (c_custkey, c_count)
group by c_count order by custdist desc, c_count desc
""",
    17: """
select sum(l_extendedprice) / 7.0
from lineitem join part on p_partkey = l_partkey
     join (select l_partkey as k, 0.2 * avg(l_quantity) as least from lineitem group by l_partkey) a on a.k = p_partkey
where p_brand = 'Brand#23' and p_container = 'MED BOX' and l_quantity < least
""",
    22: """
select substring(c_phone from 1 for 2), count(*), sum(c_acctbal)
from customer left join (select distinct o_custkey from orders) o on o_custkey = c_custkey
where substring(c_phone from 1 for 2) in ('13', '31', '23', '29', '30', '18', '17') and o_custkey is null
  and c_acctbal > (select avg(c_acctbal) from customer
                   where c_acctbal > 0 and substring(c_phone from 1 for 2) in ('13', '31', '23', '29', '30', '18', '17'))
group by 1 order by 1
""",
}


@test
def every_query_is_answered():
    with server() as one, one.connect() as connection:
        connection.autocommit = True
        check(load.fill(connection, SCALE) > 15_000, "rows")
        for number, sql in QUERIES.items():
            rows = connection.execute(sql).fetchall()
            if number in OTHER_WAYS:
                equal(rows, connection.execute(OTHER_WAYS[number]).fetchall(), f"query {number}")
            # With files for what joins keep: the largest of them keep more than this at any scale.
            connection.execute("set work_mem = '1536kB'")
            equal(rows, connection.execute(sql).fetchall(), f"query {number} with little memory")
            connection.execute("reset work_mem")
