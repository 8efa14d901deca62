// SPDX-License-Identifier: Apache-2.0
//! The drivers' workload through the crate `mysql`.

use mysql::prelude::Queryable;
use mysql::{params, Conn, LocalInfileHandler, OptsBuilder, TxOpts, Value};
use std::env;
use std::io::Write;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const INSERT: &str =
    "INSERT INTO items (name, qty, price, made, day, raw, note, big, ratio) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

fn row(name: &str, qty: i32) -> Vec<Value> {
    vec![
        name.into(),
        qty.into(),
        "12345.67".into(),
        Value::Date(2026, 2, 28, 23, 59, 59, 123_456),
        Value::Date(1999, 12, 31, 0, 0, 0, 0),
        (0..=255u8).collect::<Vec<u8>>().into(),
        Value::NULL,
        u64::MAX.into(),
        0.1f64.into(),
    ]
}

fn work(con: &mut Conn, large: usize) -> Outcome {
    con.ping()?;
    con.query_drop("INSERT INTO steps (what) VALUES ('text')")?;
    con.query_drop("/* app:shop */ SELECT COUNT(*) FROM steps -- behind")?;
    assert!(con.query_drop("SELECT nothing FROM nowhere").is_err());
    let insert = con.prep(INSERT)?;
    for n in 0..5 {
        con.exec_drop(&insert, row(&format!("p{n}"), n))?;
    }
    con.close(insert)?;
    for n in 0..3 {
        con.exec_drop("SELECT id, name, made, raw FROM items WHERE qty = ?", (n,))?;
    }
    for n in 0..3 {
        let mut transaction = con.start_transaction(TxOpts::default())?;
        transaction.exec_drop("INSERT INTO steps (what) VALUES (:what)", params! {"what" => format!("transaction {n}")})?;
        if n == 1 {
            transaction.rollback()?;
        } else {
            transaction.commit()?;
        }
    }
    con.exec_batch("INSERT INTO steps (what) VALUES (?)", (0..20).map(|n| (format!("batch {n}"),)))?;
    con.exec_drop("REPLACE INTO large VALUES (1, ?)", ("x'\n".repeat(large / 3),))?;
    con.query_drop("INSERT INTO steps (what) VALUES ('one'); INSERT INTO steps (what) VALUES ('two')")?;
    con.exec_drop("CALL add_item(?)", ("from rust",))?;
    con.set_local_infile_handler(Some(LocalInfileHandler::new(|_, to| {
        for n in 0..500 {
            writeln!(to, "{n}\tline {n}")?;
        }
        Ok(())
    })));
    con.query_drop("LOAD DATA LOCAL INFILE 'lines' INTO TABLE loaded")?;
    con.reset()?;
    con.query_drop("INSERT INTO steps (what) VALUES ('after reset')")?;
    Ok(())
}

fn main() -> Outcome {
    let get = |name: &str| env::var(name).unwrap_or_default();
    let large = get("QT_LARGE").parse().unwrap_or(200_000);
    let address = OptsBuilder::new()
        .ip_or_hostname(Some(get("QT_HOST")))
        .tcp_port(get("QT_PORT").parse()?)
        .prefer_socket(false)
        .user(Some(get("QT_USER")))
        .pass(Some(get("QT_PASSWORD")))
        .db_name(Some(get("QT_DB")));
    for _ in 0..2 {
        work(&mut Conn::new(address.clone())?, large)?;
    }
    Ok(())
}
