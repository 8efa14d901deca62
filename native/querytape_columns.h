/* SPDX-License-Identifier: Apache-2.0 */
/* Made by `make names` from schemas/tape.sql and schemas/run.sql, which say what each means. Do not edit. */
/* clang-format off */
#ifndef QUERYTAPE_COLUMNS_H
#define QUERYTAPE_COLUMNS_H

/* events of schemas/tape.sql */
enum qt_events_column {
    QT_EVENTS_SESSION,
    QT_EVENTS_SEQ,
    QT_EVENTS_THREAD_ID,
    QT_EVENTS_COMMAND,
    QT_EVENTS_START_NS,
    QT_EVENTS_DURATION_NS,
    QT_EVENTS_PRECISION_NS,
    QT_EVENTS_REQUEST_NS,
    QT_EVENTS_FIRST_BYTE_NS,
    QT_EVENTS_USER,
    QT_EVENTS_HOST,
    QT_EVENTS_DB,
    QT_EVENTS_STATEMENT,
    QT_EVENTS_STMT,
    QT_EVENTS_PARAMS,
    QT_EVENTS_INSERT_ID,
    QT_EVENTS_INSERT_IDS,
    QT_EVENTS_LAST_INSERT_ID,
    QT_EVENTS_FILE,
    QT_EVENTS_OFFSET,
    QT_EVENTS_DIGEST,
    QT_EVENTS_CLASS,
    QT_EVENTS_ACTIONS,
    QT_EVENTS_ROWS_SENT,
    QT_EVENTS_ROWS_EXAMINED,
    QT_EVENTS_ROWS_AFFECTED,
    QT_EVENTS_BYTES_SENT,
    QT_EVENTS_LOCK_NS,
    QT_EVENTS_WARNINGS,
    QT_EVENTS_ERRNO,
    QT_EVENTS_ERROR,
    QT_EVENTS_CHECKSUM,
    QT_EVENTS_FLAGS,
    QT_EVENTS_COLUMNS
};
#define QT_EVENTS_SPECS { \
    {"session", 'l', 0}, \
    {"seq", 'l', 0}, \
    {"thread_id", 'l', 1}, \
    {"command", 'u', 0}, \
    {"start_ns", 'l', 0}, \
    {"duration_ns", 'l', 1}, \
    {"precision_ns", 'l', 0}, \
    {"request_ns", 'l', 1}, \
    {"first_byte_ns", 'l', 1}, \
    {"user", 'u', 1}, \
    {"host", 'u', 1}, \
    {"db", 'u', 1}, \
    {"statement", 'z', 1}, \
    {"stmt", 'l', 1}, \
    {"params", 'z', 1}, \
    {"insert_id", 'l', 1}, \
    {"insert_ids", 'u', 1}, \
    {"last_insert_id", 'l', 1}, \
    {"file", 'i', 0}, \
    {"offset", 'l', 0}, \
    {"digest", 'u', 1}, \
    {"class", 'u', 1}, \
    {"actions", 'l', 1}, \
    {"rows_sent", 'l', 1}, \
    {"rows_examined", 'l', 1}, \
    {"rows_affected", 'l', 1}, \
    {"bytes_sent", 'l', 1}, \
    {"lock_ns", 'l', 1}, \
    {"warnings", 'l', 1}, \
    {"errno", 'i', 1}, \
    {"error", 'u', 1}, \
    {"checksum", 'u', 1}, \
    {"flags", 'l', 0} }

/* problems of schemas/tape.sql */
enum qt_problems_column {
    QT_PROBLEMS_FILE,
    QT_PROBLEMS_LINE,
    QT_PROBLEMS_OFFSET,
    QT_PROBLEMS_KIND,
    QT_PROBLEMS_DETAIL,
    QT_PROBLEMS_COLUMNS
};
#define QT_PROBLEMS_SPECS { \
    {"file", 'i', 0}, \
    {"line", 'l', 0}, \
    {"offset", 'l', 0}, \
    {"kind", 'u', 0}, \
    {"detail", 'u', 0} }

/* outcomes of schemas/run.sql */
enum qt_outcomes_column {
    QT_OUTCOMES_SESSION,
    QT_OUTCOMES_SEQ,
    QT_OUTCOMES_CLONE,
    QT_OUTCOMES_DUE_NS,
    QT_OUTCOMES_QUEUED_NS,
    QT_OUTCOMES_FREE_NS,
    QT_OUTCOMES_SENT_NS,
    QT_OUTCOMES_FIRST_NS,
    QT_OUTCOMES_DONE_NS,
    QT_OUTCOMES_STATUS,
    QT_OUTCOMES_REASON,
    QT_OUTCOMES_ROWS_SENT,
    QT_OUTCOMES_ROWS_AFFECTED,
    QT_OUTCOMES_BYTES_RECEIVED,
    QT_OUTCOMES_WARNINGS,
    QT_OUTCOMES_ERRNO,
    QT_OUTCOMES_ERROR,
    QT_OUTCOMES_CHECKSUM,
    QT_OUTCOMES_ORDER_NS,
    QT_OUTCOMES_ON_READ_TARGET,
    QT_OUTCOMES_COLUMNS
};
#define QT_OUTCOMES_SPECS { \
    {"session", 'l', 0}, \
    {"seq", 'l', 0}, \
    {"clone", 'i', 0}, \
    {"due_ns", 'l', 1}, \
    {"queued_ns", 'l', 1}, \
    {"free_ns", 'l', 1}, \
    {"sent_ns", 'l', 1}, \
    {"first_ns", 'l', 1}, \
    {"done_ns", 'l', 1}, \
    {"status", 'u', 0}, \
    {"reason", 'u', 1}, \
    {"rows_sent", 'l', 1}, \
    {"rows_affected", 'l', 1}, \
    {"bytes_received", 'l', 1}, \
    {"warnings", 'l', 1}, \
    {"errno", 'i', 1}, \
    {"error", 'u', 1}, \
    {"checksum", 'u', 1}, \
    {"order_ns", 'l', 1}, \
    {"on_read_target", 'b', 1} }

/* sessions of schemas/run.sql */
enum qt_sessions_column {
    QT_SESSIONS_SESSION,
    QT_SESSIONS_CLONE,
    QT_SESSIONS_OPENED_AHEAD,
    QT_SESSIONS_CONNECT_DUE_NS,
    QT_SESSIONS_CONNECT_NS,
    QT_SESSIONS_CONNECTED_NS,
    QT_SESSIONS_CLOSED_NS,
    QT_SESSIONS_THREAD_ID,
    QT_SESSIONS_EXECUTED,
    QT_SESSIONS_INJECTED,
    QT_SESSIONS_IN_TRANSACTION,
    QT_SESSIONS_ERRNO,
    QT_SESSIONS_ERROR,
    QT_SESSIONS_COLUMNS
};
#define QT_SESSIONS_SPECS { \
    {"session", 'l', 0}, \
    {"clone", 'i', 0}, \
    {"opened_ahead", 'b', 0}, \
    {"connect_due_ns", 'l', 1}, \
    {"connect_ns", 'l', 1}, \
    {"connected_ns", 'l', 1}, \
    {"closed_ns", 'l', 1}, \
    {"thread_id", 'l', 1}, \
    {"executed", 'l', 0}, \
    {"injected", 'l', 0}, \
    {"in_transaction", 'b', 1}, \
    {"errno", 'i', 1}, \
    {"error", 'u', 1} }

#endif
