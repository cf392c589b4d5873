"""A pool of asyncpg: prepared statements, arrays, transactions, cursors, COPY, channels, and its reset between users."""

import asyncio
import decimal
import os

import asyncpg


async def main():
    pool = await asyncpg.create_pool(
        host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]), user=os.environ["PGUSER"],
        database=os.environ["PGDATABASE"], min_size=1, max_size=2,
    )
    async with pool.acquire() as c:
        await c.execute("create table item (id serial primary key, name text not null unique, price numeric, tags text[], at timestamp)")
        for n in range(1, 8):
            found = await c.fetchval(
                "insert into item (name, price, tags) values ($1, $2, $3) returning id",
                f"item {n}", decimal.Decimal(n) / 4, ["a", f"t{n}"] if n % 2 else None,
            )
            print("made", found)
        print([tuple(row) for row in await c.fetch("select id, name, price, tags, at from item where id = any($1::int[]) order by id", [1, 2, 9])])
        try:
            await c.execute("insert into item (name) values ($1)", "item 1")
        except asyncpg.UniqueViolationError as error:
            print("refused", error.sqlstate)
        async with c.transaction(isolation="serializable"):
            async with c.transaction():
                await c.execute("delete from item where id = 7")
            try:
                async with c.transaction():
                    await c.execute("delete from item where id = 6")
                    raise ValueError("undone")
            except ValueError:
                pass
        async with c.transaction():
            print([row["id"] async for row in c.cursor("select id from item order by id", prefetch=2)])
        print(await c.copy_records_to_table("item", records=[("copied", 1), ("too", 2)], columns=["name", "price"]))
        print(await c.fetchval("select count(*) from item"))
    # The pool has reset the connection: nothing of it is left.
    heard = asyncio.Queue()
    async with pool.acquire() as listener, pool.acquire() as speaker:
        def hear(_connection, _process, channel, payload):
            heard.put_nowait((channel, payload))

        await listener.add_listener("news", hear)
        await speaker.execute("notify news, 'hello'")
        async with speaker.transaction():
            await speaker.execute("select pg_notify($1, $2)", "news", "from a transaction")
        print([await asyncio.wait_for(heard.get(), 30) for _ in range(2)])
        await listener.remove_listener("news", hear)
        print(await speaker.fetchval("select pg_try_advisory_lock(7)"), await listener.fetchval("select pg_try_advisory_lock(7)"))
    async with pool.acquire() as one, pool.acquire() as other:
        print(await one.fetchval("select pg_try_advisory_lock(7)"), await other.fetchval("select pg_try_advisory_lock(7)"))
    await pool.close()


asyncio.run(main())
