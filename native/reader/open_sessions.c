/* SPDX-License-Identifier: Apache-2.0 */
/* An array that is sorted by thread id. Log readers find a session by its thread id, and the packet reader finds it by
 * client address. */
#include "reader/open_sessions.h"

#include <stdlib.h>
#include <string.h>

#include "sql/keywords.h"
#include "sql/lexer.h"

struct qt_open_sessions {
    struct qt_open_session *session;
    size_t n, room;
    struct qt_keywords keywords;
    struct qt_normalizer *normalizer; /* separate, because the reader's normalizer holds the current event */
};

struct qt_open_sessions *qt_open_sessions_new(void)
{
    struct qt_open_sessions *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    qt_keywords_init(&s->keywords);
    s->normalizer = qt_normalizer_new();
    if (s->normalizer != NULL)
        return s;
    free(s);
    return NULL;
}

struct qt_normalizer *qt_open_sessions_normalizer(const struct qt_open_sessions *s) { return s->normalizer; }

static int copy(struct qt_span *out, const char *text, size_t len)
{
    char *p = text != NULL ? malloc(len + 1) : NULL;
    *out = (struct qt_span){NULL, 0};
    if (text == NULL)
        return 0;
    if (p == NULL)
        return -1;
    memcpy(p, text, len);
    p[len] = '\0';
    *out = (struct qt_span){p, len};
    return 0;
}

static int copy_text(struct qt_span *out, const char *text) { return copy(out, text, text != NULL ? strlen(text) : 0); }

static void free_session(struct qt_open_session *s)
{
    while (s->statements != NULL) {
        struct qt_open_statement *next = s->statements->next;
        free((char *)s->statements->text.p);
        free(s->statements);
        s->statements = next;
    }
    free((char *)s->host.p);
    free((char *)s->user.p);
    free((char *)s->db.p);
    free((char *)s->charset.p);
}

void qt_open_sessions_free(struct qt_open_sessions *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->n; i++)
        free_session(&s->session[i]);
    qt_normalizer_free(s->normalizer);
    free(s->session);
    free(s);
}

int qt_open_sessions_add(struct qt_open_sessions *s, const struct qt_open_session_facts *facts)
{
    if (s->n > 0 && s->session[s->n - 1].thread_id >= facts->thread_id)
        return QT_EINVALID;
    if (s->n == s->room) {
        size_t room = s->room > 0 ? s->room * 2 : 64;
        struct qt_open_session *larger = realloc(s->session, room * sizeof *larger);
        if (larger == NULL)
            return QT_ENOMEM;
        s->session = larger;
        s->room = room;
    }
    struct qt_open_session *one = &s->session[s->n];
    *one = (struct qt_open_session){.thread_id = facts->thread_id, .port = facts->port};
    const int modes = QT_READ_NO_BACKSLASH | QT_READ_ANSI;
    one->mode.reading = (uint8_t)(facts->reading & modes);
    one->mode.known = (uint8_t)(facts->reading & 4 ? modes : 0);
    if (facts->charset != NULL && facts->reading & 4)
        qt_session_mode_login(&one->mode, strtol(facts->charset, NULL, 10), NULL);
    if (copy_text(&one->host, facts->host) | copy_text(&one->user, facts->user) | copy_text(&one->db, facts->db) |
        copy_text(&one->charset, facts->charset)) {
        free_session(one);
        return QT_ENOMEM;
    }
    s->n++;
    return QT_OK;
}

static uint16_t count_params(const struct qt_open_sessions *s, const struct qt_open_session *one, struct qt_span text)
{
    struct qt_lexer lexer;
    struct qt_token token;
    size_t n = 0;
    qt_lexer_init(&lexer, &s->keywords, text.p, text.len);
    lexer.reading = one->mode.reading;
    for (qt_lex(&lexer, &token); token.kind != QT_T_END; qt_lex(&lexer, &token))
        n += token.kind == QT_T_PARAM;
    return n < UINT16_MAX ? (uint16_t)n : UINT16_MAX;
}

int qt_open_sessions_add_statement(struct qt_open_sessions *s, int64_t id, const char *text, size_t len)
{
    if (s->n == 0 || text == NULL || id > UINT32_MAX)
        return QT_EINVALID;
    struct qt_open_session *one = &s->session[s->n - 1];
    struct qt_open_statement *statement = calloc(1, sizeof *statement);
    if (statement == NULL || copy(&statement->text, text, len) != 0) {
        free(statement);
        return QT_ENOMEM;
    }
    statement->id = id < 0 ? -1 : id;
    if (id >= 0)
        statement->params = count_params(s, one, statement->text);
    *(one->last != NULL ? &one->last->next : &one->statements) = statement;
    one->last = statement;
    return QT_OK;
}

static struct qt_open_session *take(struct qt_open_session *one)
{
    if (one == NULL || one->taken)
        return NULL;
    one->taken = 1;
    return one;
}

struct qt_open_session *qt_open_sessions_find_thread(struct qt_open_sessions *s, int64_t thread_id)
{
    size_t low = 0, high = s != NULL ? s->n : 0;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (s->session[mid].thread_id < thread_id)
            low = mid + 1;
        else
            high = mid;
    }
    return s != NULL && low < s->n && s->session[low].thread_id == thread_id ? take(&s->session[low]) : NULL;
}

struct qt_open_session *qt_open_sessions_find_client(struct qt_open_sessions *s, struct qt_span host, int32_t port)
{
    struct qt_open_session *found = NULL;
    for (size_t i = 0; s != NULL && i < s->n; i++) {
        struct qt_open_session *one = &s->session[i];
        if (one->port != port || port <= 0)
            continue;
        if (one->host.p != NULL && (one->host.len != host.len || memcmp(one->host.p, host.p, host.len) != 0))
            continue;
        if (found != NULL) /* two clients have this port, and their addresses are unknown */
            return NULL;
        found = one;
    }
    return take(found);
}
