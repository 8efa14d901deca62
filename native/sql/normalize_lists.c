/* SPDX-License-Identifier: Apache-2.0 */
/* Writes lists. The text does not depend on the number of literals.
 *
 *   a IN (1, 2, NOW(), 3)            a in (?+, now(), ?+)
 *   (a,b) IN ((1,2),(3,4))           (a, b) in (?+)
 *   VALUES (1,2),(3,4) ON ...        values (?+) on ... */
#include "sql/normalize_lists.h"

static void comma(struct qt_normalizer *n)
{
    qt_put(n, ',');
    n->comment_before = 0;
    qt_became(n, QT_B_COMMA, 0);
}

static void set_level(struct qt_normalizer *n)
{
    n->level = n->depth > 0 && n->depth <= QT_LEVELS ? &n->levels[n->depth - 1] : &n->plain;
}

void qt_list_open(struct qt_normalizer *n)
{
    int keyword = n->before == QT_B_WORD ? n->keyword : QT_K_NONE;
    int row = keyword == QT_K_values || keyword == QT_K_value;
    int inner = n->level->list && n->level->element == QT_E_EMPTY;
    if (n->before == QT_B_WORD && !n->comment_before) {
        if (qt_keyword_flags[keyword] & QT_KW_GAP)
            qt_put(n, ' ');
    } else {
        qt_gap(n);
    }
    qt_put(n, '(');
    n->comment_before = 0;
    n->depth++;
    set_level(n);
    *n->level = (struct qt_paren){0};
    if (n->level != &n->plain) {
        n->level->list = row || inner || keyword == QT_K_in;
        n->level->row = (uint8_t)row;
        n->level->inner = (uint8_t)inner;
        n->level->pure = 1;
    }
    qt_became(n, QT_B_OPEN, 0);
}

/* Writes an element that is a single literal as ?+. Merges it with a preceding ?+. */
static void end_element(struct qt_normalizer *n)
{
    struct qt_paren *level = n->level;
    if (level->element == QT_E_LITERAL) {
        if (level->run)
            n->text.len -= 3; /* length of ", ?" */
        else
            qt_put(n, '+');
        level->run = 1;
    } else {
        level->run = 0;
        level->pure = 0;
    }
    level->element = QT_E_EMPTY;
}

void qt_list_comma(struct qt_normalizer *n)
{
    if (n->level->list)
        end_element(n);
    comma(n);
}

void qt_list_close(struct qt_normalizer *n)
{
    struct qt_paren old = *n->level;
    if (old.list) {
        end_element(n);
        old.pure = n->level->pure;
    }
    qt_put(n, ')');
    n->comment_before = 0;
    if (n->depth > 0)
        n->depth--;
    set_level(n);
    qt_became(n, QT_B_CLOSE, 0);
    n->level->element = QT_E_OTHER;
    if (old.list && old.inner && old.pure) {
        n->text.len -= 4; /* length of "(?+)" */
        qt_put(n, '?');
        n->level->element = QT_E_LITERAL;
        qt_became(n, QT_B_LITERAL, 0);
    }
    if (old.row)
        n->rows = QT_ROWS_AFTER;
}

int qt_list_skip(struct qt_normalizer *n, const struct qt_token *t)
{
    int row_word = t->kind == QT_T_WORD && t->keyword == QT_K_row;
    switch (n->rows) {
    case QT_ROWS_AFTER:
        if (t->kind == QT_T_COMMA) {
            n->rows = QT_ROWS_COMMA;
            return 1;
        }
        break;
    case QT_ROWS_COMMA:
        if (t->kind == QT_T_OPEN) {
            n->rows = QT_ROWS_INSIDE;
            n->skipped = 1;
            n->row_held = 0;
            n->classifier.does |= QT_ACTION_MANY_ROWS;
            return 1;
        }
        if (row_word && !n->row_held) {
            n->row_held = 1;
            return 1;
        }
        comma(n); /* not a row: VALUES(a), b = ... */
        break;
    default:
        if (t->kind == QT_T_OPEN)
            n->skipped++;
        else if (t->kind == QT_T_CLOSE && --n->skipped == 0)
            n->rows = QT_ROWS_AFTER;
        return 1;
    }
    n->rows = QT_ROWS_NONE;
    return 0;
}
