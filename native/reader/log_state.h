/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader of text logs holds: log.h offers what is done with it. */
#ifndef QT_LOG_STATE_H
#define QT_LOG_STATE_H

#include "reader/follow.h"
#include "reader/input.h"
#include "reader/logtime.h"
#include "reader/reader.h"
#include "reader/sessions.h"
#include "reader/timeline.h"

#define QT_LOG_MAX_BATCH (UINT64_C(1) << 30) /* bytes of texts in a batch: its columns have 32-bit offsets */
#define QT_JUMPS 256                         /* of a batch */
#define QT_LOG_NO_THREAD (UINT64_C(1) << 63) /* marks a session key that is no thread id */

/* Where local times of the log go back, or pass over an hour. */
struct qt_jump {
    size_t row; /* of the batch */
    int64_t ahead_ns, file, line, offset;
};

struct qt_log {
    struct qt_reader reader;
    const char *what; /* "slow log", ...: for messages */
    char **paths;
    int32_t n_paths, file;
    struct qt_input **inputs; /* of paths that were opened before */
    struct qt_input *input;   /* NULL after the last file, and of the file that is followed */
    struct qt_follow *follow; /* the last path where it is followed, opened from the beginning on; NULL = none is */
    int following;            /* it is being read */
    int64_t part_ns, part_began_ns; /* of what is followed; 0 = no event yet */
    int64_t heard_ns;               /* when it last grew */
    int exact_times;                /* the kind gives no event_times: its events have starts */
    uint64_t bytes_before;          /* stored bytes of the files done */
    char *buffer;
    size_t begin, end, room; /* unread: [begin, end) */
    size_t max_event;        /* the buffer grows to this; what is larger is cut */
    int line_is_cut;         /* the line that qt_log_line gave goes on: it is larger than max_event */
    int in_cut_line;         /* the rest of such a line is at buffer[begin] */
    uint64_t offset;         /* of buffer[begin] in its file */
    uint64_t line;           /* of buffer[counted] */
    size_t counted;
    uint64_t file_events, passed_before; /* of this file; bytes not understood before it */
    int at_end;                          /* nothing of this file is behind buffer[end] */
    int was_truncated, last_file;        /* why a followed file is at its end */

    int64_t timezone_ns; /* of local times, where has_timezone */
    int has_timezone;
    int64_t *zone_from_ns, *zone_offset_ns; /* owned; of a zone whose offset changes */
    int32_t n_zone;
    int64_t zone_utc_ns;            /* of the last local time; 0 = none */
    int64_t last_second;            /* as the log has it, of the last event of whole seconds; 0 = none */
    struct qt_jump jumps[QT_JUMPS]; /* of the batch */
    size_t n_jumps;
    pthread_mutex_t facts_lock; /* of the server's version */
    int has_facts_lock;
    char server_version[128]; /* "" = not known */
    struct qt_normalizer *normalizer;
    struct qt_sessions sessions;
    struct qt_timeline timeline;
};

#endif
