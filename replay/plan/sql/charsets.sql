-- SPDX-License-Identifier: Apache-2.0
-- Which character set does a login request? The result maps the id of a collation (one byte of the handshake) to the
-- name of its character set.
--
-- Source: information_schema.COLLATIONS of MySQL 8.0 and MariaDB 10.11, without character sets that servers no longer
-- have.
--
-- Input: none. Run by hand: duckdb < charsets.sql
SELECT unnest(ids)::INTEGER AS id, name FROM (VALUES
    ('big5', [1, 84]), ('latin2', [2, 9, 21, 27, 77]), ('koi8r', [7, 74]), ('latin1', [5, 8, 15, 31, 47, 48, 49, 94]),
    ('ascii', [11, 65]), ('ujis', [12, 91]), ('sjis', [13, 88]), ('cp1251', [14, 23, 50, 51, 52]), ('hebrew', [16, 71]),
    ('tis620', [18, 89]), ('euckr', [19, 85]), ('latin7', [20, 41, 42, 79]), ('koi8u', [22, 75]), ('gb2312', [24, 86]),
    ('greek', [25, 70]), ('cp1250', [26, 34, 44, 66, 99]), ('gbk', [28, 87]), ('latin5', [30, 78]), ('cp866', [36, 68]),
    ('cp852', [40, 81]), ('cp1256', [57, 67]), ('cp1257', [29, 58, 59]), ('binary', [63]), ('cp850', [4, 80]),
    ('cp932', [95, 96]), ('eucjpms', [97, 98]), ('utf8', [33, 76, 83, 223] || range(192, 216)),
    ('utf8mb4', [45, 46] || range(224, 248) || range(255, 324))
) AS sets(name, ids)
