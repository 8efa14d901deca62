/* SPDX-License-Identifier: Apache-2.0 */
/* Format of a line: LABEL, the client random in 64 hex digits, the secret in hex digits. A line that begins with `#` is
 * a comment. */
#include "tls/key_log.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "tls/record.h"

enum { MAX_CONNECTIONS = 1 << 21, LOOK_AGAIN_NS = 20000000 };
#define MAX_WAITING ((uint64_t)64 << 20)

struct qt_tls_log {
    struct qt_tls_store *store;
    char *path; /* NULL = no file */
    int fd, grows;
    off_t offset;
    struct qt_tls_lines lines; /* line parser of the file */
    int64_t looked_ns;
    void (*ahead)(void *); /* reads ahead once; NULL = nothing to read or already called */
    void *ahead_self;
    uint64_t good, bad, waiting;
    char buffer[1 << 16];
    uint8_t scratch[QT_TLS_RECORD_MAX];
};

struct qt_tls_log *qt_tls_log_new(void)
{
    struct qt_tls_log *log = calloc(1, sizeof *log);
    if (log == NULL)
        return NULL;
    log->fd = -1;
    log->store = qt_tls_store_new(MAX_CONNECTIONS);
    if (log->store != NULL)
        return log;
    free(log);
    return NULL;
}

void qt_tls_log_free(struct qt_tls_log *log)
{
    if (log == NULL)
        return;
    if (log->fd >= 0)
        close(log->fd);
    qt_tls_store_free(log->store);
    free(log->path);
    OPENSSL_cleanse(log, sizeof *log);
    free(log);
}

void qt_tls_lines_end(struct qt_tls_lines *lines) { OPENSSL_cleanse(lines, sizeof *lines); }

/* ---- lines ---- */

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Reads hex digits up to a blank or the end. Returns the number of bytes; 0 = no digits, too many, or an invalid
 * digit. */
static size_t read_hex(const char **at, const char *end, uint8_t *out, size_t room)
{
    size_t n = 0;
    const char *p = *at;
    for (; p < end && *p != ' '; p += 2, n++) {
        if (n == room || end - p < 2 || digit(p[0]) < 0 || digit(p[1]) < 0)
            return 0;
        out[n] = (uint8_t)(digit(p[0]) << 4 | digit(p[1]));
    }
    *at = p;
    return n;
}

static int label_of(const char *p, size_t n)
{
    static const char *const names[] = {"CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0", "CLIENT_RANDOM"};
    for (int i = 0; i < QT_TLS_LABELS; i++)
        if (strlen(names[i]) == n && memcmp(names[i], p, n) == 0)
            return i;
    return -1;
}

/* Returns 1 if a secret was stored, 2 for a valid line without a usable secret, 0 for an invalid line. Returns -1 when
 * out of memory. */
static int take_line(struct qt_tls_log *log, const char *p, size_t n)
{
    const char *end = p + n;
    uint8_t random[QT_TLS_RANDOM];
    struct qt_tls_secret secret = {0};
    while (end > p && (end[-1] == '\r' || end[-1] == ' '))
        end--;
    if (p == end || *p == '#')
        return 2;
    const char *blank = memchr(p, ' ', (size_t)(end - p));
    if (blank == NULL)
        return 0;
    for (const char *c = p; c < blank; c++)
        if (!(*c == '_' || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')))
            return 0;
    int label = label_of(p, (size_t)(blank - p)), kept = 2;
    if (label < 0)
        return 2;
    p = blank + 1;
    size_t has = read_hex(&p, end, random, sizeof random);
    if (has != sizeof random || p == end)
        return 0;
    p++;
    secret.n = (uint8_t)read_hex(&p, end, secret.p, sizeof secret.p);
    if (p != end || !(secret.n == 48 || (secret.n == 32 && label != QT_TLS_MASTER)))
        kept = 0;
    else
        kept = qt_tls_store_add(log->store, random, (enum qt_tls_label)label, &secret) == 0 ? 1 : -1;
    OPENSSL_cleanse(&secret, sizeof secret);
    return kept;
}

static int end_line(struct qt_tls_log *log, struct qt_tls_lines *lines)
{
    int kind = lines->too_long ? 0 : take_line(log, lines->line, lines->n);
    log->good += kind > 0 && lines->n > 0;
    log->bad += kind == 0;
    lines->n = 0;
    lines->too_long = 0;
    return kind < 0 ? -1 : 0;
}

int qt_tls_log_take(struct qt_tls_log *log, struct qt_tls_lines *lines, const char *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        const char *newline = memchr(p + at, '\n', n - at);
        size_t some = newline != NULL ? (size_t)(newline - p) - at : n - at;
        if (some > sizeof lines->line - lines->n)
            lines->too_long = 1;
        else
            memcpy(lines->line + lines->n, p + at, some);
        lines->n += lines->too_long ? 0 : some;
        at += some;
        if (newline != NULL) {
            at++;
            if (end_line(log, lines) != 0)
                return -1;
        }
    }
    /* The last line may be incomplete. If it already contains a secret, the secret is stored and replaced when the line
     * grows. */
    return lines->n > 0 && !lines->too_long && take_line(log, lines->line, lines->n) < 0 ? -1 : 0;
}

/* ---- the file ---- */

static int read_on(struct qt_tls_log *log, struct qt_error *error)
{
    int code = QT_OK;
    ssize_t got = 0;
    while (code == QT_OK) {
        got = pread(log->fd, log->buffer, sizeof log->buffer, log->offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        log->offset += got;
        if (qt_tls_log_take(log, &log->lines, log->buffer, (size_t)got) != 0)
            code = qt_fail(error, QT_ENOMEM, "%s: out of memory for the TLS secrets", log->path);
    }
    OPENSSL_cleanse(log->buffer, sizeof log->buffer);
    if (code == QT_OK && got < 0)
        code = qt_fail(error, QT_EIO, "%s: reading failed: %s", log->path, strerror(errno));
    return code;
}

static int open_file(const char *path, struct stat *what, struct qt_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, what) != 0) {
        qt_fail(error, QT_EIO, "--keylog %s: %s", path, strerror(errno));
    } else if (!S_ISREG(what->st_mode)) {
        qt_fail(error, QT_EIO,
                "--keylog %s: expected a regular file, because querytape reads the file again when it grows", path);
    } else {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

int qt_tls_log_open(struct qt_tls_log *log, const char *path, int grows, struct qt_error *error)
{
    struct stat what;
    log->path = strdup(path);
    log->grows = grows;
    log->fd = log->path != NULL ? open_file(path, &what, error) : -1;
    if (log->path == NULL)
        return qt_fail(error, QT_ENOMEM, "--keylog: out of memory");
    if (log->fd < 0)
        return QT_EIO;
    int code = read_on(log, error);
    uint64_t bad = log->bad + (log->lines.too_long || log->lines.n > 0);
    uint64_t forgotten;
    if (code == QT_OK && bad > 0 && log->good == 0 && qt_tls_store_count(log->store, &forgotten) == 0)
        code = qt_fail(error, QT_EFORMAT,
                       "--keylog %s: expected a TLS key log with lines such as CLIENT_RANDOM ... or"
                       " CLIENT_TRAFFIC_SECRET_0 ..., found no such line",
                       path);
    log->looked_ns = qt_now();
    return code;
}

/* Reads the file again. A different file may now have the same name, or the file may have been truncated. */
static void look_again(struct qt_tls_log *log)
{
    struct stat by_name, mine;
    if (stat(log->path, &by_name) == 0 && fstat(log->fd, &mine) == 0 &&
        (by_name.st_ino != mine.st_ino || by_name.st_dev != mine.st_dev)) {
        (void)read_on(log, NULL);
        int fd = open_file(log->path, &by_name, NULL);
        if (fd >= 0) {
            close(log->fd);
            log->fd = fd;
            log->offset = 0;
            qt_tls_lines_end(&log->lines);
        }
    }
    if (fstat(log->fd, &mine) == 0 && mine.st_size < log->offset) {
        log->offset = 0;
        qt_tls_lines_end(&log->lines);
    }
    (void)read_on(log, NULL);
}

/* ---- for connections ---- */

const char *qt_tls_log_path(const struct qt_tls_log *log) { return log->path; }

int qt_tls_log_in_use(const struct qt_tls_log *log)
{
    uint64_t forgotten;
    return log->path != NULL || qt_tls_store_count(log->store, &forgotten) > 0;
}

void qt_tls_log_set_grows(struct qt_tls_log *log) { log->grows = 1; }

void qt_tls_log_set_ahead(struct qt_tls_log *log, void (*look)(void *self), void *self)
{
    log->ahead = look;
    log->ahead_self = self;
}

/* Reads secrets that come later in the input. Restores the line counts, because these lines are counted when the input
 * reaches them. */
static void look_ahead(struct qt_tls_log *log)
{
    void (*look)(void *) = log->ahead;
    uint64_t good = log->good, bad = log->bad;
    log->ahead = NULL;
    look(log->ahead_self);
    log->good = good;
    log->bad = bad;
}

int qt_tls_log_may_have(struct qt_tls_log *log)
{
    if (!qt_tls_log_in_use(log) && log->ahead != NULL)
        look_ahead(log);
    return log->grows || qt_tls_log_in_use(log);
}

const struct qt_tls_secrets *qt_tls_log_find(struct qt_tls_log *log, const uint8_t random[QT_TLS_RANDOM], int now)
{
    const struct qt_tls_secrets *found = qt_tls_store_find(log->store, random);
    if (found != NULL && found->of[QT_TLS_MASTER].n == 0 &&
        (found->of[QT_TLS_CLIENT_TRAFFIC].n == 0 || found->of[QT_TLS_SERVER_TRAFFIC].n == 0))
        found = NULL; /* the other direction's line has not arrived yet */
    if (found != NULL)
        return found;
    if (log->ahead != NULL) {
        look_ahead(log);
        found = qt_tls_store_find(log->store, random);
    }
    int64_t when = qt_now();
    if (found != NULL || log->path == NULL || (!now && when - log->looked_ns < LOOK_AGAIN_NS))
        return found;
    log->looked_ns = when;
    look_again(log);
    return qt_tls_store_find(log->store, random);
}

int qt_tls_log_may_wait(struct qt_tls_log *log, size_t more)
{
    if (!log->grows || log->waiting + more > MAX_WAITING)
        return 0;
    log->waiting += more;
    return 1;
}

void qt_tls_log_give_back(struct qt_tls_log *log, size_t bytes) { log->waiting -= bytes; }

uint8_t *qt_tls_log_scratch(struct qt_tls_log *log) { return log->scratch; }

void qt_tls_log_count(const struct qt_tls_log *log, struct qt_tls_log_counts *out)
{
    *out = (struct qt_tls_log_counts){.bad_lines = log->bad, .waiting = log->waiting};
    out->connections = qt_tls_store_count(log->store, &out->forgotten);
}
