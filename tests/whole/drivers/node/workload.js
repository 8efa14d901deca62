// SPDX-License-Identifier: Apache-2.0
// The common workload of the driver tests in Node.js: `node workload.js mysql2|mariadb`.
'use strict';

const fs = require('fs');
const os = require('os');
const path = require('path');

const env = process.env;
const large = Number(env.QT_LARGE || 200000);
const address = { host: env.QT_HOST, port: Number(env.QT_PORT), user: env.QT_USER, password: env.QT_PASSWORD || '', database: env.QT_DB };
const insert = 'INSERT INTO items (name, qty, price, made, day, raw, note, big, ratio) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)';
const row = ["caf\u00e9 \u4e2d 'it''s' \\", -7, '12345.67', '2026-02-28 23:59:59.123456', '1999-12-31',
  Buffer.from(Array.from({ length: 256 }, (_, n) => n)), null, '18446744073709551615', 0.1];

async function fails(promise) {
  let failed = false;
  try { await promise; } catch { failed = true; }
  if (!failed) throw new Error('an error was expected');
}

async function common(con) {
  await con.query("INSERT INTO steps (what) VALUES ('text')");
  await con.query('/* app:shop */ SELECT COUNT(*) FROM steps -- behind');
  await fails(con.query('SELECT nothing FROM nowhere'));
  await con.query(insert, row);
  for (let n = 0; n < 5; n++) await con.execute(insert, [`p${n}`, n, ...row.slice(2)]);
  for (let n = 0; n < 3; n++) await con.execute('SELECT id, name, made, raw FROM items WHERE qty = ?', [n]);
  await fails(con.execute('INSERT INTO large (id, body) VALUES (?, ?), (?, ?)', [1, 'a', 1, 'b']));
  for (const [n, end] of [[0, 'commit'], [1, 'rollback'], [2, 'commit']]) {
    await con.beginTransaction();
    await con.execute('INSERT INTO steps (what) VALUES (?)', [`transaction ${n}`]);
    await con.query('DELETE FROM items WHERE qty = ?', [n]);
    await con[end]();
  }
  await con.query('REPLACE INTO large VALUES (1, ?)', ["x'\n".repeat(Math.floor(large / 3))]);
  await con.query("INSERT INTO steps (what) VALUES ('one'); INSERT INTO steps (what) VALUES ('two'); SELECT 3");
  await con.query("CALL add_item('from node')");
  await con.execute('CALL add_item(?)', ['prepared call']);
  await con.ping();
}

async function throughMysql2() {
  const mysql = require('mysql2/promise');
  for (let round = 0; round < 2; round++) {
    const con = await mysql.createConnection({ ...address, multipleStatements: true, supportBigNumbers: true });
    await common(con);
    await con.query('INSERT INTO steps (what) VALUES ?', [Array.from({ length: 20 }, (_, n) => [`batch ${n}`])]);
    await con.query({
      sql: "LOAD DATA LOCAL INFILE 'lines' INTO TABLE loaded",
      infileStreamFactory: () => require('stream').Readable.from(Array.from({ length: 500 }, (_, n) => Buffer.from(`${n}\tline ${n}\n`))),
    });
    await con.changeUser({ user: env.QT_USER, password: env.QT_PASSWORD || '', database: env.QT_DB });
    await con.query("INSERT INTO steps (what) VALUES ('another user')");
    con.unprepare('SELECT id, name, made, raw FROM items WHERE qty = ?');
    await con.end();
  }
}

async function throughMariadb() {
  const mariadb = require('mariadb');
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'qt-')), 'lines.txt');
  fs.writeFileSync(file, Array.from({ length: 500 }, (_, n) => `${n}\tline ${n}\n`).join(''));
  for (let round = 0; round < 2; round++) {
    const con = await mariadb.createConnection({ ...address, multipleStatements: true, permitLocalInfile: true });
    await common(con);
    await con.batch('INSERT INTO steps (what) VALUES (?)', Array.from({ length: 20 }, (_, n) => [`batch ${n}`]));
    await con.query(`LOAD DATA LOCAL INFILE '${file}' INTO TABLE loaded`);
    await con.reset();
    await con.query("INSERT INTO steps (what) VALUES ('after reset')");
    if (con.info.isMariaDB()) { // the driver refuses it on MySQL
      await con.changeUser({ user: env.QT_USER, password: env.QT_PASSWORD || '', database: env.QT_DB });
      await con.query("INSERT INTO steps (what) VALUES ('another user')");
    }
    await con.end();
  }
  fs.rmSync(path.dirname(file), { recursive: true });
}

({ mysql2: throughMysql2, mariadb: throughMariadb })[process.argv[2]]().catch((error) => {
  console.error(error);
  process.exit(1);
});
