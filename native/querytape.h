/* SPDX-License-Identifier: Apache-2.0 */
/* The complete public interface of querytape's native part. Both the compiler and cffi read this file.
 *
 * Conventions
 *  - A function that can fail returns 0 or one of enum qt_code and fills `struct qt_error` (which may be NULL).
 *  - Functions do not print or exit, and there is no global state.
 *  - The caller owns the result of `_new`/`_open` and passes it to the matching `_free`/`_close`.
 *  - Texts returned inside a struct belong to the object that filled it.
 *  - Times are int64 nanoseconds. The name of a time shows its starting point.
 *  - Rows are exchanged as Arrow C streams (arrow_abi.h). A stream does nothing before its first get_next. A function
 *    may be called several times to get several streams. A stream must not outlive the object that created it. */
#ifndef QUERYTAPE_H
#define QUERYTAPE_H

#include <stddef.h>
#include <stdint.h>

#include "querytape_names.h"

/* cffi: begin */

struct ArrowArrayStream;

enum qt_code {
    QT_OK = 0,
    QT_EINVALID = 1, /* an argument is out of its range */
    QT_EIO = 2,      /* a system call failed; the message contains its error text */
    QT_EFORMAT = 3,  /* the input is not in the expected format */
    QT_ENOMEM = 4,
    QT_ECONNECT = 5, /* the server was unreachable or refused the connection */
    QT_ESTATE = 6,   /* the function was called in the wrong state */
    QT_EAGAIN = 7,   /* inside a reader: no input is available now, but more may follow */
    QT_EACCES = 8    /* this process lacks a permission */
};

struct qt_error {
    int code; /* enum qt_code */
    char message[508];
};

/* ---- statements: lexer, normaliser, digest (normalize.c) ------------------------------------------------- */

struct qt_statement {
    uint64_t digest;  /* XXH3-64 of the normalised text; shown as 16 lower-case hex digits */
    const char *text; /* the normalised text; not NUL-terminated, non-ASCII bytes unchanged */
    size_t text_len;
    const char *redacted; /* the statement with its literals replaced, or NULL */
    size_t redacted_len;
    int32_t klass;      /* enum qt_class */
    int32_t danger;     /* enum qt_danger */
    uint32_t actions;   /* QT_ACTION_* */
    uint32_t flags;     /* QT_F_REDACTED, QT_F_USE, QT_F_TIMESTAMP, QT_F_SQL_PREPARE, QT_F_PLACEHOLDER */
    int32_t open_quote; /* first byte of an unterminated literal or comment (' " ` or *); 0 = none */
    int32_t sets_mode;  /* not 0: the statement may affect later parsing; call qt_session_mode_follow */
};

/* Session settings that change how the statements of the session are parsed. They decide which bytes form a literal.
 * All 0 = all settings are unknown. Unknown settings are guessed. If a statement has several possible readings, the
 * worst result counts. */
struct qt_session_mode {
    uint8_t reading; /* 1 = NO_BACKSLASH_ESCAPES, 2 = ANSI_QUOTES */
    uint8_t
        charset;   /* 1 = gbk or gb18030, 2 = big5, 3 = sjis or cp932; 4, 5 = 0xA0 or 0xFF is a blank; 0 = any other */
    uint8_t known; /* known settings: 1 = NO_BACKSLASH_ESCAPES, 2 = ANSI_QUOTES, 4 = the character set */
};

struct qt_normalizer;
struct qt_normalizer *qt_normalizer_new(void); /* returns NULL when out of memory */
void qt_normalizer_free(struct qt_normalizer *);
/* Normalises one statement of `len` arbitrary bytes, with the settings of its session. A NULL mode means unknown
 * settings. `out` is valid until the next call with the same normaliser. */
int qt_normalize(struct qt_normalizer *, const struct qt_session_mode *, const char *sql, size_t len,
                 struct qt_statement *out, struct qt_error *);
/* Applies the settings that an executed statement changes. `outcome`: 1 = it succeeded, -1 = it failed. 0 = the outcome
 * is unknown, or the input may lack other statements of the session. */
void qt_session_mode_follow(struct qt_normalizer *, struct qt_session_mode *, const char *sql, size_t len,
                            int32_t outcome);
/* Applies the settings of a login with this collation id. */
void qt_session_mode_login(struct qt_session_mode *, int64_t collation, const char *server_version);
/* Finds the session settings for which `sql` has the digest `digest`. The default settings are tried first. If no
 * settings match, `*out` is all 0. */
void qt_session_mode_of_digest(struct qt_normalizer *, uint64_t digest, const char *sql, size_t len,
                               struct qt_session_mode *out);
/* The tables that a statement uses and the routines that it calls. Names are in lower case, with or without their
 * schema. Each name ends with a NUL. Parts that are not plain identifiers are in back quotes. The names are valid until
 * the next call. */
struct qt_statement_names {
    const char *tables;
    size_t tables_len;
    const char *calls;
    size_t calls_len;
};
int qt_statement_names(struct qt_normalizer *, const struct qt_session_mode *, const char *sql, size_t len,
                       struct qt_statement_names *out, struct qt_error *);
/* Returns how the statement is written, as bits of enum qt_property. */
uint64_t qt_statement_properties(const struct qt_normalizer *, const struct qt_session_mode *, const char *sql,
                                 size_t len);

/* Finds the placeholders of a statement. Writes the offsets of the first `most` placeholders and returns the number of
 * all placeholders. `reading`: the session's SQL mode; 1 = NO_BACKSLASH_ESCAPES, 2 = ANSI_QUOTES, 3 = both, 0 =
 * default. */
size_t qt_placeholders(const char *sql, size_t len, int32_t reading, size_t *offsets, size_t most);

/* If the text is a single KILL, returns the killed connection id. Otherwise, or if the id is not a number, returns -1.
 * `*ends_session` is 0 for KILL QUERY. */
int64_t qt_killed_thread(const struct qt_normalizer *, const char *sql, size_t len, int32_t *ends_session);

/* ---- the grammar of statements (grammar/stream.c) ----------------------------------------------------------- */

/* Parses statements. Each row of `out` describes a table, a column with its role, or a join. grammar/stream.c lists the
 * columns of `out`. `in` has id BIGINT, statement BLOB and digest VARCHAR, with 64-bit offsets. Each statement is
 * parsed with its session's SQL mode. The digest determines this mode.
 *
 * `wanted` selects the rows. QT_PARSE_PARTS: all parts. QT_PARSE_KEYS: the values that identify the rows written or
 * locked. QT_PARSE_ROWS: the values that identify the rows read or written by a statement on one table, and its LIMIT.
 * KEYS and ROWS need a fourth column with the bound parameters, params BLOB.
 *
 * Reads `in` once. The caller releases it. */
enum qt_parse_wanted { QT_PARSE_PARTS, QT_PARSE_KEYS, QT_PARSE_ROWS };
int qt_parse_stream(struct ArrowArrayStream *in, int32_t wanted, struct ArrowArrayStream *out, struct qt_error *);

/* ---- the order of commits (sweep/stream.c) ------------------------------------------------------------------- */

/* Each table has QT_PLACES counters. A place is the index of a counter: QT_PLACES * table + kind. The kinds are
 * commits, statements that took locks in a transaction, and statements that add rows. */
enum qt_place_kind { QT_COMMITS, QT_LOCKS, QT_ADDS, QT_PLACES };
struct qt_sweep_use {
    int32_t digest, table, what; /* `what`: bits QT_USE_* */
};

/* Options of qt_sweep_stream. Table 0 means all tables, 1 the unknown tables, 2 the user-level locks. The arrays are
 * not used after the call. */
struct qt_sweep_options {
    const struct qt_sweep_use *uses; /* the tables of each digest, sorted by digest */
    int64_t n_uses;
    int32_t n_digests, n_tables;
    const uint8_t *is_long;      /* per table: a statement ran so long that its time is not attributed to lock waits */
    const uint8_t *is_exclusive; /* per table: DDL or LOCK TABLES locks the whole table */
    int32_t times;               /* times of an event on the tape: 0 = start and end, 1 = end only, 2 = arrival only */
    int32_t unknown;             /* some events use table 1 (unknown tables) */
    int64_t overlap_ns;          /* a longer statement did not spend all its time on lock waits */
};

/* Computes the commit number of each event and the commits that the event waits for. The columns of `out` are session,
 * seq, tape_ns and waits. docs/order.md explains the rules. `events` must be sorted by lo_ns, session, seq. stream.c
 * lists the columns of `events`.
 *
 * Reads `events` once. The caller releases it. Memory grows with the number of simultaneously open transactions and
 * statements. */
int qt_sweep_stream(struct ArrowArrayStream *events, const struct qt_sweep_options *, struct ArrowArrayStream *out,
                    struct qt_error *);

/* ---- pseudonyms (pseudonyms/) ------------------------------------------------------------------------------ */

struct qt_pseudonyms;
struct qt_pseudonyms *qt_pseudonyms_new(const uint8_t *key); /* `key` has 16 bytes; returns NULL when out of memory */
void qt_pseudonyms_free(struct qt_pseudonyms *);
/* Returns the number of statements so far whose literals depend on unknown session settings. In these statements, all
 * possible literals were replaced. */
int64_t qt_pseudonyms_ambiguous(const struct qt_pseudonyms *);
/* Replaces values in the rows of `in` by pseudonyms. The columns of `out` are c0, c1, ... `in` and the pseudonyms must
 * outlive `out`.
 *
 * `what` has one letter per column (at most 8), all with 64-bit offsets:
 * - l: BIGINT, unchanged
 * - s: BLOB, statements
 * - p: BLOB, parameters
 * - m: VARCHAR, messages
 * - t: VARCHAR, values */
int qt_pseudonyms_stream(struct qt_pseudonyms *, struct ArrowArrayStream *in, const char *what,
                         struct ArrowArrayStream *out, struct qt_error *);

/* ---- readers: functions common to all sources (reader/reader.c) -------------------------------------------- */

struct qt_reader;

/* Counters. They may be read from any thread while a part is being read. */
struct qt_reader_stats {
    uint64_t bytes_read;   /* stored bytes of the files, which may be compressed */
    uint64_t bytes_parsed; /* number of uncompressed bytes */
    uint64_t events, sessions, problems;
    uint64_t lost;             /* live captures: dropped packets or rows */
    uint64_t not_understood;   /* bytes of the input that yielded no event */
    uint64_t largest;          /* size of the largest event's texts, in bytes */
    int64_t first_ns, last_ns; /* earliest start and latest end so far; INT64_MAX and INT64_MIN before the first */
    int32_t file;              /* index of the current file, from 0 */
    int32_t finished;
};

/* Returns the next part as a stream: one batch of about max_rows events or max_bytes of statements, sorted by start.
 * The limits of the first call apply to all parts. Each of the first four parts has a quarter of this size.
 *
 * At the end of the input there is no batch, and stats.finished is set. Only one stream may be open at a time. The
 * columns are those of `events` in schemas/tape.sql. While the caller uses a part, a thread of the reader parses the
 * next part. */
int qt_reader_part(struct qt_reader *, uint64_t max_rows, uint64_t max_bytes, struct ArrowArrayStream *out,
                   struct qt_error *);
/* Returns the problems found since the last call. At most 10,000 of each kind are kept (QT_PROBLEMS_KEPT). The rest are
 * only counted. */
int qt_reader_problems(struct qt_reader *, struct ArrowArrayStream *out, struct qt_error *);
/* Returns the session properties found since the last call. reader/session_facts.h lists the columns. */
int qt_reader_sessions(struct qt_reader *, struct ArrowArrayStream *out, struct qt_error *);
void qt_reader_stats(struct qt_reader *, struct qt_reader_stats *out);
/* Writes the properties that are specific to this source as a JSON object. The text is NUL-terminated and truncated to
 * `room` bytes (at least 3). */
void qt_reader_describe(struct qt_reader *, char *out, size_t room);
/* Stops parsing at the next event. No further part follows. Any thread may call this function. */
void qt_reader_stop(struct qt_reader *);
void qt_reader_close(struct qt_reader *);

/* Sessions that were open before a capture began, as reported by their server (reader/open_sessions.c). Texts are
 * copied; NULL = unknown. */
struct qt_open_sessions;
struct qt_open_session_facts {
    int64_t thread_id;               /* must be greater than the id of the previous session */
    const char *host;                /* client's address; NULL = any */
    const char *user, *db, *charset; /* `charset`: in the format of the tape's sessions */
    int32_t port;                    /* client's port; 0 = unknown */
    int32_t reading;                 /* 1 = NO_BACKSLASH_ESCAPES, 2 = ANSI_QUOTES, 4 = both settings are known */
};
struct qt_open_sessions *qt_open_sessions_new(void); /* returns NULL when out of memory */
int qt_open_sessions_add(struct qt_open_sessions *, const struct qt_open_session_facts *);
/* Adds a statement to the last added session. `id` is the server's id of a prepared statement. `id` -1 means a
 * statement that restores a setting of the session. */
int qt_open_sessions_add_statement(struct qt_open_sessions *, int64_t id, const char *text, size_t len);
void qt_open_sessions_free(struct qt_open_sessions *);
/* Passes the open sessions to the reader, which then owns them. The caller must do this before the first part. If an
 * open session occurs in the input, its events begin with its stored statements, flagged QT_F_CARRIED. */
void qt_reader_set_open_sessions(struct qt_reader *, struct qt_open_sessions *);

/* A file, FIFO or stdin ("-") as a byte stream. .gz, .zst and .xz are decompressed. The file is opened only once: bytes
 * read by qt_input_peek are kept for the later reads. */
struct qt_input;
/* Returns NULL with `error` filled if the file cannot be opened. */
struct qt_input *qt_input_open(const char *path, struct qt_error *);
/* Copies the first uncompressed bytes without consuming them. `*got` is less than `room` only if the input is shorter
 * or damaged. */
int qt_input_peek(struct qt_input *, char *out, size_t room, size_t *got, struct qt_error *);
/* Reads to the end of the input and writes everything to the descriptor `out`, unless `out` is -1. `*longest` is the
 * length of the longest line in bytes. If `quote` is not 0, `*longest` is the length of the longest record. Newlines
 * between quotes do not end a record.
 *
 * Returns QT_EFORMAT for a damaged or truncated archive, after writing its readable bytes. */
int qt_input_unpack(struct qt_input *, int out, char quote, uint64_t *longest, struct qt_error *);
/* Reads CSV with backslash escapes to the end of the input. Writes CSV with commas and all values in double quotes to
 * the descriptor `out`. NULL (`\N`, or NULL without quotes) is written as an empty field.
 *
 * `quote` 0 means that no byte is a quote. Returns QT_EFORMAT with the line number if a value continues after its
 * closing quote, or if a quote is never closed. */
int qt_input_rewrite_csv(struct qt_input *, int out, char separator, char quote, struct qt_error *);
void qt_input_close(struct qt_input *);

/* Options for reading text logs. */
struct qt_log_options {
    int64_t timezone_ns; /* offset of the log's local times from UTC; used if has_timezone is not 0 */
    int32_t has_timezone;
    int32_t max_event;              /* bytes kept per event; longer events are truncated and flagged; 0 = 1100 MiB */
    struct qt_input *const *opened; /* an open input per path, or NULL. The reader owns the inputs, even if opening
                                     * fails. The array may be NULL */
    int32_t follow;                 /* follow the last path like `tail -F`, until qt_reader_stop */
    int32_t from_end;               /* with `follow`: skip the existing content of the file */
    int64_t part_ns;                /* with `follow`: end a part at least this often; 0 = 5 s */
    /* For a time zone with daylight saving time: UTC offsets and the UTC times from which they apply, ascending. They
     * replace timezone_ns. The reader copies both arrays. */
    const int64_t *zone_from_ns, *zone_offset_ns;
    int32_t n_zone;
};

/* ---- slow logs (slowlog/slowlog.c) -------------------------------------------------------------------------- */

/* Opens slow logs that form one tape, in the given order. The path "-" is stdin. This function reads only the first
 * bytes, because .gz and .zst are recognized by their magic number. The message of QT_EIO names the file that cannot be
 * opened.
 *
 * qt_reader_describe reports server_version, timezone_ns, restarts, rate_limit, rate_by_query, has_extra. */
struct qt_reader *qt_slowlog_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *,
                                  struct qt_error *);
/* Finds the end time of a file's first event and reads no further. Returns QT_EFORMAT if the file has no event. */
int qt_slowlog_first_time(const char *path, int64_t *out_ns, struct qt_error *);

/* ---- other text logs (logs/) --------------------------------------------------------------------------------- */

/* Opens general query logs of MySQL 5.x to 9.x and MariaDB. The arguments are those of qt_slowlog_open.
 * qt_reader_describe reports server_version, restarts. */
struct qt_reader *qt_general_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *,
                                  struct qt_error *);

/* Opens logs of MariaDB's server_audit plugin, which RDS and Aurora also use. `limit` is server_audit_query_log_limit:
 * a statement of exactly this many bytes counts as truncated. */
struct qt_reader *qt_server_audit_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *,
                                       int64_t limit, struct qt_error *);

/* Opens output files of mysqlbinlog. qt_reader_describe reports row_events and row_events_without_statement. */
struct qt_reader *qt_binlog_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *,
                                 struct qt_error *);

/* Opens ProxySQL's events logs in their binary format. */
struct qt_reader *qt_proxysql_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *,
                                   struct qt_error *);

/* Splits files into JSON objects and other lines. The objects may have any layout. Columns: line VARCHAR, file BIGINT
 * (from 0), place BIGINT. `place` is the line number in the file, from 1. If a line has several objects, the later
 * objects get higher unique numbers. */
struct qt_lines;
struct qt_lines *qt_lines_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *,
                               struct qt_error *);
/* Returns a stream that continues after the previous stream. Only one stream may be read at a time. Close the object
 * only after its streams. */
int qt_lines_stream(struct qt_lines *, struct ArrowArrayStream *out, struct qt_error *);
void qt_lines_close(struct qt_lines *);

/* Reads events from rows of another reader. The rows must be in order of time. Takes ownership of the stream.
 * logs/rows.c lists the columns. */
struct qt_reader *qt_rows_source_open(struct ArrowArrayStream *in, struct qt_error *);

/* ---- packets (packets/packets.c) ---------------------------------------------------------------------------- */

struct qt_packets_options {
    const int32_t *ports; /* ports of the MySQL servers */
    int32_t n_ports;
    int32_t keylog_grows;           /* TLS secrets may arrive after their packets: connections wait, within limits */
    const char *keylog;             /* file of TLS secrets in NSS key log format, see tls/key_log.h; NULL = none */
    const char *interface;          /* network interface of a live capture, or "any"; NULL = files */
    const char *user;               /* account that replaces root after the start; NULL: see packets/live.h */
    int64_t ring_bytes;             /* live: maximum total size of the packets that wait for the parser */
    int64_t part_ns;                /* live: maximum duration of a part */
    struct qt_input *const *opened; /* see struct qt_log_options */
};

/* Opens capture files that form one tape, in the given order ("-" is stdin), or an interface. qt_reader_describe
 * reports server_version, connections, encrypted, joined_midway, gaps, lost_bytes, ... It also reports numbers of
 * non-TCP frames. */
struct qt_reader *qt_packets_open(const char *const *paths, int32_t n_paths, const struct qt_packets_options *,
                                  struct qt_error *);

/* Writes the filter of a live capture for a link layer (libpcap's DLT_ number), as 0-terminated text for pcap_compile.
 * Sets `*ports_only` to 1 if libpcap supports only port terms for this link layer. The filter then drops packets in
 * tunnels and fragments.
 *
 * Returns QT_EINVALID if `size` is too small, or if libpcap cannot filter this link layer. */
int qt_packets_filter(int32_t link, const int32_t *ports, int32_t n_ports, char *out, size_t size, int32_t *ports_only,
                      struct qt_error *);

/* ---- streams ---------------------------------------------------------------------------------------------- */

/* Reads a stream to its end and discards the rows, to measure a parser's speed. */
int qt_drain(struct ArrowArrayStream *, uint64_t *rows, struct qt_error *);
/* Releases a stream unless it was already released. */
void qt_stream_release(struct ArrowArrayStream *);
size_t qt_stream_size(void); /* sizeof(struct ArrowArrayStream) */

/* ---- parts of a tape (reader/counted_stream.c) ------------------------------------------------------------------- */

struct qt_part_facts {
    int64_t rows;
    uint64_t known;                          /* bit i: column i has at least one value */
    int64_t first_ns, last_ns, precision_ns; /* earliest start, latest end and coarsest precision of the events */
};

/* A stream that collects properties of its rows while it is read. */
struct qt_counted_stream;
/* Takes ownership of the stream. Returns NULL on failure: QT_ENOMEM, or QT_EINVALID for more than 64 columns. The
 * caller then keeps the stream. */
struct qt_counted_stream *qt_counted_stream_new(struct ArrowArrayStream *, struct qt_error *);
void qt_counted_stream_free(struct qt_counted_stream *); /* must be called after its streams are finished */
/* Opens a stream of the remaining rows. Several streams share the rows: each row is delivered once. */
void qt_counted_stream_open(struct qt_counted_stream *, struct ArrowArrayStream *out);
/* Reads the first batch and stores it for the next reader. qt_counted_stream_facts then shows whether there are any
 * rows. */
int qt_counted_stream_read_ahead(struct qt_counted_stream *, struct qt_error *);
const struct qt_part_facts *qt_counted_stream_facts(const struct qt_counted_stream *);

/* XXH3-128 hash of a file's bytes, in order. qt_file_hash_new returns NULL when out of memory. qt_file_hash_hex writes
 * 32 hex digits and a 0 byte. */
struct qt_file_hash;
struct qt_file_hash *qt_file_hash_new(void);
void qt_file_hash_free(struct qt_file_hash *);
void qt_file_hash_add(struct qt_file_hash *, const void *bytes, size_t n);
void qt_file_hash_hex(const struct qt_file_hash *, char out[33]);

/* Writes the names and versions of the loaded libraries, one per line, 0-terminated. Returns QT_EINVALID if `size` is
 * too small. */
int qt_library_versions(char *out, size_t size);

/* cffi: end */

#endif
