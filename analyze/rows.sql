-- SPDX-License-Identifier: Apache-2.0
-- Where did the same event return or change another number of rows? Between two runs, per digest. Input: outcome.
SELECT b.digest,
    count(*) AS events,
    count(*) FILTER (a.rows_sent IS DISTINCT FROM b.rows_sent) AS sent_differ,
    count(*) FILTER (a.rows_affected IS DISTINCT FROM b.rows_affected) AS affected_differ,
    sum(b.rows_sent - a.rows_sent)::BIGINT AS more_sent,
    sum(b.rows_affected - a.rows_affected)::BIGINT AS more_affected,
    arg_min(b.session, (b.session, b.seq)) AS first_session, arg_min(b.seq, (b.session, b.seq)) AS first_seq
FROM outcome AS a
JOIN outcome AS b ON b.run = 'b' AND a.session = b.session AND a.seq = b.seq AND a.clone = b.clone AND a.round = b.round AND b.ok
WHERE a.run = 'a' AND a.ok
    AND (a.rows_sent IS DISTINCT FROM b.rows_sent OR a.rows_affected IS DISTINCT FROM b.rows_affected)
GROUP BY b.digest
ORDER BY events DESC, b.digest
