// node-postgres: a pool, parameters, prepared statements, transactions, types, errors, cursors.
'use strict';

const { Pool, Client, types } = require('pg');
const Cursor = require('pg-cursor');

async function main() {
  const pool = new Pool({ max: 4 });
  await pool.query('DROP TABLE IF EXISTS line');
  await pool.query(`CREATE TABLE line (id serial PRIMARY KEY, name varchar(20) NOT NULL UNIQUE, amount numeric(10, 2) DEFAULT 1,
    made timestamptz, day date, facts jsonb, tags text[], flag boolean, bytes bytea, big bigint)`);
  const inserted = await pool.query(
    'INSERT INTO line (name, amount, made, day, facts, tags, flag, bytes, big) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING *',
    ['a', '12.50', new Date(Date.UTC(2026, 1, 28, 12, 30, 1, 250)), '2026-02-28', { list: [1, { deep: null }] }, ['x', 'y "z"', null],
      true, Buffer.from([0, 1, 255]), '9007199254740993']);
  const row = inserted.rows[0];
  row.day = row.day.getDate();
  console.log('inserted', inserted.command, inserted.rowCount, JSON.stringify(row));
  console.log('fields', inserted.fields.map((field) => [field.name, field.dataTypeID, field.dataTypeModifier]).join(' '));

  const statement = { name: 'by-name', text: 'SELECT id, amount FROM line WHERE name = $1' };
  for (const name of ['a', 'nobody', 'a']) {
    const found = await pool.query({ ...statement, values: [name] });
    console.log('prepared', name, found.rowCount, JSON.stringify(found.rows));
  }
  const asked = Array.from({ length: 20 }, (_, i) => pool.query('SELECT $1::int * 2 AS double', [i]));
  console.log('at once', (await Promise.all(asked)).map((found) => found.rows[0].double).join(','));
  console.log('rows as arrays', JSON.stringify((await pool.query({ text: 'SELECT 1, 2 AS b, NULL', rowMode: 'array' })).rows));
  console.log('several', (await pool.query('SELECT 1 AS a; SELECT 2 AS b')).map((found) => JSON.stringify(found.rows)).join(' '));

  const client = await pool.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query("INSERT INTO line (name) SELECT 'n' || i FROM generate_series(1, 250) AS i");
  await client.query('SAVEPOINT s');
  try {
    await client.query("INSERT INTO line (name) VALUES ('a')");
  } catch (error) {
    console.log('refused', error.code, error.constraint, error.table, error.detail);
  }
  await client.query('ROLLBACK TO s');
  console.log('inside', (await client.query('SELECT count(*) FROM line')).rows[0].count);
  console.log('outside', (await pool.query('SELECT count(*) FROM line')).rows[0].count);
  await client.query('COMMIT');

  const cursor = client.query(new Cursor('SELECT id, name FROM line WHERE id > $1 ORDER BY name', [1]));
  let [chunks, rows] = [0, 0];
  for (let part = await cursor.read(100); part.length > 0; part = await cursor.read(100)) {
    chunks += 1;
    rows += part.length;
  }
  await cursor.close();
  console.log('cursor', chunks, rows);
  client.release();

  for (const wrong of ['SELECT * FROM nothing', 'SELEC', 'SELECT 1 / 0', "SELECT 'x'::int"]) {
    try {
      await pool.query(wrong);
    } catch (error) {
      console.log('wrong', error.code, error.severity, error.position, error.message);
    }
  }
  const notices = [];
  const single = new Client();
  await single.connect();
  single.on('notice', (notice) => notices.push(`${notice.code} ${notice.message}`));
  await single.query('DROP TABLE IF EXISTS nothing');
  console.log('notices', notices.join('; '));
  console.log('changed', (await single.query('UPDATE line SET flag = false WHERE id % 2 = 0')).rowCount);
  console.log('deleted', (await single.query('DELETE FROM line WHERE id > $1', [10])).rowCount);
  console.log('catalogue', JSON.stringify((await single.query(
    "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name = 'line' ORDER BY ordinal_position")).rows));
  types.setTypeParser(20, BigInt);
  console.log('bigint', (await single.query('SELECT max(big) AS big FROM line')).rows[0].big === 9007199254740993n);
  await single.query('DROP TABLE line');
  await single.end();
  await pool.end();
  console.log('end');
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
