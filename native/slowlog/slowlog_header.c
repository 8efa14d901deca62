/* SPDX-License-Identifier: Apache-2.0 */
/* The `# Key: value  Key: value` lines. Keys are known by name; unknown ones are passed over, as servers keep adding them. */
#include "slowlog_header.h"

#include <string.h>

#include "lexer.h"

#define TEN_YEARS_NS (INT64_C(315360000) * QT_SECOND)

static const char *number(const char *p, const char *end, int64_t *out)
{
    int64_t value = 0;
    const char *at = p;
    while (at < end && *at >= '0' && *at <= '9') {
        if (value > (INT64_MAX - 9) / 10) { /* counters underflow to about 2^64 in some servers: unknown, not huge */
            while (at < end && *at >= '0' && *at <= '9')
                at++;
            *out = -1;
            return at;
        }
        value = value * 10 + (*at++ - '0');
    }
    if (at > p)
        *out = value;
    return at;
}

/* `12.000345` seconds as nanoseconds; -2 where it cannot be true (servers print underflows such as 18446744073708.79). */
static const char *seconds(const char *p, const char *end, int64_t *out)
{
    static const int32_t scale[] = {1000000000, 100000000, 10000000, 1000000, 100000, 10000, 1000, 100, 10, 1};
    int64_t whole = -1, value = 0;
    int digits = 0;
    const char *at = number(p, end, &whole);
    if (at < end && *at == '.') {
        for (at++; at < end && (unsigned char)(*at - '0') < 10; at++)
            if (digits < 9) {
                value = value * 10 + (*at - '0');
                digits++;
            }
        value *= scale[digits];
    }
    *out = whole < 0 || whole > TEN_YEARS_NS / QT_SECOND || (at < end && *at == '.') ? -2 : whole * QT_SECOND + value;
    return at;
}

static const char *word(const char *p, const char *end, struct qt_span *out)
{
    const char *at = p;
    while (at < end && *at != ' ' && *at != '\t')
        at++;
    out->p = p;
    out->len = (size_t)(at - p);
    return at;
}

/* `Schema:` may be empty, and its value may hold a blank: it goes to the next double blank or known key. */
static const char *schema(const char *p, const char *end, struct qt_span *out)
{
    const char *at = p;
    while (at < end && !(at[0] == ' ' && (at + 1 == end || at[1] == ' ')))
        at++;
    if (at > p && memchr(p, ':', (size_t)(at - p)) != NULL && at[-1] != ':') {
        const char *blank = memchr(p, ' ', (size_t)(at - p));
        const char *colon = memchr(p, ':', (size_t)(at - p));
        if (blank == NULL || colon < blank || colon + 1 < at) { /* the next key stands here: the value is empty */
            out->p = p;
            out->len = 0;
            return p;
        }
    }
    out->p = p;
    out->len = (size_t)(at - p);
    return at;
}

#define KEY(text) (key_len == sizeof(text) - 1 && memcmp(key, text, sizeof(text) - 1) == 0)

static const char *iso(const char *p, const char *end, int64_t *out)
{
    struct qt_logtime when = qt_logtime_parse(p, (size_t)(end - p));
    if (when.kind == QT_LOGTIME_UTC)
        *out = when.ns;
    return p + when.length;
}

static const char *value_of(const char *key, size_t key_len, const char *p, const char *end, struct qt_slow_event *out)
{
    struct qt_span text;
    switch (key[0]) {
    case 'Q':
        if (KEY("Query_time"))
            return seconds(p, end, &out->query_ns);
        break;
    case 'L':
        if (KEY("Lock_time"))
            return seconds(p, end, &out->lock_ns);
        if (KEY("Last_errno"))
            return number(p, end, &out->errno_);
        if (KEY("Log_slow_rate_limit"))
            return number(p, end, &out->rate_limit);
        if (KEY("Log_slow_rate_type")) {
            const char *next = word(p, end, &text);
            out->rate_by_query = text.len == 5 && memcmp(text.p, "query", 5) == 0;
            return next;
        }
        break;
    case 'R':
        if (KEY("Rows_sent"))
            return number(p, end, &out->rows_sent);
        if (KEY("Rows_examined"))
            return number(p, end, &out->rows_examined);
        if (KEY("Rows_affected"))
            return number(p, end, &out->rows_affected);
        break;
    case 'T':
        if (KEY("Thread_id"))
            return number(p, end, &out->thread_id);
        break;
    case 'I':
        if (KEY("Id"))
            return number(p, end, &out->thread_id);
        break;
    case 'S':
        if (KEY("Schema"))
            return schema(p, end, &out->schema);
        if (KEY("Stored_routine"))
            out->in_routine = 1;
        else if (KEY("Start"))
            return iso(p, end, &out->start_ns);
        break;
    case 'E':
        if (KEY("Errno"))
            return number(p, end, &out->errno_);
        if (KEY("End"))
            return iso(p, end, &out->end_ns);
        break;
    case 'K':
        if (KEY("Killed"))
            return number(p, end, &out->killed);
        break;
    case 'B':
        if (KEY("Bytes_sent"))
            return number(p, end, &out->bytes_sent);
        break;
    default:
        break;
    }
    return p;
}

#define IS_KEY_CHAR(c) (qt_char_class[(unsigned char)(c)] & QT_C_IDENT)

void qt_slow_attributes(const char *p, const char *end, struct qt_slow_event *out)
{
    int found = 0;
    while (p < end) {
        const char *key = p;
        while (p < end && IS_KEY_CHAR(*p))
            p++;
        if (p == end || *p != ':' || p == key) { /* not a key: on to behind the next blank */
            while (p < end && *p != ' ' && *p != '\t')
                p++;
            while (p < end && (*p == ' ' || *p == '\t'))
                p++;
            continue;
        }
        const char *value = p + 1;
        while (value < end && *value == ' ' && !(key[0] == 'S' && value + 1 < end && value[1] == ' '))
            value++;
        found = 1;
        size_t key_len = (size_t)(p - key);
        p = value_of(key, key_len, value, end, out);
        while (p < end && *p == ' ')
            p++;
    }
    out->unknown_line |= !found;
}

/* `user[user] @ host [address]  Id: 7`; the part before `[` may be a proxy's, an empty one, or `priv`. */
const char *qt_slow_user_host(const char *p, const char *end, struct qt_slow_event *out)
{
    const char *at = memchr(p, '@', (size_t)(end - p));
    const char *open = memchr(p, '[', (size_t)(end - p));
    /* a user name may hold an @: the separator is the first " @ " behind the closing bracket */
    const char *close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;
    if (close != NULL)
        at = memchr(close, '@', (size_t)(end - close));
    if (at == NULL || open == NULL || close == NULL || open > at)
        return p;
    out->user.p = open + 1;
    out->user.len = (size_t)(close - open - 1);
    const char *host = at + 1;
    while (host < end && *host == ' ')
        host++;
    const char *bracket = memchr(host, '[', (size_t)(end - host));
    const char *bracket_end = bracket ? memchr(bracket, ']', (size_t)(end - bracket)) : NULL;
    if (bracket_end == NULL)
        return p;
    const char *host_end = bracket;
    while (host_end > host && host_end[-1] == ' ')
        host_end--;
    out->host.p = host;
    out->host.len = (size_t)(host_end - host);
    out->address.p = bracket + 1;
    out->address.len = (size_t)(bracket_end - bracket - 1);
    return bracket_end + 1;
}
