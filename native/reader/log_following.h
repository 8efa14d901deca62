/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a log's buffer from a file that grows, and closes its batches in time. */
#ifndef QT_LOG_FOLLOWING_H
#define QT_LOG_FOLLOWING_H

#include "reader/log_state.h"

/* Opens the path to be followed, when the log comes to it. */
int qt_log_follow(struct qt_log *, const char *path, const struct qt_log_options *, struct qt_error *);
/* qt_log_fill of the file that is followed. A truncation without a copy ends the file: `was_truncated` says so. */
int qt_log_fill_following(struct qt_log *, size_t want, struct qt_error *);

#endif
