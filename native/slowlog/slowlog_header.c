/* SPDX-License-Identifier: Apache-2.0 */
/* Parses header lines of `Key: value` pairs, which are separated by two blanks. Unknown keys are skipped, because
 * servers keep adding keys. */
#include "slowlog/slowlog_header.h"

#include <string.h>

#include "slowlog/slowlog_lines.h"
#include "sql/lexer.h"

#define YEAR_2000 INT64_C(946684800)
#define YEAR_2200 INT64_C(7258118400)
#define TEN_YEARS_NS (INT64_C(315360000) * QT_SECOND)

static const char *number(const char *p, const char *end, int64_t *out)
{
    int64_t value = 0;
    const char *at = p;
    while (at < end && *at >= '0' && *at <= '9') {
        if (value > (INT64_MAX - 9) / 10) { /* some servers print underflows near 2^64: treat as unknown */
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

static int is_blank_or_end(const char *at, const char *end) { return at == end || *at == ' ' || *at == '\t'; }

/* Parses the number after a key. Sets `*out` to -2 if the text is not a number. */
static const char *counter(const char *p, const char *end, int64_t *out)
{
    const char *next = number(p, end, out);
    if (next == p || !is_blank_or_end(next, end))
        *out = -2;
    return next;
}

/* Converts seconds such as `12.000345` to nanoseconds. Sets `*out` to -2 for impossible values. Servers print
 * underflows such as 18446744073708.79. */
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
    *out = whole < 0 || whole > TEN_YEARS_NS / QT_SECOND || !is_blank_or_end(at, end) ? -2 : whole * QT_SECOND + value;
    return at;
}

/* Like seconds(), but sets `*out` to -1 for an underflow, because this field is not important. */
static const char *minor_seconds(const char *p, const char *end, int64_t *out)
{
    const char *next = seconds(p, end, out);
    if (next > p && is_blank_or_end(next, end) && *out < 0)
        *out = -1;
    return next;
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

#define IS_KEY_CHAR(c) (qt_char_class[(unsigned char)(c)] & QT_C_IDENT)

static int is_key(const char *p, const char *end)
{
    const char *colon = p;
    while (colon < end && IS_KEY_CHAR(*colon))
        colon++;
    return colon > p && colon < end && *colon == ':' && (colon + 1 == end || colon[1] == ' ');
}

/* Parses the value of `Schema:`, which may be empty or contain a blank. The value ends at a double blank or at the next
 * key. */
static const char *schema(const char *p, const char *end, struct qt_span *out)
{
    const char *at = p;
    while (at < end && !is_key(at, end)) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        int last = blank == NULL || blank + 1 == end || blank[1] == ' ';
        at = blank == NULL ? end : blank + !last;
        if (last)
            break;
    }
    while (at > p && at[-1] == ' ')
        at--;
    out->p = p;
    out->len = (size_t)(at - p);
    return at;
}

/* Returns 1 if `text` is at p. The length is a constant, so the macro compiles to one or two comparisons. */
#define KEY(text) ((size_t)(end - p) > sizeof(text) - 1 && memcmp(p, text, sizeof(text) - 1) == 0)
#define VALUE(text) after_blank(p + sizeof(text) - 1, end)

static const char *after_blank(const char *p, const char *end)
{
    while (p < end && *p == ' ')
        p++;
    return p;
}

static const char *iso(const char *p, const char *end, int64_t *out)
{
    struct qt_logtime when = qt_logtime_parse(p, (size_t)(end - p));
    *out = when.kind == QT_LOGTIME_UTC ? when.ns : -2;
    return p + when.length;
}

static const char *rate_type(const char *p, const char *end, struct qt_slow_event *out)
{
    struct qt_span text;
    const char *next = word(p, end, &text);
    out->rate_by_query = text.len == 5 && memcmp(text.p, "query", 5) == 0;
    return next;
}

/* An empty `Schema:` is followed by the two blanks before the next key. */
static const char *schema_value(const char *p, const char *end)
{
    return end - p > 1 && p[0] == ' ' && p[1] != ' ' ? p + 1 : p;
}

static const char *timing(const char *p, const char *end, struct qt_slow_event *out)
{
    if (KEY("Query_time:"))
        return seconds(VALUE("Query_time:"), end, &out->query_ns);
    if (KEY("Lock_time:"))
        return minor_seconds(VALUE("Lock_time:"), end, &out->lock_ns);
    if (KEY("Last_errno:"))
        return counter(VALUE("Last_errno:"), end, &out->errno_);
    if (KEY("Log_slow_rate_limit:"))
        return counter(VALUE("Log_slow_rate_limit:"), end, &out->rate_limit);
    if (KEY("Log_slow_rate_type:"))
        return rate_type(VALUE("Log_slow_rate_type:"), end, out);
    return NULL;
}

static const char *rows(const char *p, const char *end, struct qt_slow_event *out)
{
    if (KEY("Rows_sent:"))
        return counter(VALUE("Rows_sent:"), end, &out->rows_sent);
    if (KEY("Rows_examined:"))
        return counter(VALUE("Rows_examined:"), end, &out->rows_examined);
    if (KEY("Rows_affected:"))
        return counter(VALUE("Rows_affected:"), end, &out->rows_affected);
    return NULL;
}

static const char *place(const char *p, const char *end, struct qt_slow_event *out)
{
    if (KEY("Schema:"))
        return schema(schema_value(p + 7, end), end, &out->schema);
    if (KEY("Start:"))
        return iso(VALUE("Start:"), end, &out->start_ns);
    out->in_routine |= KEY("Stored_routine:");
    return NULL;
}

/* Parses a known key with its value. Returns the text after it, or NULL if the key is unknown. */
static const char *known_key(const char *p, const char *end, struct qt_slow_event *out)
{
    switch (*p) {
    case 'Q':
    case 'L':
        return timing(p, end, out);
    case 'R':
        return rows(p, end, out);
    case 'S':
        return place(p, end, out);
    case 'T':
        return KEY("Thread_id:") ? counter(VALUE("Thread_id:"), end, &out->thread_id) : NULL;
    case 'I':
        return KEY("Id:") ? counter(VALUE("Id:"), end, &out->thread_id) : NULL;
    case 'E':
        if (KEY("Errno:"))
            return counter(VALUE("Errno:"), end, &out->errno_);
        return KEY("End:") ? iso(VALUE("End:"), end, &out->end_ns) : NULL;
    case 'K':
        return KEY("Killed:") ? counter(VALUE("Killed:"), end, &out->killed) : NULL;
    case 'B':
        return KEY("Bytes_sent:") ? counter(VALUE("Bytes_sent:"), end, &out->bytes_sent) : NULL;
    default:
        return NULL;
    }
}

/* Skips an unknown key or other text, up to and including the next blank. Returns 1 if the skipped text was a key. */
static int pass(const char **at, const char *end)
{
    const char *p = *at;
    while (p < end && IS_KEY_CHAR(*p))
        p++;
    int key = p < end && *p == ':' && p > *at;
    if (key)
        p++;
    else
        while (p < end && *p != ' ' && *p != '\t')
            p++;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    *at = p;
    return key;
}

void qt_slow_parse_attributes(const char *p, const char *end, struct qt_slow_event *out)
{
    int found = 0;
    while (p < end) {
        const char *next = known_key(p, end, out);
        if (next == NULL) {
            found |= pass(&p, end);
            continue;
        }
        found = 1;
        p = after_blank(next, end);
    }
    out->unknown_line |= !found;
}

int qt_slow_has_bad_value(const struct qt_slow_event *e)
{
    const int64_t values[] = {e->lock_ns,    e->thread_id, e->errno_, e->killed,        e->bytes_sent,   e->rows_sent,
                              e->rate_limit, e->start_ns,  e->end_ns, e->rows_examined, e->rows_affected};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i] == -2)
            return 1;
    return 0;
}

/* Parses `user[user] @ host [address]`, two blanks and `Id: 7`. The part before `[` may be a proxy user, empty, or
 * `priv`. */
const char *qt_slow_parse_user_host(const char *p, const char *end, struct qt_slow_event *out)
{
    const char *at = memchr(p, '@', (size_t)(end - p));
    const char *open = memchr(p, '[', (size_t)(end - p));
    /* A user name may contain an @. The separator is the first " @ " after the closing bracket. */
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

int qt_slow_parse_set(const char *p, const char *end, struct qt_slow_event *out)
{
    int64_t last_insert_id = -1, insert_id = -1, timestamp = -1;
    if (!STARTS(p, end, "SET ") || end[-1] != ';')
        return 0;
    for (p += 4;;) {
        int64_t *to, value = 0;
        if (STARTS(p, end, "timestamp="))
            to = &timestamp, p += 10;
        else if (STARTS(p, end, "insert_id="))
            to = &insert_id, p += 10;
        else if (STARTS(p, end, "last_insert_id="))
            to = &last_insert_id, p += 15;
        else
            return 0;
        const char *digits = p;
        while (p < end && *p >= '0' && *p <= '9' && value < INT64_MAX / 10 - 9)
            value = value * 10 + (*p++ - '0');
        if (p == digits)
            return 0;
        *to = value;
        if (*p == '.' && to == &timestamp)
            for (p++; *p >= '0' && *p <= '9'; p++)
                ;
        if (*p == ';' && p + 1 == end)
            break;
        if (*p++ != ',')
            return 0;
    }
    if (timestamp > YEAR_2000 * 1000)
        timestamp /= 1000; /* the proxy dble writes milliseconds */
    if (timestamp < 0 || timestamp > YEAR_2200)
        return 0;
    out->timestamp_s = timestamp;
    out->insert_id = insert_id;
    out->last_insert_id = last_insert_id;
    return 1;
}
