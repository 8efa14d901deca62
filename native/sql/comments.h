/* SPDX-License-Identifier: Apache-2.0 */
/* Comments that servers execute. Which of them a server executes depends on its family and version: where servers
 * differ, a text is read both ways. docs/sources/sql-modes.md has the same table in words. */
#ifndef QT_COMMENTS_H
#define QT_COMMENTS_H

#include <stddef.h>

enum qt_comment {
    QT_COMMENT_SKIPPED,       /* by every server */
    QT_COMMENT_EXECUTED,      /* by every server */
    QT_COMMENT_EXECUTED_SOME, /* by some servers */
    QT_COMMENT_HINT           /* for the optimizer */
};

/* What the comment is that begins at `p`, at its slash and star. `hintable`: a hint may be here. `opening`: the bytes
 * in front of its code, the version included; 0 where it is skipped. */
enum qt_comment qt_comment_at(const char *p, const char *end, int hintable, size_t *opening);

/* The star of the next star and slash, or NULL. */
const char *qt_comment_end(const char *p, const char *end);

#endif
