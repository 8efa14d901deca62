/* SPDX-License-Identifier: Apache-2.0 */
/* Data flow of an input:
 *
 *   file / stdin --read(2)--> packed[] --zlib | zstd | xz | nothing--> the caller's buffer
 *
 * The first six bytes show the format. Consecutive gzip members, zstd frames or xz streams form one stream. `cat a.gz
 * b.gz` creates such input. Bytes returned by qt_input_peek are kept in head[] and read again from head[]. */
#include "reader/input.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/error.h"

#define PACKED_SIZE (1u << 18)
#define MAGIC_BYTES 6

#define XZ_MEMORY (UINT64_C(256) << 20) /* archives that need more memory are rejected: xz -9 needs 65 MB */

enum kind { PLAIN, GZIP, ZSTD, XZ };

struct qt_input {
    int fd;
    enum kind kind;
    uint64_t stored;   /* bytes read from `fd` */
    size_t have, used; /* number of bytes in `packed`; number of used bytes */
    int at_end;        /* read(2) returned 0 */
    int inside;        /* inside a gzip member, zstd frame or xz stream */
    z_stream zlib;
    ZSTD_DStream *zstd;
    lzma_stream xz;
    int xz_done; /* the last xz stream has ended */
    char *head;  /* uncompressed bytes from qt_input_peek; [head_used, head_len) are read first */
    size_t head_len, head_used;
    char *path;
    unsigned char packed[PACKED_SIZE];
};

static int fill(struct qt_input *in, struct qt_error *error)
{
    if (in->used < in->have || in->at_end)
        return QT_OK;
    for (;;) {
        ssize_t got = read(in->fd, in->packed, PACKED_SIZE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return qt_fail(error, QT_EIO, "%s: reading failed at byte %llu: %s", in->path,
                           (unsigned long long)in->stored, strerror(errno));
        in->used = 0;
        in->have = (size_t)got;
        in->stored += (uint64_t)got;
        in->at_end = got == 0;
        return QT_OK;
    }
}

/* Detects the compression format. A pipe may deliver the first bytes one by one. The function therefore reads until the
 * first bytes are complete or the input ends. */
static int detect(struct qt_input *in, struct qt_error *error)
{
    while (in->have < MAGIC_BYTES && !in->at_end) {
        ssize_t got = read(in->fd, in->packed + in->have, PACKED_SIZE - in->have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return qt_fail(error, QT_EIO, "%s: %s", in->path, strerror(errno));
        in->have += (size_t)got;
        in->stored += (uint64_t)got;
        in->at_end = got == 0;
    }
    if (in->have >= 2 && in->packed[0] == 0x1f && in->packed[1] == 0x8b) {
        in->kind = GZIP;
        if (inflateInit2(&in->zlib, 15 + 16) != Z_OK)
            return qt_fail(error, QT_ENOMEM, "%s: out of memory for gzip", in->path);
    } else if (in->have >= 4 && memcmp(in->packed, "\x28\xb5\x2f\xfd", 4) == 0) {
        in->kind = ZSTD;
        in->zstd = ZSTD_createDStream();
        if (in->zstd == NULL)
            return qt_fail(error, QT_ENOMEM, "%s: out of memory for zstd", in->path);
    } else if (in->have >= 6 && memcmp(in->packed,
                                       "\xfd"
                                       "7zXZ",
                                       6) == 0) {
        in->kind = XZ;
        if (lzma_stream_decoder(&in->xz, XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
            return qt_fail(error, QT_ENOMEM, "%s: out of memory for xz", in->path);
    }
    return QT_OK;
}

struct qt_input *qt_input_open(const char *path, struct qt_error *error)
{
    struct stat what;
    struct qt_input *in = calloc(1, sizeof *in);
    if (in == NULL || (in->path = strdup(path)) == NULL) {
        free(in);
        qt_fail(error, QT_ENOMEM, "%s: out of memory", path);
        return NULL;
    }
    in->fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0) {
        qt_fail(error, QT_EIO, "%s: %s", path, strerror(errno));
        goto bad;
    }
    if (fstat(in->fd, &what) == 0 && S_ISDIR(what.st_mode)) {
        qt_fail(error, QT_EIO, "%s: is a directory", path);
        goto bad;
    }
    (void)posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    if (detect(in, error) == QT_OK)
        return in;
bad:
    qt_input_close(in);
    return NULL;
}

static int read_plain(struct qt_input *in, char *out, size_t size, size_t *got, struct qt_error *error)
{
    if (in->used < in->have) { /* bytes read by detect() */
        *got = in->have - in->used < size ? in->have - in->used : size;
        memcpy(out, in->packed + in->used, *got);
        in->used += *got;
        return QT_OK;
    }
    for (;;) {
        ssize_t n = in->at_end ? 0 : read(in->fd, out, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return qt_fail(error, QT_EIO, "%s: reading failed at byte %llu: %s", in->path,
                           (unsigned long long)in->stored, strerror(errno));
        in->stored += (uint64_t)n;
        in->at_end = n == 0;
        *got = (size_t)n;
        return QT_OK;
    }
}

static int read_gzip(struct qt_input *in, char *out, size_t size, size_t *got, struct qt_error *error)
{
    in->zlib.next_out = (unsigned char *)out;
    in->zlib.avail_out = (unsigned)(size > (1u << 30) ? (1u << 30) : size);
    unsigned room = in->zlib.avail_out;
    while (in->zlib.avail_out == room) {
        int code = fill(in, error);
        if (code)
            return code;
        if (in->at_end && in->used == in->have) {
            *got = 0;
            return in->inside ? qt_fail(error, QT_EFORMAT, "%s: the gzip stream is cut off at byte %llu", in->path,
                                        (unsigned long long)in->stored)
                              : QT_OK;
        }
        in->zlib.next_in = in->packed + in->used;
        in->zlib.avail_in = (unsigned)(in->have - in->used);
        in->inside = 1;
        int z = inflate(&in->zlib, Z_NO_FLUSH);
        in->used = in->have - in->zlib.avail_in;
        if (z == Z_STREAM_END) {
            in->inside = 0;
            inflateReset(&in->zlib);
        } else if (z != Z_OK && z != Z_BUF_ERROR) {
            return qt_fail(error, QT_EFORMAT, "%s: damaged gzip data near byte %llu: %s", in->path,
                           (unsigned long long)(in->stored - in->have + in->used), in->zlib.msg ? in->zlib.msg : "?");
        }
    }
    *got = room - in->zlib.avail_out;
    return QT_OK;
}

static int read_zstd(struct qt_input *in, char *out, size_t size, size_t *got, struct qt_error *error)
{
    ZSTD_outBuffer to = {out, size, 0};
    while (to.pos == 0) {
        int code = fill(in, error);
        if (code)
            return code;
        if (in->at_end && in->used == in->have) {
            *got = 0;
            return in->inside ? qt_fail(error, QT_EFORMAT, "%s: the zstd stream is cut off at byte %llu", in->path,
                                        (unsigned long long)in->stored)
                              : QT_OK;
        }
        ZSTD_inBuffer from = {in->packed, in->have, in->used};
        size_t left = ZSTD_decompressStream(in->zstd, &to, &from);
        in->used = from.pos;
        if (ZSTD_isError(left))
            return qt_fail(error, QT_EFORMAT, "%s: damaged zstd data near byte %llu: %s", in->path,
                           (unsigned long long)(in->stored - in->have + in->used), ZSTD_getErrorName(left));
        in->inside = left != 0;
    }
    *got = to.pos;
    return QT_OK;
}

static int read_xz(struct qt_input *in, char *out, size_t size, size_t *got, struct qt_error *error)
{
    in->xz.next_out = (uint8_t *)out;
    in->xz.avail_out = size;
    while (in->xz.avail_out == size && !in->xz_done) {
        int code = fill(in, error);
        if (code)
            return code;
        in->xz.next_in = in->packed + in->used;
        in->xz.avail_in = in->have - in->used;
        lzma_ret said = lzma_code(&in->xz, in->at_end ? LZMA_FINISH : LZMA_RUN);
        in->used = in->have - in->xz.avail_in;
        in->xz_done = said == LZMA_STREAM_END;
        if (said == LZMA_BUF_ERROR && in->at_end)
            return qt_fail(error, QT_EFORMAT, "%s: the xz stream is cut off at byte %llu", in->path,
                           (unsigned long long)in->stored);
        if (said != LZMA_OK && said != LZMA_STREAM_END && said != LZMA_BUF_ERROR)
            return qt_fail(error, QT_EFORMAT, "%s: damaged xz data near byte %llu%s", in->path,
                           (unsigned long long)(in->stored - in->have + in->used),
                           said == LZMA_MEMLIMIT_ERROR ? " (decompression needs more than 256 MiB of memory)" : "");
    }
    *got = size - in->xz.avail_out;
    return QT_OK;
}

static int read_on(struct qt_input *in, char *out, size_t size, size_t *got, struct qt_error *error)
{
    *got = 0;
    switch (in->kind) {
    case GZIP:
        return read_gzip(in, out, size, got, error);
    case ZSTD:
        return read_zstd(in, out, size, got, error);
    case XZ:
        return read_xz(in, out, size, got, error);
    default:
        return read_plain(in, out, size, got, error);
    }
}

int qt_input_read(struct qt_input *in, char *out, size_t size, size_t *got, struct qt_error *error)
{
    if (in->head == NULL)
        return read_on(in, out, size, got, error);
    size_t left = in->head_len - in->head_used;
    *got = left < size ? left : size;
    memcpy(out, in->head + in->head_used, *got);
    in->head_used += *got;
    if (in->head_used == in->head_len) {
        free(in->head);
        in->head = NULL;
    }
    return *got > 0 ? QT_OK : read_on(in, out, size, got, error);
}

int qt_input_peek(struct qt_input *in, char *out, size_t room, size_t *got, struct qt_error *error)
{
    size_t have = in->head != NULL ? in->head_len - in->head_used : 0, more = 1;
    int code = QT_OK;
    *got = 0;
    if (have < room) {
        char *head = malloc(room);
        if (head == NULL)
            return qt_fail(error, QT_ENOMEM, "%s: out of memory", in->path);
        if (have > 0)
            memcpy(head, in->head + in->head_used, have);
        for (; code == QT_OK && more > 0 && have < room; have += more)
            code = read_on(in, head + have, room - have, &more, error);
        free(in->head);
        in->head = head;
        in->head_len = have;
        in->head_used = 0;
    }
    *got = have < room ? have : room;
    memcpy(out, in->head + in->head_used, *got);
    return code == QT_EFORMAT && *got > 0 ? QT_OK : code;
}

/* Lengths of the longest line or record so far, and of the current line or record. */
struct measure {
    uint64_t longest, now;
    char quote;
    int quoted;
};

static void measure(struct measure *m, const char *p, size_t n)
{
    const char *end = p + n;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline != NULL ? newline : end;
        for (const char *q = p; m->quote != 0 && (q = memchr(q, m->quote, (size_t)(stop - q))) != NULL; q++)
            m->quoted ^= 1;
        m->now += (uint64_t)(stop - p) + 1;
        m->longest = m->now > m->longest ? m->now : m->longest;
        m->now = newline != NULL && !m->quoted ? 0 : m->now;
        p = stop + 1;
    }
}

static int write_all(int out, const char *p, size_t n, struct qt_error *error)
{
    while (n > 0) {
        ssize_t done = write(out, p, n);
        if (done < 0 && errno != EINTR)
            return qt_fail(error, QT_EIO, "writing a temporary file failed: %s", strerror(errno));
        p += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return QT_OK;
}

int qt_input_unpack(struct qt_input *in, int out, char quote, uint64_t *longest, struct qt_error *error)
{
    enum { PIECE = 1 << 20 };
    struct measure m = {.quote = quote};
    char *piece = malloc(PIECE);
    size_t got = 1;
    int code = piece != NULL ? QT_OK : qt_fail(error, QT_ENOMEM, "%s: out of memory", in->path);
    while (code == QT_OK && got > 0) {
        code = qt_input_read(in, piece, PIECE, &got, error);
        if (code == QT_OK && got > 0)
            measure(&m, piece, got);
        if (code == QT_OK && got > 0 && out >= 0)
            code = write_all(out, piece, got, error);
    }
    free(piece);
    *longest = m.longest;
    return code;
}

uint64_t qt_input_stored_bytes(const struct qt_input *in) { return in->stored; }

void qt_input_close(struct qt_input *in)
{
    if (in == NULL)
        return;
    if (in->kind == GZIP)
        inflateEnd(&in->zlib);
    ZSTD_freeDStream(in->zstd);
    lzma_end(&in->xz);
    if (in->fd >= 0)
        close(in->fd);
    free(in->head);
    free(in->path);
    free(in);
}

int qt_input_check(const char *path, struct qt_error *error)
{
    struct stat what;
    if (strcmp(path, "-") == 0)
        return QT_OK;
    if (stat(path, &what) != 0)
        return qt_fail(error, QT_EIO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(what.st_mode) && !S_ISDIR(what.st_mode))
        return QT_OK;
    struct qt_input *in = qt_input_open(path, error);
    if (in == NULL)
        return error != NULL ? error->code : QT_EIO;
    qt_input_close(in);
    return QT_OK;
}

int qt_inputs_init(struct qt_inputs *in, const char *const *paths, struct qt_input *const *opened, int32_t n)
{
    in->n = n;
    in->opened = calloc((size_t)n + 1, sizeof *in->opened);
    in->paths = calloc((size_t)n + 1, sizeof *in->paths);
    int bad = in->opened == NULL || in->paths == NULL;
    for (int32_t i = 0; opened != NULL && i < n; i++) {
        if (in->opened != NULL)
            in->opened[i] = opened[i];
        else
            qt_input_close(opened[i]);
    }
    for (int32_t i = 0; i < n && !bad; i++)
        bad = (in->paths[i] = strdup(paths[i])) == NULL;
    return bad ? -1 : 0;
}

void qt_inputs_free(struct qt_inputs *in)
{
    for (int32_t i = 0; i < in->n; i++) {
        if (in->opened != NULL)
            qt_input_close(in->opened[i]);
        if (in->paths != NULL)
            free(in->paths[i]);
    }
    free(in->opened);
    free(in->paths);
}

struct qt_input *qt_inputs_take_opened(struct qt_inputs *in, int32_t i)
{
    struct qt_input *opened = in->opened[i];
    in->opened[i] = NULL;
    return opened;
}

struct qt_input *qt_inputs_take(struct qt_inputs *in, int32_t i, struct qt_error *error)
{
    struct qt_input *opened = qt_inputs_take_opened(in, i);
    return opened != NULL ? opened : qt_input_open(in->paths[i], error);
}
