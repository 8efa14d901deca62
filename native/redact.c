/* SPDX-License-Identifier: Apache-2.0 */
#include "redact.h"

#include <stdlib.h>
#include <string.h>

#include "lexer.h"

static int append(struct qt_redacted *r, const char *p, size_t len)
{
    if (r->room - r->len < len) {
        size_t room = r->room ? r->room : 256;
        while (room - r->len < len)
            room *= 2;
        char *text = realloc(r->text, room);
        if (text == NULL)
            return -1;
        r->text = text;
        r->room = room;
    }
    memcpy(r->text + r->len, p, len);
    r->len += len;
    return 0;
}

int qt_redact(struct qt_redacted *r, const char *sql, size_t len)
{
    static const char hidden[] = "'<redacted>'";
    struct qt_lexer lexer;
    struct qt_token t;
    const char *behind = sql; /* the end of the token before */
    r->len = 0;
    qt_lexer_init(&lexer, sql, len);
    for (qt_lex(&lexer, &t); t.kind != QT_T_END; qt_lex(&lexer, &t)) {
        int hide = t.kind == QT_T_STRING || (t.kind == QT_T_NUMBER && t.len > 1 && qt_lower(t.p[1]) == 'x') || lexer.open_quote;
        if (t.p > behind && append(r, " ", 1) != 0)
            return -1;
        if ((hide ? append(r, hidden, sizeof hidden - 1) : append(r, t.p, t.len)) != 0)
            return -1;
        behind = t.p + t.len;
    }
    return r->text != NULL ? 0 : append(r, "", 1) == 0 ? (r->len = 0, 0) : -1;
}

void qt_redacted_free(struct qt_redacted *r)
{
    free(r->text);
    r->text = NULL;
    r->len = r->room = 0;
}
