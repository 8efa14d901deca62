/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/comments.h"

#include <string.h>

#include "sql/chars.h"
#include "sql/scan.h"

/* What is behind slash and star, how many digits of a version follow, and who executes the comment. The first row that
 * fits counts. The servers' lexers are sql/sql_lex.cc; manuals call this "Comment Syntax" (MariaDB) and "Comments"
 * (MySQL). */
static const struct form {
    const char *opening;
    int least_digits, most_digits;
    enum qt_comment kind;
} FORMS[] = {
    {"!!", 5, 6, QT_COMMENT_EXECUTED_SOME},  /* MariaDB 13, where its version is below (MDEV-7381) */
    {"M!!", 5, 6, QT_COMMENT_EXECUTED_SOME}, /* the same */
    {"M!", 5, 6, QT_COMMENT_EXECUTED_SOME},  /* MariaDB from that version */
    {"M!", 0, 0, QT_COMMENT_EXECUTED_SOME},  /* MariaDB */
    {"T!", 0, 0, QT_COMMENT_EXECUTED_SOME},  /* TiDB, with the name of a feature in brackets or without */
    {"!", 5, 6, QT_COMMENT_EXECUTED_SOME},   /* MySQL and MariaDB from that version, MariaDB not from 50700 to 99999 */
    {"!", 0, 0, QT_COMMENT_EXECUTED},        /* MySQL and MariaDB */
    {"+", 0, 0, QT_COMMENT_HINT},            /* MySQL 5.7 and MariaDB 12; older ones skip it */
};
/* Every server of today executes a comment for an older version: MySQL 5.7, MariaDB 10.0. */
static const char OLDEST[] = "50700";

/* Can code begin so? Any other byte may be the mark of a form that is not known here. */
static int begins_code(const char *p, const char *end)
{
    return p >= end || IS(*p, QT_C_SPACE | QT_C_IDENT | QT_C_DIGIT) || memchr("`'\"(@,;*", *p, 8) != NULL;
}

static size_t count_digits(const char *p, const char *end, int most)
{
    size_t n = 0;
    while (n < (size_t)most && p + n < end && IS(p[n], QT_C_DIGIT))
        n++;
    return n;
}

/* The name of a feature in brackets, such as [auto_rand]. */
static size_t feature_length(const char *p, const char *end)
{
    const char *close = p < end && *p == '[' ? memchr(p, ']', (size_t)(end - p)) : NULL;
    return close != NULL ? (size_t)(close + 1 - p) : 0;
}

enum qt_comment qt_comment_at(const char *p, const char *end, int hintable, size_t *opening)
{
    size_t left = (size_t)(end - p) - 2;
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        const struct form *form = &FORMS[i];
        size_t n = strlen(form->opening);
        if (left < n || memcmp(p + 2, form->opening, n) != 0 || (form->kind == QT_COMMENT_HINT && !hintable))
            continue;
        const char *behind = p + 2 + n;
        size_t digits = count_digits(behind, end, form->most_digits);
        if (digits < (size_t)form->least_digits)
            continue;
        *opening = 2 + n + digits;
        if (digits > 0)
            return n == 1 && digits == 5 && memcmp(behind, OLDEST, 5) < 0 ? QT_COMMENT_EXECUTED : form->kind;
        if (*form->opening == 'T')
            *opening += feature_length(behind, end);
        return begins_code(behind, end) ? form->kind : QT_COMMENT_EXECUTED_SOME;
    }
    *opening = left > 1 && IS(p[2], QT_C_IDENT) && p[3] == '!' ? 4 : 0;
    return *opening > 0 ? QT_COMMENT_EXECUTED_SOME : QT_COMMENT_SKIPPED;
}

const char *qt_comment_end(const char *p, const char *end)
{
    while (p < end && (p = memchr(p, '*', (size_t)(end - p))) != NULL) {
        if (p + 1 < end && p[1] == '/')
            return p;
        p++;
    }
    return NULL;
}
