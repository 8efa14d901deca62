/* SPDX-License-Identifier: Apache-2.0 */
/* Each value is decoded, then written between double quotes, with its quotes doubled. NULL is written as an empty
 * field.
 *
 *   input:       2026-01-05<tab>SELECT "a",\n b<tab>\N
 *   output:      "2026-01-05","SELECT ""a"",<newline> b", */
#include "base/error.h"
#include "reader/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rewriting {
    struct qt_input *in;
    FILE *out;
    char separator, quote;
    enum { START, BARE, QUOTED, BEHIND } place; /* before a value, in an unquoted or quoted value, after the quotes */
    int escaped, raw_return;                    /* the last byte was: a backslash; an unescaped \r */
    char *value;                                /* decoded bytes of the current value; owned */
    size_t used, size, escapes;
    uint64_t line;
};

static int add(struct rewriting *r, char c)
{
    if (r->used == r->size) {
        size_t size = r->size > 0 ? 2 * r->size : 4096;
        char *larger = realloc(r->value, size);
        if (larger == NULL)
            return QT_ENOMEM;
        r->value = larger;
        r->size = size;
    }
    r->value[r->used++] = c;
    return QT_OK;
}

/* Adds the byte that follows a backslash. Programs escape `\0 \n \t \\`, the separator, the quote and newlines, and
 * between quotes also `\r`. Any other backslash is ordinary text, like 'it\'s' in a file without escapes. */
static int add_escaped(struct rewriting *r, char c)
{
    int code = QT_OK;
    if (c == '0' || c == 'n' || c == 't' || (c == 'r' && r->quote != 0))
        c = c == '0' ? 0 : c == 'n' ? '\n' : c == 't' ? '\t' : '\r';
    else if (c != '\\' && c != r->separator && c != '\n' && (c != r->quote || r->quote == 0))
        code = add(r, '\\');
    return code == QT_OK ? add(r, c) : code;
}

static int is_null(const struct rewriting *r)
{
    return r->place == BARE && ((r->escapes == 0 && r->used == 4 && memcmp(r->value, "NULL", 4) == 0) ||
                                (r->escapes == 1 && r->used == 2 && memcmp(r->value, "\\N", 2) == 0));
}

static void end_value(struct rewriting *r, char behind)
{
    if (behind == '\n' && r->place == BARE && r->raw_return)
        r->used--;
    if (!is_null(r)) {
        putc_unlocked('"', r->out);
        for (size_t i = 0; i < r->used; i++) {
            if (r->value[i] == '"')
                putc_unlocked('"', r->out);
            putc_unlocked(r->value[i], r->out);
        }
        putc_unlocked('"', r->out);
    }
    putc_unlocked(behind, r->out);
    r->place = START;
    r->used = r->escapes = 0;
}

/* Processes one byte of the file. */
static int take(struct rewriting *r, char c)
{
    r->line += c == '\n';
    if (r->escaped) {
        r->escaped = r->raw_return = 0;
        return add_escaped(r, c);
    }
    if (r->place == START && r->quote != 0 && c == r->quote)
        r->place = QUOTED;
    else if (r->place == QUOTED && c == r->quote)
        r->place = BEHIND;
    else if (r->place != QUOTED && (c == r->separator || c == '\n'))
        end_value(r, c == '\n' ? c : ',');
    else if (r->place == BEHIND)
        return c == '\r' ? QT_OK : QT_EFORMAT;
    else {
        r->place = r->place == START ? BARE : r->place;
        r->raw_return = c == '\r';
        r->escaped = c == '\\';
        r->escapes += c == '\\';
        return r->escaped ? QT_OK : add(r, c);
    }
    return QT_OK;
}

static int fail(const struct rewriting *r, int code, struct qt_error *error)
{
    if (code == QT_ENOMEM)
        return qt_fail(error, code, "out of memory");
    if (code == QT_EIO)
        return qt_fail(error, code, "writing a temporary file failed: %s", strerror(errno));
    const char *why = r->place == QUOTED ? "the closing quote of a value is missing"
                                         : "text follows the closing quote of a value";
    return qt_fail(error, code, "line %llu: %s", (unsigned long long)r->line + 1, why);
}

static int rewrite(struct rewriting *r, struct qt_error *error)
{
    char piece[1 << 14];
    size_t got = 1;
    while (got > 0) {
        int code = qt_input_read(r->in, piece, sizeof piece, &got, error);
        if (code != QT_OK)
            return code;
        for (size_t i = 0; i < got; i++)
            if ((code = take(r, piece[i])) != QT_OK)
                return fail(r, code, error);
    }
    if (r->place == QUOTED)
        return fail(r, QT_EFORMAT, error);
    if (r->place != START)
        end_value(r, '\n');
    return fflush(r->out) == 0 && !ferror(r->out) ? QT_OK : fail(r, QT_EIO, error);
}

int qt_input_rewrite_csv(struct qt_input *in, int out, char separator, char quote, struct qt_error *error)
{
    int own = dup(out);
    struct rewriting r = {.in = in, .out = own >= 0 ? fdopen(own, "wb") : NULL, .separator = separator, .quote = quote};
    int code = r.out != NULL ? rewrite(&r, error) : fail(&r, QT_EIO, error);
    if (r.out != NULL)
        fclose(r.out);
    else if (own >= 0)
        close(own);
    free(r.value);
    return code;
}
