/* SPDX-License-Identifier: Apache-2.0 */
/* The handler for LOCAL INFILE requests of the library.
 *
 *   params: 'I' file | 'S' length of the rest, the rest, [length, file]*
 *      ──► connection.file, .more_files ──► open, read */
#include "engine/local_files.h"

#include <errno.h>
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/reading.h"

struct local_file {
    const char *p;
    size_t n, at;
};

static void show_next(struct qt_connection *c)
{
    if (c->more_files_len == 0) {
        c->file = NULL;
        c->file_len = 0;
        return;
    }
    struct qt_reading r = qt_reading(c->more_files, c->more_files_len);
    struct qt_span next = qt_take_string(&r);
    c->file = next.p;
    c->file_len = next.len;
    c->more_files = (const char *)r.p;
    c->more_files_len = r.bad ? 0 : qt_left(&r);
}

static int open_file(void **out, const char *name, void *connection)
{
    struct qt_connection *c = connection;
    struct local_file *f = calloc(1, sizeof *f);
    (void)name;
    *out = f;
    if (f == NULL)
        return 1;
    c->file_missing |= c->file == NULL; /* the server gets an empty file, so that its answer can be read normally */
    *f = (struct local_file){.p = c->file, .n = c->file_len};
    show_next(c);
    return 0;
}

static int read_file(void *self, char *to, unsigned room)
{
    struct local_file *f = self;
    size_t n = f->n - f->at;
    n = n < room ? n : room;
    if (n > 0)
        memcpy(to, f->p + f->at, n);
    f->at += n;
    return (int)n;
}

static void close_file(void *self) { free(self); }

static int tell_file_error(void *self, char *to, unsigned room)
{
    (void)self;
    snprintf(to, room, "out of memory");
    return ENOMEM;
}

void qt_local_files_install(struct qt_connection *c)
{
    mysql_set_local_infile_handler(c->mysql, open_file, read_file, close_file, tell_file_error, c);
}

int qt_local_files_provide(struct qt_connection *c, char *params, size_t len, struct qt_span *own)
{
    *own = (struct qt_span){params, len};
    if (len == 0 || (params[0] != 'I' && params[0] != 'S'))
        return 0;
    if (params[0] == 'I') {
        c->file = params + 1;
        c->file_len = len - 1;
        *own = (struct qt_span){params, 0};
        return 0;
    }
    struct qt_reading r = qt_reading(params + 1, len - 1);
    *own = qt_take_string(&r);
    c->more_files = (const char *)r.p;
    c->more_files_len = r.bad ? 0 : qt_left(&r);
    show_next(c);
    return r.bad || (own->len > 0 && memchr("AEDN", own->p[0], 4) == NULL);
}

void qt_local_files_forget(struct qt_connection *c)
{
    c->file_missing = 0;
    c->file = c->more_files = NULL;
    c->file_len = c->more_files_len = 0;
}
