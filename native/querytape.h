/* SPDX-License-Identifier: Apache-2.0 */
/* querytape's native part: the whole public face, read by the compiler and by cffi.
 *
 * Conventions
 *  - A function that can fail returns 0 or one of enum qt_code and fills `struct qt_error` (which may be NULL).
 *  - Nothing prints, nothing exits, there is no global state. What `_new`/`_open` returns is the caller's, who gives it
 *    to the matching `_free`/`_close`. Texts returned inside a struct belong to the object that filled it.
 *  - Times are int64 nanoseconds; names say from when.
 *  - Rows cross the border as Arrow C streams (arrow_abi.h). A stream does nothing before its first get_next,
 *    and may be asked for several times; it must not outlive the object it came from.
 */
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
    QT_EIO = 2,      /* a system call failed; the message has its text */
    QT_EFORMAT = 3,  /* the input is not of the kind that was named */
    QT_ENOMEM = 4,
    QT_ECONNECT = 5, /* the server could not be reached or refused us */
    QT_ESTATE = 6,   /* called at the wrong time */
    QT_EAGAIN = 7,   /* inside a reader: nothing more for now */
    QT_EACCES = 8    /* this process lacks the right to do it */
};

struct qt_error {
    int code; /* enum qt_code */
    char message[508];
};

/* ---- statements: lexer, normaliser, digest (normalize.c) ------------------------------------------------- */

struct qt_statement {
    uint64_t digest;  /* XXH3-64 of the normalised text; shown as 16 lower-case hex digits */
    const char *text; /* the normalised text, ASCII-safe bytes of the input only; not NUL-terminated */
    size_t text_len;
    const char *redacted; /* NULL, or the statement with its literals replaced */
    size_t redacted_len;
    int32_t klass;      /* enum qt_class */
    int32_t danger;     /* enum qt_danger */
    uint32_t actions;   /* QT_ACTION_* */
    uint32_t flags;     /* QT_F_REDACTED, QT_F_USE, QT_F_TIMESTAMP, QT_F_SQL_PREPARE, QT_F_PLACEHOLDER */
    int32_t open_quote; /* the byte that opened a literal or comment that never ends (' " ` or *), else 0 */
    int32_t sets_mode;  /* it may change how its session reads what follows: qt_session_mode_follow tells */
};

/* How a session has its statements read, as it has set it: which bytes are a literal depends on that. All 0 = nothing
 * is known. What is not known is guessed here; it counts as the worse of both. */
struct qt_session_mode {
    uint8_t reading; /* 1 = NO_BACKSLASH_ESCAPES, 2 = ANSI_QUOTES */
    uint8_t
        charset;   /* 1 = gbk or gb18030, 2 = big5, 3 = sjis or cp932; 4, 5 = 0xA0 or 0xFF is a blank; 0 = any other */
    uint8_t known; /* of these: 1 = NO_BACKSLASH_ESCAPES, 2 = ANSI_QUOTES, 4 = the character set */
};

struct qt_normalizer;
struct qt_normalizer *qt_normalizer_new(void); /* NULL when out of memory */
void qt_normalizer_free(struct qt_normalizer *);
/* Normalises one statement of `len` bytes, any at all, as a session of this mode has it read; NULL = nothing is known.
 * `out` holds until the next call with the same normaliser. */
int qt_normalize(struct qt_normalizer *, const struct qt_session_mode *, const char *sql, size_t len,
                 struct qt_statement *out, struct qt_error *);
/* The session had this text executed: takes over what it sets. `outcome`: 1 = it succeeded, 0 = that is not known, or
 * others may have come that are not known, -1 = it failed. */
void qt_session_mode_follow(struct qt_normalizer *, struct qt_session_mode *, const char *sql, size_t len,
                            int32_t outcome);
/* The session logged in with this collation's number. */
void qt_session_mode_login(struct qt_session_mode *, int64_t collation, const char *server_version);
/* How the session had this text read that gave it this digest, by default before other ways; all 0 where none does. */
void qt_session_mode_of_digest(struct qt_normalizer *, uint64_t digest, const char *sql, size_t len,
                               struct qt_session_mode *out);
/* Which tables a statement names and what it calls: names in lower case with or without their schema, each with a NUL
 * behind it; a part that is no plain identifier in its back quotes. Holds until the next call. */
struct qt_statement_names {
    const char *tables;
    size_t tables_len;
    const char *calls;
    size_t calls_len;
};
int qt_statement_names(struct qt_normalizer *, const struct qt_session_mode *, const char *sql, size_t len,
                       struct qt_statement_names *out, struct qt_error *);
/* How a statement is written: bits of enum qt_property. */
uint64_t qt_statement_properties(const struct qt_normalizer *, const struct qt_session_mode *, const char *sql,
                                 size_t len);

/* Writes where the placeholders of a statement are: the offsets of its first `most`, and returns how many there are.
 * `reading`: how the session reads quotes; 1 = NO_BACKSLASH_ESCAPES, 2 = ANSI_QUOTES, 3 = both, 0 = by default. */
size_t qt_placeholders(const char *sql, size_t len, int32_t reading, size_t *offsets, size_t most);

/* The connection id in a text that is one KILL; -1 if it is not a number. `ends_session`: 0 = KILL QUERY. */
int64_t qt_killed_thread(const struct qt_normalizer *, const char *sql, size_t len, int32_t *ends_session);

/* ---- the grammar of statements (grammar/stream.c) ----------------------------------------------------------- */

/* Statements (id BIGINT, statement BLOB, digest VARCHAR, with 64-bit offsets) as rows of tables, columns by role and
 * joins: stream.c has the columns. Each is read with the SQL mode of its session, which its digest shows. `wanted`: all
 * parts; or the values that show which rows are written or locked (KEYS); or those that show which rows a statement
 * about one table can read or write, and its LIMIT (ROWS). KEYS and ROWS read a fourth column, params BLOB, for what is
 * bound. Reads `in` once; it stays the caller's to release. */
enum qt_parse_wanted { QT_PARSE_PARTS, QT_PARSE_KEYS, QT_PARSE_ROWS };
int qt_parse_stream(struct ArrowArrayStream *in, int32_t wanted, struct ArrowArrayStream *out, struct qt_error *);

/* ---- the order of commits (sweep/stream.c) ------------------------------------------------------------------- */

/* A place is QT_PLACES * table + kind: commits, statements of transactions that took locks, those that add rows. */
enum qt_place_kind { QT_COMMITS, QT_LOCKS, QT_ADDS, QT_PLACES };
struct qt_sweep_use {
    int32_t digest, table, what; /* QT_USE_* */
};

/* Tables: 0 is all of them, 1 those that are unknown, 2 the user-level locks. Nothing here is kept after the call. */
struct qt_sweep_options {
    const struct qt_sweep_use *uses; /* which tables each digest is about, by digest */
    int64_t n_uses;
    int32_t n_digests, n_tables;
    const uint8_t *is_long; /* of each table: a statement took so long that it is not taken to have waited for locks */
    const uint8_t *is_exclusive; /* of each table: DDL or LOCK TABLES takes it whole */
    int32_t times;               /* what the tape knows of an event: 0 start and end, 1 its end, 2 its arrival */
    int32_t unknown;             /* some event is about table 1 */
};

/* What each event waits for, and which commit it is: session, seq, tape_ns, waits. docs/order.md has the rules.
 * `events` are sorted by lo_ns, session, seq; their columns are in stream.c. Reads `events` once; it stays the caller's
 * to release. Memory grows with what is open at one time. */
int qt_sweep_stream(struct ArrowArrayStream *events, const struct qt_sweep_options *, struct ArrowArrayStream *out,
                    struct qt_error *);

/* ---- pseudonyms (pseudonyms/) ------------------------------------------------------------------------------ */

struct qt_pseudonyms;
struct qt_pseudonyms *qt_pseudonyms_new(const uint8_t *key); /* 16 bytes; NULL when out of memory */
void qt_pseudonyms_free(struct qt_pseudonyms *);
/* Statements so far that sessions may read in several ways, with other values in each: all of them were replaced. */
int64_t qt_pseudonyms_ambiguous(const struct qt_pseudonyms *);
/* The rows of `in` with values replaced, as columns c0, c1, ...; `in` and the pseudonyms must outlive `out`. `what` has
 * a letter for each column (of at most 8): l BIGINT, kept; s BLOB, statements; p BLOB, parameters; m VARCHAR, messages;
 * t VARCHAR, values. With 64-bit offsets. */
int qt_pseudonyms_stream(struct qt_pseudonyms *, struct ArrowArrayStream *in, const char *what,
                         struct ArrowArrayStream *out, struct qt_error *);

/* ---- readers: what every source has (reader/reader.c) ------------------------------------------------------ */

struct qt_reader;

/* Counters; may be read from any thread while a part is being pulled. */
struct qt_reader_stats {
    uint64_t bytes_read;   /* of the files as they are stored (compressed where they are) */
    uint64_t bytes_parsed; /* uncompressed */
    uint64_t events, sessions, problems;
    uint64_t lost;             /* of live captures: packets or rows that were dropped */
    uint64_t not_understood;   /* bytes of the input that no event was made of */
    uint64_t largest;          /* bytes of the largest event's texts */
    int64_t first_ns, last_ns; /* earliest start and latest end so far; INT64_MAX and INT64_MIN before the first */
    int32_t file;              /* being read now, from 0 */
    int32_t finished;
};

/* A stream of the next part: one batch of about max_rows events or max_bytes of statements, sorted by start; the first
 * part's bounds hold for all, a quarter of them for the first four. None comes at the end of the input
 * (stats.finished). One stream at a time. Columns: events of schemas/tape.sql. A thread of the reader's own parses the
 * next part during that. */
int qt_reader_part(struct qt_reader *, uint64_t max_rows, uint64_t max_bytes, struct ArrowArrayStream *out,
                   struct qt_error *);
/* The problems found since the last call (the first 100,000 of a capture; the rest are only counted). */
int qt_reader_problems(struct qt_reader *, struct ArrowArrayStream *out, struct qt_error *);
/* Facts of sessions since the last call (reader/session_facts.h has the columns). */
int qt_reader_sessions(struct qt_reader *, struct ArrowArrayStream *out, struct qt_error *);
void qt_reader_stats(struct qt_reader *, struct qt_reader_stats *out);
/* A JSON object of what only this source knows, NUL-terminated, cut to what fits in `room` (at least 3). */
void qt_reader_describe(struct qt_reader *, char *out, size_t room);
/* End the part being parsed at the next event; no later one comes. From any thread. */
void qt_reader_stop(struct qt_reader *);
void qt_reader_close(struct qt_reader *);

/* Sessions that were open before a capture begins, as their server describes them (reader/open_sessions.c). Texts are
 * copied; NULL = not known. */
struct qt_open_sessions;
struct qt_open_session_facts {
    int64_t thread_id;               /* greater than that of the session before */
    const char *host;                /* the client's address; NULL = whatever it is */
    const char *user, *db, *charset; /* charset: as in the tape's sessions */
    int32_t port;                    /* the client's; 0 = not known */
    int32_t reading;                 /* 1 = NO_BACKSLASH_ESCAPES, 2 = ANSI_QUOTES, 4 = both are known */
};
struct qt_open_sessions *qt_open_sessions_new(void); /* NULL when out of memory */
int qt_open_sessions_add(struct qt_open_sessions *, const struct qt_open_session_facts *);
/* Of the session added last: a prepared statement by the server's id, or one that sets what the session had (-1). */
int qt_open_sessions_add_statement(struct qt_open_sessions *, int64_t id, const char *text, size_t len);
void qt_open_sessions_free(struct qt_open_sessions *);
/* Before the first part: the reader's from now on. Sessions of the input that are among them begin with their
 * statements, flagged QT_F_CARRIED. */
void qt_reader_set_open_sessions(struct qt_reader *, struct qt_open_sessions *);

/* A file, FIFO or stdin ("-") as a stream of bytes, whatever it is packed in (.gz, .zst, .xz). It is opened once: what
 * was looked at is read again from memory. */
struct qt_input;
/* NULL with `error` filled where it can't be opened. */
struct qt_input *qt_input_open(const char *path, struct qt_error *);
/* The first bytes, uncompressed: *got of them, fewer than `room` only where it ends (or is damaged). */
int qt_input_peek(struct qt_input *, char *out, size_t room, size_t *got, struct qt_error *);
/* Reads to the end. *longest: bytes of the longest line or, where `quote` is not 0, record, in which a newline between
 * two such bytes ends nothing. Writes all to the descriptor `out`, unless that is -1. A damaged or cut archive is
 * QT_EFORMAT, after all that was readable. */
int qt_input_unpack(struct qt_input *, int out, char quote, uint64_t *longest, struct qt_error *);
/* Reads CSV whose values have escapes of backslashes to the end, and writes it to the descriptor `out` with commas,
 * each value but NULL (`\N`, or NULL without quotes) between double quotes. `quote`: 0 = none has a meaning. QT_EFORMAT
 * names the line where a value continues after its closing quote, or that the last quote never closes. */
int qt_input_rewrite_csv(struct qt_input *, int out, char separator, char quote, struct qt_error *);
void qt_input_close(struct qt_input *);

/* How text logs are read. */
struct qt_log_options {
    int64_t timezone_ns; /* offset of the log's local times from UTC; used where has_timezone is not 0 */
    int32_t has_timezone;
    int32_t max_event; /* bytes of one event that are kept at most, the rest is cut and marked; 0 = 1100 MiB */
    struct qt_input *const *opened; /* for each path one that is open already, or NULL: the reader's from now on, also
                                     * where opening it fails. May be NULL */
    int32_t follow;                 /* the last path is followed as `tail -F` does, until qt_reader_stop */
    int32_t from_end;               /* of that: what it holds already is skipped */
    int64_t part_ns;                /* following: a part is closed at latest after this time; 0 = 5 s */
    /* Of a zone with daylight saving time: the offsets that count from these times on (UTC, ascending), instead of
     * timezone_ns. Copied. */
    const int64_t *zone_from_ns, *zone_offset_ns;
    int32_t n_zone;
};

/* ---- slow logs (slowlog/slowlog.c) -------------------------------------------------------------------------- */

/* Opens logs that form one tape, in the order given; a path "-" is stdin. Nothing is read yet but the first bytes:
 * .gz and .zst are known by their magic. QT_EIO names the file that can't be opened. Describes itself with
 * server_version, timezone_ns, restarts, rate_limit, rate_by_query, has_extra. */
struct qt_reader *qt_slowlog_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *,
                                  struct qt_error *);
/* Reads just far enough into one file to know when its first event ended; QT_EFORMAT where it has none. */
int qt_slowlog_first_time(const char *path, int64_t *out_ns, struct qt_error *);

/* ---- other text logs (logs/) --------------------------------------------------------------------------------- */

/* General query logs of MySQL 5.x to 9.x and MariaDB, as qt_slowlog_open opens slow logs. Describes itself with
 * server_version, restarts. */
struct qt_reader *qt_general_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *,
                                  struct qt_error *);

/* Logs of MariaDB's server_audit plugin (RDS and Aurora, too). `limit`: server_audit_query_log_limit; a statement of
 * just so many bytes is taken as cut. */
struct qt_reader *qt_server_audit_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *,
                                       int64_t limit, struct qt_error *);

/* What mysqlbinlog prints. Describes itself with row_events and row_events_without_statement. */
struct qt_reader *qt_binlog_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *,
                                 struct qt_error *);

/* ProxySQL's events log in its binary format. */
struct qt_reader *qt_proxysql_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *,
                                   struct qt_error *);

/* The objects of JSON in files, in whatever layout, and the lines that are none: line VARCHAR, file BIGINT (from 0),
 * place BIGINT: its line in the file from 1, more where a line has several: each has its own. */
struct qt_lines;
struct qt_lines *qt_lines_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *,
                               struct qt_error *);
/* Streams of the same lines go on where another one ended: only one may be read. Not closed before them. */
int qt_lines_stream(struct qt_lines *, struct ArrowArrayStream *out, struct qt_error *);
void qt_lines_close(struct qt_lines *);

/* Events from rows that were read elsewhere, in the order of their times; takes the stream over. logs/rows.c has the
 * columns. */
struct qt_reader *qt_rows_source_open(struct ArrowArrayStream *in, struct qt_error *);

/* ---- packets (packets/packets.c) ---------------------------------------------------------------------------- */

struct qt_packets_options {
    const int32_t *ports; /* of MySQL servers */
    int32_t n_ports;
    int32_t keylog_grows;           /* secrets may come after the packets: connections wait for them, within bounds */
    const char *keylog;             /* file of TLS secrets in NSS's format, see tls/key_log.h; NULL = none */
    const char *interface;          /* NULL = files; else live, also "any" */
    const char *user;               /* root becomes this account once the interface is open; NULL: see packets/live.c */
    int64_t ring_bytes;             /* live: packets that wait for the parser, at most */
    int64_t part_ns;                /* live: a part is ended after this long */
    struct qt_input *const *opened; /* as in struct qt_log_options */
};

/* Capture files that form one tape, in the order given ("-" is stdin), or an interface. Describes itself with
 * server_version, connections, encrypted, joined_midway, gaps, lost_bytes, ... and counts of what was no TCP. */
struct qt_reader *qt_packets_open(const char *const *paths, int32_t n_paths, const struct qt_packets_options *,
                                  struct qt_error *);

/* The filter of a live capture on a link layer (DLT_ number of libpcap), as text for pcap_compile, ended by 0.
 * *ports_only: 1 if libpcap takes only the ports on this link layer, so that packets in tunnels and fragments do not
 * pass. QT_EINVALID if `size` is too small for the text, or if libpcap has no filters for the link layer. */
int qt_packets_filter(int32_t link, const int32_t *ports, int32_t n_ports, char *out, size_t size, int32_t *ports_only,
                      struct qt_error *);

/* ---- streams ---------------------------------------------------------------------------------------------- */

/* Pulls a stream to its end and throws the rows away: for measuring a parser alone. */
int qt_drain(struct ArrowArrayStream *, uint64_t *rows, struct qt_error *);
/* Releases what a stream holds, unless that was done already. */
void qt_stream_release(struct ArrowArrayStream *);
size_t qt_stream_size(void); /* sizeof(struct ArrowArrayStream) */

/* ---- parts of a tape (reader/counted_stream.c) ------------------------------------------------------------------- */

struct qt_part_facts {
    int64_t rows;
    uint64_t known;                          /* bit i: column i of the stream holds any value */
    int64_t first_ns, last_ns, precision_ns; /* of events: earliest start, latest end, coarsest precision */
};

/* A stream that is counted while it is read. */
struct qt_counted_stream;
/* Takes the stream over; NULL on an error (QT_ENOMEM, QT_EINVALID: over 64 columns), then it stays the caller's. */
struct qt_counted_stream *qt_counted_stream_new(struct ArrowArrayStream *, struct qt_error *);
void qt_counted_stream_free(struct qt_counted_stream *); /* after all that read it */
/* A stream of what is left to be read: all of them read the same rows, each row comes once. */
void qt_counted_stream_open(struct qt_counted_stream *, struct ArrowArrayStream *out);
/* Reads the first batch and keeps it for who reads next: then the facts tell whether there is any row. */
int qt_counted_stream_read_ahead(struct qt_counted_stream *, struct qt_error *);
const struct qt_part_facts *qt_counted_stream_facts(const struct qt_counted_stream *);

/* XXH3-128 of a file's bytes in their order. NULL without memory. `out`: 32 hexadecimal digits and a 0. */
struct qt_file_hash;
struct qt_file_hash *qt_file_hash_new(void);
void qt_file_hash_free(struct qt_file_hash *);
void qt_file_hash_add(struct qt_file_hash *, const void *bytes, size_t n);
void qt_file_hash_hex(const struct qt_file_hash *, char out[33]);

/* Names and versions of the libraries that are loaded, a line each, and a 0. QT_EINVALID: they need more bytes. */
int qt_library_versions(char *out, size_t size);

/* cffi: end */

#endif
