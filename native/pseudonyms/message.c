/* SPDX-License-Identifier: Apache-2.0 */
/* A server puts ' around the values and names in its messages. All quoted text is replaced.
 *
 * If a value contains a quote, its quoted text seems to end too early. A SIGNAL message may have no quotes. Outside
 * quotes, only the words that servers use and the row and line numbers are therefore kept. */
#include "pseudonyms/message.h"

#include <string.h>

#include "pseudonyms/pseudonyms_state.h"
#include "pseudonyms/value.h"
#include "sql/lexer.h"

static const char VOCABULARY[] =
    " a abandoned aborted access active after against aggregate already alias allow allowed ambiguous an analyze and "
    "another any"
    " argument arguments as ascii assigned at auto autocommit be because been before begin between bigint binary binlog"
    " bit blob broken but by bytes call can cannot changed char character check clause client collation collations "
    "column"
    " columns command commit commands communication comparison conflict connection connections constraint contains "
    "context"
    " convert converting corrupt count crashed create current cursor data database date datetime days deadlock decimal"
    " declaration default defined definer definition delete denied dependent deprecated deleted derived did different "
    "disabled disk"
    " display division does doesn done double drop duplicate during dynamic each element empty enabled encountered end"
    " engine enough entry enum equal error errors escape event exceeded exception execute executing execution exist "
    "exists expected"
    " explicit expression expressions failed failure fatal few field fields file find first float for foreign format "
    "found from full"
    " function functions functionally get given global got grant grants group grouping had handler handshake has have "
    "host"
    " identifier if illegal implicit in incompatible incorrect index innodb input insert inserted instead integer "
    "internal interrupted"
    " into invalid is isn it its join json key keys kill killed large largest last later left length level limit line "
    "list"
    " literal local lock locked locks log long lost many manual match max maximum memory mix missing mode modified more"
    " multiple must name names near need negative network new no non nonaggregated not nothing null number object of "
    "off old on only"
    " open operand operation operations option options or order other out outer outside packet packets parameter"
    " parameters parent parse part partition partitions password path permission permitted prepare prepared primary"
    " privilege privileges procedure process protocol query range read reading really reason record reference "
    "references"
    " referenced reached refused release rename request reserved reset resource result results return returned returns"
    " right role rollback routine row rows run running running savepoint schema second see select sent sequence server "
    "session"
    " set should size skipped smaller some sort space specified sql start state statement status storage stored"
    " strict string subquery such support supported supports syntax system table tables tablespace temporary text than "
    "that the"
    " then this thread time timed timeout timestamp to too transaction trigger truncated try trying type undo "
    "unexpected unique unknown"
    " unsigned update updated updates upon use used user using valid value values variable variables version view wait "
    "waiting"
    " warning was when where which while with within without work would write writing wrong year you your ";
static const char COUNTED[] = " row line errno column position argument error ";

static int is_in(const char *list, const char *p, size_t n)
{
    char word[24];
    if (n + 3 > sizeof word)
        return 0;
    word[0] = ' ';
    for (size_t i = 0; i < n; i++)
        word[i + 1] = qt_lower(p[i]);
    word[n + 1] = ' ';
    word[n + 2] = 0;
    return strstr(list, word) != NULL;
}

static int is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static int is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c & 0x80 || c == '_'; }

/* Replaces text outside quotes, word by word. */
static int outside(struct qt_pseudonyms *s, char *p, size_t n)
{
    const char *last = p; /* the previous word */
    size_t last_n = 0;
    for (size_t at = 0; at < n;) {
        size_t from = at, letters = 0;
        while (at < n && is_word(p[at]))
            letters += (size_t)is_letter(p[at++]);
        size_t len = at - from;
        if (len == 0) {
            at++;
            continue;
        }
        int all = letters == len, number = letters == 0;
        int stays = (all && is_in(VOCABULARY, p + from, len)) || (all && len == 1) ||
                    (number && is_in(COUNTED, last, last_n));
        last = p + from;
        last_n = stays ? len : 0;
        if (!stays && qt_pseudonyms_value(s, p + from, len) != 0)
            return -1;
    }
    return 0;
}

/* Returns 1 for the apostrophe in doesn't and can't. */
static int is_apostrophe(const char *p, const char *at, const char *end)
{
    return at > p && is_letter(at[-1]) && end - at > 1 && at[1] == 't' && (end - at == 2 || !is_word(at[2]));
}

static char *quote(char *p, char *from, char *end)
{
    while (from < end && (*from != '\'' || is_apostrophe(p, from, end)))
        from++;
    return from;
}

int qt_pseudonyms_message(struct qt_pseudonyms *s, char *p, size_t n)
{
    char *at = p, *end = p + n;
    int bad = 0;
    while (at < end && !bad) {
        char *open = quote(p, at, end), *close;
        bad = outside(s, at, (size_t)(open - at));
        if (open == end || bad)
            break;
        close = memchr(open + 1, '\'', (size_t)(end - open - 1));
        if (close == NULL)
            close = end;
        bad = qt_pseudonyms_value(s, open + 1, (size_t)(close - open - 1));
        at = close < end ? close + 1 : end;
    }
    return bad;
}
