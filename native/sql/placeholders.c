/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the placeholders of a statement that is prepared: each `?` outside of literals, names and comments. */
#include "querytape.h"

#include "sql/keywords.h"
#include "sql/lexer.h"

size_t qt_placeholders(const char *sql, size_t len, int32_t reading, size_t *offsets, size_t most)
{
    struct qt_keywords keywords;
    struct qt_lexer lexer;
    struct qt_token t;
    size_t found = 0;
    qt_keywords_init(&keywords);
    qt_lexer_init(&lexer, &keywords, sql, len);
    lexer.reading = (uint8_t)reading;
    for (qt_lex(&lexer, &t); t.kind != QT_T_END; qt_lex(&lexer, &t)) {
        if (t.kind != QT_T_PARAM)
            continue;
        if (found < most)
            offsets[found] = (size_t)(t.p - sql);
        found++;
    }
    return found;
}
