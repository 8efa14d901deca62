/* SPDX-License-Identifier: Apache-2.0 */
/* Hands out the names in a statement and how it is written, as its session reads it. */
#include "base/error.h"
#include "sql/normal_text.h"
#include "sql/properties.h"

static void begin(struct qt_lexer *lexer, const struct qt_normalizer *n, const struct qt_session_mode *mode,
                  const char *sql, size_t len)
{
    qt_lexer_init(lexer, &n->keywords, sql, len);
    lexer->reading = mode != NULL ? mode->reading : 0;
    lexer->charset = mode != NULL ? mode->charset : QT_NARROW;
}

uint64_t qt_statement_properties(const struct qt_normalizer *n, const struct qt_session_mode *mode, const char *sql,
                                 size_t len)
{
    struct qt_lexer lexer;
    begin(&lexer, n, mode, sql, len);
    return qt_properties_read(&lexer);
}

int qt_statement_names(struct qt_normalizer *n, const struct qt_session_mode *mode, const char *sql, size_t len,
                       struct qt_statement_names *out, struct qt_error *error)
{
    struct qt_lexer lexer;
    begin(&lexer, n, mode, sql, len);
    if (qt_names_read(&n->names, &lexer) != 0)
        return qt_fail(error, QT_ENOMEM, "out of memory for the names in a statement");
    out->tables = n->names.tables.p;
    out->tables_len = n->names.tables.len;
    out->calls = n->names.calls.p;
    out->calls_len = n->names.calls.len;
    return QT_OK;
}
