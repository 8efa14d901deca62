/* SPDX-License-Identifier: Apache-2.0 */
/* A text with several statements returns one result per statement, in order. No statement follows a failing statement.
 * Result n therefore belongs to statement n if both counts match. */
#include "packets/insert_ids.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "protocol/decoded.h"
#include "sql/lexer.h"
#include "sql/split.h"

/* Returns whether the statement's id belongs to an existing row, because an INSERT ... ON DUPLICATE KEY UPDATE found
 * every row. */
static int found_all(const struct qt_split *s, size_t i, struct qt_span text, uint64_t id)
{
    size_t from = s->inserts[2 * i + 1], end = i + 1 < s->n_inserts ? s->inserts[2 * i + 3] : text.len;
    return (id & QT_ONLY_FOUND) != 0 && qt_is_upsert((struct qt_span){text.p + from, end - from});
}

static int write_all(struct qt_bytes *out, const struct qt_split *s, struct qt_span text, struct qt_span results)
{
    size_t n = results.len / 8;
    char one[64];
    for (size_t i = 0; i < s->n_inserts && s->inserts[2 * i] < n; i++) {
        uint64_t id = qt_get_le(results.p + 8 * s->inserts[2 * i], 8);
        if (id == 0 || found_all(s, i, text, id))
            continue;
        id &= INT64_MAX;
        int len = snprintf(one, sizeof one, "%s%zu:%" PRIu64, out->len > 0 ? "," : "", s->inserts[2 * i + 1], id);
        if (qt_bytes_add(out, one, (size_t)len) != 0)
            return -1;
    }
    return 0;
}

static int is_any(struct qt_span results)
{
    for (size_t i = 0; i + 8 <= results.len; i += 8)
        if (qt_get_le(results.p + i, 8) != 0)
            return 1;
    return 0;
}

int qt_write_insert_ids(struct qt_bytes *out, struct qt_session_mode mode, struct qt_span text, struct qt_span results,
                        int failed)
{
    struct qt_split s = {.room = 0};
    int64_t n = (int64_t)(results.len / 8);
    out->len = 0;
    if (!is_any(results))
        return 0;
    int code = qt_split_text(&s, mode, text.p, text.len), unknown = 1;
    if (code == 0 && s.statements >= 0 &&
        (n == s.statements || n == s.statements + s.comment_behind || (failed && n < s.statements))) {
        code = write_all(out, &s, text, results);
        unknown = 0;
    }
    qt_split_free(&s);
    return code != 0 ? -1 : unknown;
}

int qt_is_upsert(struct qt_span s)
{
    static const char word[] = "duplicate";
    if (s.len > 0 && (*s.p == 'r' || *s.p == 'R'))
        return 0; /* REPLACE has no ON DUPLICATE KEY UPDATE */
    for (size_t i = 0; i + sizeof word - 1 <= s.len; i++)
        if (strncasecmp(s.p + i, word, sizeof word - 1) == 0)
            return 1;
    return 0;
}

static int begins_with(struct qt_span s, const char *word)
{
    size_t n = strlen(word);
    return s.len > n && strncasecmp(s.p, word, n) == 0 && strchr(" \t\r\n`(/", s.p[n]) != NULL;
}

/* Returns the kind of a statement inside a string literal. An unlisted first word gives QT_NAMED_UNKNOWN. */
static enum qt_named_kind kind_of(const struct qt_token *t)
{
    static const char *const others[] = {"update", "select", "delete", "call", "do", "show", "truncate"};
    struct qt_span s = {t->p, t->len};
    if (t->kind != QT_T_STRING || (*s.p != '\'' && *s.p != '"'))
        return QT_NAMED_UNKNOWN;
    for (s.p++, s.len--; s.len > 0 && strchr(" \t\r\n", *s.p) != NULL; s.p++)
        s.len--;
    if (begins_with(s, "insert") || begins_with(s, "replace"))
        return qt_is_upsert(s) ? QT_NAMED_UPSERT : QT_NAMED_INSERT;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (begins_with(s, others[i]))
            return QT_NAMED_OTHER;
    return QT_NAMED_UNKNOWN;
}

/* Hashes a name without its back quotes, ignoring case. */
static uint64_t hash_name(const struct qt_token *t)
{
    size_t quoted = t->kind == QT_T_QUOTED && t->len > 1;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = quoted; i < t->len - quoted; i++) {
        unsigned char c = (unsigned char)t->p[i];
        hash = (hash ^ (c >= 'A' && c <= 'Z' ? c + 32u : c)) * UINT64_C(0x100000001b3);
    }
    return hash | 1;
}

static void keep(struct qt_named_statements *named, uint64_t name, enum qt_named_kind kind)
{
    int at = 0;
    while (at < QT_NAMED_ROOM && named->name[at] != name)
        at++;
    if (at == QT_NAMED_ROOM) {
        at = named->next;
        named->next = (uint8_t)((named->next + 1) % QT_NAMED_ROOM);
    }
    named->name[at] = name;
    named->kind[at] = (uint8_t)kind;
}

static enum qt_named_kind find(const struct qt_named_statements *named, uint64_t name)
{
    for (int i = 0; i < QT_NAMED_ROOM; i++)
        if (named->name[i] == name)
            return (enum qt_named_kind)named->kind[i];
    return QT_NAMED_UNKNOWN;
}

/* Returns the kind of the statement that an EXECUTE runs. The lexer has already read EXECUTE. The next token is a name,
 * or IMMEDIATE before a text. */
static enum qt_named_kind executed(const struct qt_named_statements *named, struct qt_lexer *lexer)
{
    struct qt_token t;
    qt_lex(lexer, &t);
    if (t.kind != QT_T_WORD || t.len != 9 || strncasecmp(t.p, "immediate", 9) != 0)
        return find(named, hash_name(&t));
    qt_lex(lexer, &t);
    return kind_of(&t);
}

static void prepared(struct qt_named_statements *named, struct qt_lexer *lexer)
{
    struct qt_token name, t;
    qt_lex(lexer, &name);
    qt_lex(lexer, &t); /* skips FROM */
    if (t.kind != QT_T_WORD || t.len != 4 || strncasecmp(t.p, "from", 4) != 0)
        return;
    qt_lex(lexer, &t);
    keep(named, hash_name(&name), kind_of(&t));
}

enum qt_named_kind qt_named_follow(struct qt_named_statements *named, struct qt_session_mode mode, struct qt_span text)
{
    enum qt_named_kind first = QT_NAMED_OTHER;
    struct qt_keywords keywords;
    struct qt_lexer lexer;
    struct qt_token t;
    int begins = 1, statements = 0;
    qt_keywords_init(&keywords);
    qt_lexer_init(&lexer, &keywords, text.p, text.len);
    lexer.reading = mode.reading;
    lexer.charset = mode.charset;
    for (qt_lex(&lexer, &t); t.kind != QT_T_END; qt_lex(&lexer, &t)) {
        int at_word = begins && t.kind == QT_T_WORD;
        begins = t.kind == QT_T_SEMICOLON || (begins && t.kind == QT_T_EXECUTABLE);
        statements += at_word;
        if (at_word && t.keyword == QT_K_execute && statements == 1)
            first = executed(named, &lexer);
        else if (at_word && t.keyword == QT_K_prepare)
            prepared(named, &lexer);
    }
    return first;
}
