/* SPDX-License-Identifier: Apache-2.0 */
/* Follows a log by its name:
 *
 *   NAME ──open──► fd: read at `at` ──end──► does the name mean another file, with bytes in it?
 *                   │                          yes: read the old file again to its end, then the new file from 0
 *                   │ shorter than `at`, or different bytes before `at`: truncated
 *                   ▼
 *          a copy next to it (NAME.*, possibly compressed) with the same bytes before `at`: its rest, then fd from 0
 *
 * After a log was renamed, its writer uses the old file until the writer opens the new file. The first byte of the new
 * file thus shows that the old file is complete. */
#include "reader/follow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "reader/input.h"

#define LOOK_NS (QT_SECOND / 20)
#define MARK 4096          /* bytes before `at` that identify a file */
#define COPY_AGE (60 * 60) /* seconds; older copies belong to an earlier truncation */
#define SKIPPED_AT_ONCE (1u << 16)
#define MAX_NEXT 64
#define MAX_CANDIDATES 256

struct qt_follow {
    char *path;
    int fd;             /* descriptor of the current file; -1 = none */
    int next[MAX_NEXT]; /* later files with this name, in order */
    int n_next;
    uint64_t at; /* read position in `fd` */
    uint64_t bytes;
    char mark[MARK]; /* the last bytes before `at` */
    size_t mark_len;
    int copy_fd;
    struct qt_input *copy; /* a compressed copy, read up to `at` */
    _Atomic uint32_t ending;
    _Atomic uint64_t followed, rotations, truncations, without_copy, from_copies;
};

struct qt_follow *qt_follow_open(const char *path, int from_end, struct qt_error *error)
{
    static const char packed[3][4] = {{'\x1f', '\x8b'}, {'\x28', '\xb5', '\x2f', '\xfd'}, {'\xfd', '7', 'z', 'X'}};
    static const size_t packed_len[3] = {2, 4, 4};
    char head[4] = "";
    struct stat what;
    struct qt_follow *f = calloc(1, sizeof *f);
    if (f == NULL || (f->path = strdup(path)) == NULL) {
        free(f);
        qt_fail(error, QT_ENOMEM, "%s: out of memory", path);
        return NULL;
    }
    f->copy_fd = -1;
    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f->fd < 0 || fstat(f->fd, &what) != 0) {
        qt_fail(error, QT_EIO, "%s: %s", path, strerror(errno));
        goto bad;
    }
    if (!S_ISREG(what.st_mode)) {
        qt_fail(error, QT_EIO, "%s: expected a file to follow, found a folder, a pipe or a device", path);
        goto bad;
    }
    ssize_t have = pread(f->fd, head, sizeof head, 0);
    for (int i = 0; i < 3; i++)
        if (have >= (ssize_t)packed_len[i] && memcmp(head, packed[i], packed_len[i]) == 0) {
            qt_fail(error, QT_EFORMAT, "%s: expected an uncompressed log, found a compressed file", path);
            goto bad;
        }
    f->at = from_end ? (uint64_t)what.st_size : 0;
    size_t before = f->at < MARK ? (size_t)f->at : MARK;
    have = pread(f->fd, f->mark, before, (off_t)(f->at - before));
    f->mark_len = have == (ssize_t)before ? before : 0;
    atomic_store(&f->followed, f->at);
    return f;
bad:
    qt_follow_close(f);
    return NULL;
}

static void close_copy(struct qt_follow *f)
{
    if (f->copy_fd >= 0)
        close(f->copy_fd);
    qt_input_close(f->copy);
    f->copy_fd = -1;
    f->copy = NULL;
}

void qt_follow_close(struct qt_follow *f)
{
    if (f == NULL)
        return;
    close_copy(f);
    if (f->fd >= 0)
        close(f->fd);
    for (int i = 0; i < f->n_next; i++)
        close(f->next[i]);
    free(f->path);
    free(f);
}

static void remember(struct qt_follow *f, const char *p, size_t n)
{
    if (n < MARK) {
        size_t kept = f->mark_len + n > MARK ? MARK - n : f->mark_len;
        memmove(f->mark, f->mark + f->mark_len - kept, kept);
        memcpy(f->mark + kept, p, n);
        f->mark_len = kept + n;
    } else {
        memcpy(f->mark, p + n - MARK, MARK);
        f->mark_len = MARK;
    }
    f->at += n;
    f->bytes += n;
    atomic_store_explicit(&f->followed, f->at, memory_order_relaxed);
}

static ssize_t read_at(int fd, char *out, size_t size, uint64_t at)
{
    ssize_t n;
    do
        n = pread(fd, out, size, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n;
}

static int has_mark(const struct qt_follow *f, int fd)
{
    char found[MARK];
    return read_at(fd, found, f->mark_len, f->at - f->mark_len) == (ssize_t)f->mark_len &&
           memcmp(found, f->mark, f->mark_len) == 0;
}

static int was_truncated(const struct qt_follow *f)
{
    struct stat what;
    if (fstat(f->fd, &what) != 0)
        return 0;
    return (uint64_t)what.st_size < f->at || (f->mark_len > 0 && !has_mark(f, f->fd));
}

/* ---- the copy of a log that was truncated ---- */

/* Decompresses the file up to `at`. Returns whether the bytes before `at` equal the bytes read from the log. */
static int unpack_to_mark(const struct qt_follow *f, struct qt_input *in)
{
    char *piece = malloc(SKIPPED_AT_ONCE + MARK);
    size_t kept = 0, got = 1;
    uint64_t left = f->at;
    while (piece != NULL && left > 0 && got > 0) {
        size_t want = left < SKIPPED_AT_ONCE ? (size_t)left : SKIPPED_AT_ONCE;
        if (qt_input_read(in, piece + kept, want, &got, NULL) != QT_OK)
            break;
        left -= got;
        kept += got;
        if (kept > MARK) {
            memmove(piece, piece + kept - MARK, MARK);
            kept = MARK;
        }
    }
    int same = piece != NULL && left == 0 && kept >= f->mark_len &&
               memcmp(piece + kept - f->mark_len, f->mark, f->mark_len) == 0;
    free(piece);
    return same;
}

static int is_packed(const char *name)
{
    static const char *const ends[] = {".gz", ".zst", ".xz"};
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (len > strlen(ends[i]) && strcmp(name + len - strlen(ends[i]), ends[i]) == 0)
            return 1;
    return 0;
}

struct candidate {
    char *path;
    int64_t changed_ns;
};

static int newest_first(const void *a, const void *b)
{
    int64_t x = ((const struct candidate *)a)->changed_ns, y = ((const struct candidate *)b)->changed_ns;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Opens the file if it is the copy of the log. Returns 1 if it is the copy. */
static int take_copy(struct qt_follow *f, const char *path)
{
    if (is_packed(path)) {
        f->copy = qt_input_open(path, NULL);
        if (f->copy != NULL && !unpack_to_mark(f, f->copy))
            close_copy(f);
        return f->copy != NULL;
    }
    struct stat what;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &what) == 0 && (uint64_t)what.st_size >= f->at && has_mark(f, fd))
        f->copy_fd = fd;
    else if (fd >= 0)
        close(fd);
    return f->copy_fd >= 0;
}

/* Returns whether a file in the log's folder may be the copy of the log. Fills `out`, whose path the caller frees. */
static int is_candidate(const struct qt_follow *f, const char *folder, const char *name, struct candidate *out)
{
    const char *slash = strrchr(f->path, '/'), *own_name = slash != NULL ? slash + 1 : f->path;
    size_t len = strlen(own_name), room = strlen(folder) + strlen(name) + 1;
    struct stat what, own;
    if (strncmp(name, own_name, len) != 0 || name[len] == '\0' || (out->path = malloc(room)) == NULL)
        return 0;
    snprintf(out->path, room, "%s%s", folder, name);
    if (lstat(out->path, &what) == 0 && S_ISREG(what.st_mode) && fstat(f->fd, &own) == 0 &&
        !(what.st_dev == own.st_dev && what.st_ino == own.st_ino) && what.st_ctim.tv_sec + COPY_AGE >= time(NULL)) {
        out->changed_ns = (int64_t)what.st_ctim.tv_sec * QT_SECOND + what.st_ctim.tv_nsec;
        return 1;
    }
    free(out->path);
    return 0;
}

/* Searches the log's folder for files whose names begin with the log's name. Opens the newest file that contains the
 * bytes read so far. */
static int find_copy(struct qt_follow *f)
{
    struct candidate candidates[MAX_CANDIDATES];
    const char *slash = strrchr(f->path, '/');
    char *folder = slash != NULL ? strndup(f->path, (size_t)(slash - f->path) + 1) : strdup("./");
    DIR *dir = folder != NULL ? opendir(folder) : NULL;
    struct dirent *entry;
    int n = 0, found = 0;
    while (dir != NULL && n < MAX_CANDIDATES && (entry = readdir(dir)) != NULL)
        n += is_candidate(f, folder, entry->d_name, &candidates[n]);
    if (dir != NULL)
        closedir(dir);
    free(folder);
    qsort(candidates, (size_t)n, sizeof *candidates, newest_first);
    for (int i = 0; i < n; i++) {
        found = found || take_copy(f, candidates[i].path);
        free(candidates[i].path);
    }
    return found;
}

/* Reads the rest of the copy. Returns 1 with bytes, 0 at its end. */
static int read_copy(struct qt_follow *f, char *out, size_t size, size_t *got)
{
    ssize_t n = f->copy_fd >= 0 ? read_at(f->copy_fd, out, size, f->at) : 0;
    *got = n > 0 ? (size_t)n : 0;
    if (f->copy != NULL && qt_input_read(f->copy, out, size, got, NULL) != QT_OK)
        *got = 0;
    return *got > 0;
}

static void begin_again(struct qt_follow *f)
{
    close_copy(f);
    f->at = 0;
    f->mark_len = 0;
    atomic_store(&f->followed, 0);
}

/* ---- the current file ---- */

/* Opens the file that has the log's name now, unless it is already open. */
static void look_for_next(struct qt_follow *f)
{
    struct stat named, last;
    if (f->n_next == MAX_NEXT || stat(f->path, &named) != 0 || !S_ISREG(named.st_mode) ||
        fstat(f->n_next > 0 ? f->next[f->n_next - 1] : f->fd, &last) != 0 ||
        (named.st_dev == last.st_dev && named.st_ino == last.st_ino))
        return;
    int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        f->next[f->n_next++] = fd;
}

static int next_has_bytes(const struct qt_follow *f)
{
    struct stat next;
    for (int i = 0; i < f->n_next; i++)
        if (fstat(f->next[i], &next) == 0 && next.st_size > 0)
            return 1;
    return 0;
}

/* Reads from `at` in the current or renamed file. The check for a truncation must come after the read. A log may be
 * truncated and grow past its old size between any two calls. */
static enum qt_follow_read read_file(struct qt_follow *f, char *out, size_t size, size_t *got, struct qt_error *error)
{
    look_for_next(f);
    int others = next_has_bytes(f); /* check before reading: if a new file has bytes, the old file is complete */
    ssize_t n = read_at(f->fd, out, size, f->at);
    if (n < 0) {
        qt_fail(error, QT_EIO, "%s: reading failed at byte %llu: %s", f->path, (unsigned long long)f->at,
                strerror(errno));
        return QT_FOLLOW_FAILED;
    }
    if (was_truncated(f))
        return QT_FOLLOW_TRUNCATED;
    *got = (size_t)n;
    if (n > 0)
        remember(f, out, *got);
    return n > 0 ? QT_FOLLOW_BYTES : others ? QT_FOLLOW_OTHER : QT_FOLLOW_NOTHING;
}

enum qt_follow_read qt_follow_read(struct qt_follow *f, char *out, size_t size, size_t *got, struct qt_error *error)
{
    enum qt_follow_read what = QT_FOLLOW_TRUNCATED;
    *got = 0;
    while (what == QT_FOLLOW_TRUNCATED) {
        if (f->copy_fd >= 0 || f->copy != NULL) {
            if (read_copy(f, out, size, got)) {
                remember(f, out, *got);
                atomic_fetch_add(&f->from_copies, *got);
                return QT_FOLLOW_BYTES;
            }
            begin_again(f);
            atomic_fetch_add(&f->truncations, 1);
        }
        what = read_file(f, out, size, got, error);
        if (what == QT_FOLLOW_TRUNCATED && !find_copy(f))
            break;
    }
    return what;
}

void qt_follow_take_next(struct qt_follow *f)
{
    int rotated = next_has_bytes(f);
    if (rotated) {
        close(f->fd);
        f->fd = f->next[0];
        memmove(f->next, f->next + 1, (size_t)--f->n_next * sizeof *f->next);
    }
    begin_again(f);
    atomic_fetch_add(rotated ? &f->rotations : &f->truncations, 1);
    if (!rotated)
        atomic_fetch_add(&f->without_copy, 1);
}

void qt_follow_wait(struct qt_follow *f) { qt_futex_wait(&f->ending, 0, qt_now() + LOOK_NS); }

void qt_follow_end(struct qt_follow *f)
{
    atomic_store(&f->ending, 1);
    qt_futex_wake(&f->ending, 1);
}

int qt_follow_is_ending(const struct qt_follow *f) { return atomic_load(&f->ending) != 0; }

uint64_t qt_follow_bytes(const struct qt_follow *f) { return f->bytes; }

void qt_follow_describe(const struct qt_follow *f, struct qt_json *json)
{
    qt_json_int(json, "followed_bytes", (int64_t)atomic_load(&f->followed));
    qt_json_int(json, "rotations", (int64_t)atomic_load(&f->rotations));
    qt_json_int(json, "truncations", (int64_t)atomic_load(&f->truncations));
    qt_json_int(json, "truncations_without_copy", (int64_t)atomic_load(&f->without_copy));
    qt_json_int(json, "read_from_copies", (int64_t)atomic_load(&f->from_copies));
}
