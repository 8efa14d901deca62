/* SPDX-License-Identifier: Apache-2.0 */
/* The text between the quotes is read as it is written: quotes that are doubled, or have a backslash before them, begin
 * and end literals there, too. */
#include "sql/nested_statements.h"

#include <string.h>

#include "sql/classify.h"
#include "sql/secrets.h"

static int may_hold_statements(const struct qt_classifier *c)
{
    switch (c->words[0]) {
    case QT_K_prepare:
    case QT_K_execute:
    case QT_K_set:
    case QT_K_declare:
    case QT_K_create:
    case QT_K_alter:
        return 1;
    default:
        return 0;
    }
}

/* PREPARE s FROM '...', EXECUTE IMMEDIATE '...': the text that is run, not one of the values behind USING. */
static int is_run(const struct qt_classifier *c)
{
    return (c->words[0] == QT_K_prepare && c->n_words == 3) || (c->words[0] == QT_K_execute && c->n_words == 2);
}

int qt_read_inner(struct qt_classifier *c, const struct qt_keywords *keywords, const struct qt_token *literal)
{
    struct qt_classifier inner;
    struct qt_lexer lexer;
    struct qt_token t;
    const char *end = literal->p + literal->len;
    const char *p = literal->len > 0 ? memchr(literal->p, *(end - 1), literal->len) : NULL;
    if (p == NULL || !may_hold_statements(c))
        return 0;
    if (end - p > 1)
        end--;
    p++;
    if (p > end)
        return 0;
    qt_lexer_init(&lexer, keywords, p, (size_t)(end - p));
    qt_classify_begin(&inner);
    int given = 0; /* EXECUTE IMMEDIATE 'SELECT SHA2(?, 256)' USING '...' */
    for (qt_lex(&lexer, &t); t.kind != QT_T_END; qt_lex(&lexer, &t)) {
        qt_classify(&inner, &t);
        given |= t.kind == QT_T_PARAM && inner.cipher_depth > 0 && c->words[0] == QT_K_execute;
    }
    qt_classify_end(&inner);
    if (is_run(c))
        qt_classify_runs(c, &inner);
    return inner.secret || given;
}
