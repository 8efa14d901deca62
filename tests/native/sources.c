/* SPDX-License-Identifier: Apache-2.0 */
#include "sources.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arrow_abi.h"
#include "check.h"

#define GOLDEN "../capture/sources/golden/"
#define RECORDED "../capture/sources/logs/"

static const struct qt_log_options IN_UTC = {.timezone_ns = 0, .has_timezone = 1}, IN_ITS_OWN = {.has_timezone = 0};

static struct qt_reader *open_slow(const char *path, struct qt_error *error)
{
    return qt_slowlog_open(&path, 1, &IN_UTC, error);
}

static struct qt_reader *open_general(const char *path, struct qt_error *error)
{
    return qt_general_open(&path, 1, &IN_UTC, error);
}

/* Opens the altered slow log followed by the original slow log. The reader detects the time zone. */
static struct qt_reader *open_slow_twice(const char *path, struct qt_error *error)
{
    const char *paths[] = {path, GOLDEN "slow.log"};
    return qt_slowlog_open(paths, 2, &IN_ITS_OWN, error);
}

static struct qt_reader *open_general_twice(const char *path, struct qt_error *error)
{
    const char *paths[] = {path, GOLDEN "general_mariadb.log"};
    return qt_general_open(paths, 2, &IN_ITS_OWN, error);
}

static struct qt_reader *open_audit(const char *path, struct qt_error *error)
{
    return qt_server_audit_open(&path, 1, &IN_UTC, 1024, error);
}

static struct qt_reader *open_binlog(const char *path, struct qt_error *error)
{
    return qt_binlog_open(&path, 1, &IN_UTC, error);
}

static struct qt_reader *open_proxysql(const char *path, struct qt_error *error)
{
    return qt_proxysql_open(&path, 1, &IN_UTC, error);
}

static struct qt_reader *open_packets_with(const char *path, const char *keys, struct qt_error *error)
{
    static const int32_t ports[] = {3306};
    struct qt_packets_options options = {.ports = ports, .n_ports = 1, .keylog = keys};
    return qt_packets_open(&path, 1, &options, error);
}

static struct qt_reader *open_packets(const char *path, struct qt_error *error)
{
    return open_packets_with(path, NULL, error);
}

/* Opens packets with three sessions that are known from before the capture. One of these sessions has prepared
 * statements. */
static struct qt_reader *open_known(const char *path, struct qt_error *error)
{
    static const struct qt_open_session_facts facts[] = {
        {.thread_id = 7, .host = "10.0.0.5", .user = "u", .db = "shop", .charset = "28", .port = 40001, .reading = 7},
        {.thread_id = 9, .host = "10.0.0.5", .user = "v", .port = 40002, .reading = 3},
        {.thread_id = 11, .host = "10.0.0.6", .user = "w", .port = 40000},
    };
    struct qt_open_sessions *known = qt_open_sessions_new();
    int code = known != NULL ? QT_OK : QT_ENOMEM;
    for (size_t i = 0; i < sizeof facts / sizeof *facts && code == QT_OK; i++) {
        code = qt_open_sessions_add(known, &facts[i]);
        for (int64_t id = -1; id < 5 && code == QT_OK && i == 0; id++)
            code = qt_open_sessions_add_statement(known, id, "SELECT ?, '?', ? -- ?", id < 3 ? 21 : 8);
    }
    struct qt_reader *reader = code == QT_OK ? open_packets_with(path, NULL, error) : NULL;
    if (reader != NULL) {
        qt_reader_set_open_sessions(reader, known);
        return reader;
    }
    if (code != QT_OK)
        *error = (struct qt_error){.code = code, .message = "out of memory"};
    qt_open_sessions_free(known);
    return NULL;
}

static struct qt_reader *open_with_keys(const char *path, struct qt_error *error)
{
    return open_packets_with(path, "inputs/tls2.keys", error);
}

const struct source SOURCES[] = {
    {GOLDEN "slow.log", open_slow, 0},
    {GOLDEN "general_mysql.log", open_general, 0},
    {GOLDEN "general_mariadb.log", open_general, 0},
    {GOLDEN "audit.log", open_audit, 0},
    {GOLDEN "binlog.txt", open_binlog, 0},
    {"inputs/proxysql.bin", open_proxysql, 0},
    {"inputs/talks.pcap.xz", open_packets, 1},
    {"inputs/tls2.pcap", open_with_keys, 1},
    {"inputs/tls3.pcapng", open_packets, 1},
    {GOLDEN "audit_aurora.log", open_audit, 0},
    {GOLDEN "general_copied.log", open_general, 0},
    {RECORDED "mariadb1011_header_inside_literal.log", open_slow, 0},
    {RECORDED "mysql57_use_rule_and_restart.log", open_slow, 0},
    {RECORDED "mysql80_extra_admin_commands.log", open_slow, 0},
    {"inputs/talks.pcap.xz", open_known, 1},
    {GOLDEN "slow.log", open_slow_twice, 0},
    {GOLDEN "general_mysql.log", open_general_twice, 0},
};
const size_t N_SOURCES = sizeof SOURCES / sizeof *SOURCES;

uint64_t hash_more(uint64_t hash, const void *p, size_t n)
{
    const unsigned char *bytes = p;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t hash_value(uint64_t hash, const struct ArrowArray *column, char type, int64_t row)
{
    const uint8_t *valid = column->buffers[0], *data = column->buffers[type == 'u' || type == 'z' ? 2 : 1];
    const int32_t *offsets = column->buffers[1];
    if (valid != NULL && !(valid[row / 8] >> row % 8 & 1))
        return hash_more(hash, "NULL", 4);
    if (type == 'u' || type == 'z') {
        size_t n = (size_t)(offsets[row + 1] - offsets[row]);
        hash = hash_more(hash, &n, sizeof n);
        return n > 0 ? hash_more(hash, data + offsets[row], n) : hash;
    }
    if (type == 'b') {
        uint8_t bit = data[row / 8] >> row % 8 & 1;
        return hash_more(hash, &bit, 1);
    }
    size_t size = type == 'l' ? 8 : 4;
    return hash_more(hash, data + (size_t)row * size, size);
}

/* Returns whether the problem is `damaged_capture`, whose text comes from libpcap. */
static int is_of_libpcap(const struct ArrowArray *kinds, int64_t row)
{
    const int32_t *offsets = kinds->buffers[1];
    const char *kind = (const char *)kinds->buffers[2] + offsets[row];
    return offsets[row + 1] - offsets[row] == 15 && memcmp(kind, "damaged_capture", 15) == 0;
}

static int take(struct qt_reader *reader, struct told *out, int which, struct qt_error *error,
                int (*of)(struct qt_reader *, struct ArrowArrayStream *, struct qt_error *))
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema = {.release = NULL};
    struct ArrowArray batch = {.release = NULL};
    int code = of(reader, &stream, error);
    if (code != QT_OK)
        return code;
    int failed = stream.get_schema(&stream, &schema);
    while (!failed && !(failed = stream.get_next(&stream, &batch)) && batch.release != NULL) {
        for (int64_t row = 0; row < batch.length; row++)
            for (int64_t c = 0; c < batch.n_children; c++)
                if (which != 1 || c != 4 || !is_of_libpcap(batch.children[3], row))
                    out->values[which] = hash_value(out->values[which], batch.children[c],
                                                    schema.children[c]->format[0], row);
        out->rows[which] += (uint64_t)batch.length;
        batch.release(&batch);
        batch.release = NULL;
    }
    if (failed) {
        const char *said = stream.get_last_error(&stream);
        *error = (struct qt_error){.code = QT_EIO};
        snprintf(error->message, sizeof error->message, "%s", said != NULL ? said : "out of memory for a schema");
    }
    if (schema.release != NULL)
        schema.release(&schema);
    qt_stream_release(&stream);
    return failed ? QT_EIO : QT_OK;
}

static uint64_t rows_of_a_part;

static int part(struct qt_reader *reader, struct ArrowArrayStream *out, struct qt_error *error)
{
    return qt_reader_part(reader, rows_of_a_part, 1 << 20, out, error);
}

void read_source(const struct source *source, const char *path, uint64_t max_rows, struct told *out)
{
    struct qt_error error = {.code = QT_OK};
    struct qt_reader_stats stats = {.finished = 0};
    *out = (struct told){.values = {HASH_BEGIN, HASH_BEGIN, HASH_BEGIN}};
    rows_of_a_part = max_rows;
    struct qt_reader *reader = source->open(path, &error);
    if (reader == NULL) {
        CHECK(error.code != QT_OK);
        out->code = error.code;
        snprintf(out->message, sizeof out->message, "%s", error.message);
        return;
    }
    while (out->code == QT_OK && !stats.finished) {
        out->code = take(reader, out, 0, &error, part);
        if (out->code == QT_OK)
            out->code = take(reader, out, 1, &error, qt_reader_problems);
        if (out->code == QT_OK)
            out->code = take(reader, out, 2, &error, qt_reader_sessions);
        qt_reader_stats(reader, &stats);
    }
    if (out->code == QT_OK)
        qt_reader_describe(reader, out->described, sizeof out->described);
    else
        snprintf(out->message, sizeof out->message, "%s", error.message);
    out->events = stats.events;
    out->problems = stats.problems;
    out->not_understood = stats.not_understood;
    out->bytes_parsed = stats.bytes_parsed;
    qt_reader_close(reader);
}

size_t read_plain(const char *path, char *out, size_t room)
{
    char plain[] = "/tmp/qt-plain-XXXXXX";
    struct qt_error error;
    uint64_t longest;
    int fd = mkstemp(plain);
    struct qt_input *in = qt_input_open(path, &error);
    CHECK(fd >= 0 && in != NULL);
    CHECK_INT(qt_input_unpack(in, fd, 0, &longest, &error), QT_OK);
    qt_input_close(in);
    ssize_t n = pread(fd, out, room, 0);
    CHECK(n > 0 && (size_t)n < room);
    close(fd);
    unlink(plain);
    return (size_t)n;
}
