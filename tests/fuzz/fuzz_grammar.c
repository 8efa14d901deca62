/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: parses any bytes as a statement. The parser must stay in bounds, take time linear in the length,
 * and return the same result twice. scripts/fuzz builds and runs this target. */
#include <stdlib.h>

#include "grammar/resolve.h"
#include "grammar/statement.h"

static size_t parse(struct qt_grammar *g, const struct qt_keywords *keywords, const char *sql, size_t len)
{
    struct qt_session_mode mode = {.reading = len & 3, .charset = len >> 2 & 3}; /* arbitrary mode from the length */
    enum qt_parsed how = qt_parse(g, keywords, mode, sql, len);
    if (how == QT_PARSED)
        qt_resolve(g);
    for (size_t i = 0; how == QT_PARSED && i < qt_n_columns(g); i++)
        if (qt_column_at(g, i)->table_at >= (int32_t)qt_n_tables(g) || qt_column_at(g, i)->name.p < sql)
            abort();
    return (size_t)how * 1000000 + qt_n_columns(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct qt_words words;
    static struct qt_keywords keywords;
    struct qt_grammar g;
    const char *sql = (const char *)data;
    qt_words_init(&words);
    qt_keywords_init(&keywords);
    qt_grammar_init(&g, &words);
    if (parse(&g, &keywords, sql, size) != parse(&g, &keywords, sql, size))
        abort();
    qt_grammar_free(&g);
    return 0;
}
