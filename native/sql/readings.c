/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   the default reading ─► nothing in it that others take differently: done
 *                       └► each other reading ─► impossible from some statement on (a backslash outside of quotes, a
 *                                                literal that never ends): what is before counts, that statement not
 *
 * A reading that is impossible tells that the session does not read so; without that test each 'it\'s' would count as
 * code. Where a comment is executed by some servers only, each reading is made with it and without.
 */
#include "sql/readings.h"

#include <string.h>

#include "sql/classify.h"

/* A backslash outside of quotes is an error in every server, but \N is NULL. */
static int is_impossible(const struct qt_token *t, const char *end)
{
    return t->kind == QT_T_OPERATOR && *t->p == '\\' && (t->p + 1 >= end || t->p[1] != 'N');
}

/* Returns whether there was a comment with a version in it. */
static int read_once(struct qt_classifier *c, const struct qt_keywords *keywords, const char *sql, size_t len,
                     const struct qt_lexer *how)
{
    struct qt_lexer lexer;
    struct qt_token t;
    int secret = c->secret, possible = 1;
    uint32_t flags = c->flags;
    qt_lexer_init(&lexer, keywords, sql, len);
    lexer.reading = how->reading;
    lexer.charset = how->charset;
    lexer.skip_versions = how->skip_versions;
    qt_classify_again(c);
    for (qt_lex(&lexer, &t); t.kind != QT_T_END && possible; qt_lex(&lexer, &t)) {
        possible = !is_impossible(&t, sql + len);
        if (possible)
            qt_classify(c, &t);
    }
    if ((how->reading | how->charset) != 0 && (!possible || (lexer.open_quote != 0 && lexer.open_quote != '*'))) {
        qt_classify_drop(c);
        c->flags = flags;
        c->secret = possible ? c->secret : secret; /* the end may be missing because a log cut it */
    }
    qt_classify_end(c);
    return lexer.saw_version;
}

static void with_and_without_versions(struct qt_classifier *c, const struct qt_keywords *keywords, const char *sql,
                                      size_t len, unsigned reading, unsigned charset)
{
    struct qt_lexer how = {.reading = (uint8_t)reading, .charset = (uint8_t)charset};
    if (read_once(c, keywords, sql, len, &how)) {
        how.skip_versions = 1;
        read_once(c, keywords, sql, len, &how);
    }
}

/* A byte above 127 before a backslash or back quote, wherever it is. */
static int holds_wide(const char *p, size_t len)
{
    for (size_t i = 1; i < len; i++)
        if ((p[i] == '\\' || p[i] == '`') && p[i - 1] & 0x80)
            return 1;
    return 0;
}

void qt_readings(struct qt_classifier *c, const struct qt_lexer *first, const char *sql, size_t len)
{
    int ends_differ = first->saw & (QT_SAW_BACKSLASH | QT_SAW_WIDE);
    int mode = ends_differ && memchr(sql, '\\', len) != NULL, wide = ends_differ && holds_wide(sql, len);
    int ansi = first->saw & QT_SAW_DOUBLE || (ends_differ && memchr(sql, '"', len) != NULL);
    if (first->saw_version) {
        struct qt_lexer how = {.skip_versions = 1};
        read_once(c, first->keywords, sql, len, &how);
    }
    for (unsigned charset = QT_NARROW; charset < (wide ? QT_WIDE_CHARSETS : QT_NARROW + 1); charset++)
        for (unsigned reading = 0; reading <= (QT_READ_NO_BACKSLASH | QT_READ_ANSI); reading++)
            if ((charset | reading) != 0 && (mode || !(reading & QT_READ_NO_BACKSLASH)) &&
                (ansi || !(reading & QT_READ_ANSI)))
                with_and_without_versions(c, first->keywords, sql, len, reading, charset);
}

void qt_readings_all(struct qt_classifier *c, const struct qt_keywords *keywords, const char *sql, size_t len)
{
    struct qt_lexer lexer;
    struct qt_token t;
    qt_lexer_init(&lexer, keywords, sql, len);
    qt_classify_begin(c);
    for (qt_lex(&lexer, &t); t.kind != QT_T_END; qt_lex(&lexer, &t))
        qt_classify(c, &t);
    qt_classify_end(c);
    if (lexer.saw | lexer.saw_version)
        qt_readings(c, &lexer, sql, len);
}
