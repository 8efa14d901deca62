/* SPDX-License-Identifier: Apache-2.0 */
/* The table of thread ids of a log, compared with a simple list. Covers lookups, growth, forgotten entries and lack of
 * memory. */
#include "reader/sessions.h"

#include "check.h"
#include "failing.h"
#include "test_normalize_util.h"

enum { MANY = 5000, LIMIT = 3000 };

/* Returns keys like those in logs: consecutive, with gaps, or hashes. */
static uint64_t key_of(int kind, uint64_t i)
{
    uint64_t state = i + 1;
    return kind == 0 ? i + 1 : kind == 1 ? i * 4096 + 7 : random_next(&state);
}

static void each_key_has_one_entry(void)
{
    for (int kind = 0; kind < 3; kind++) {
        struct qt_sessions s;
        CHECK_INT(qt_sessions_init(&s, 1 << 20), 0);
        for (uint64_t i = 0; i < MANY; i++) {
            CHECK(qt_sessions_look_up(&s, key_of(kind, i)) == NULL);
            CHECK_INT(qt_sessions_find(&s, key_of(kind, i), i), i);
            CHECK_INT(s.entries[i].session, 0);
            CHECK_INT(s.entries[i].row, -1);
            CHECK_INT(s.entries[i].prev_end_ns, INT64_MIN);
            CHECK_INT(s.n_entries, i + 1);
            CHECK(s.n_slots > s.n_entries && s.room >= s.n_entries);
        }
        for (uint64_t i = 0; i < MANY; i++) {
            CHECK_INT(qt_sessions_find(&s, key_of(kind, i), MANY + i), i);
            CHECK_INT(s.entries[i].last_use, MANY + i);
            CHECK(qt_sessions_look_up(&s, key_of(kind, i)) == &s.entries[i]);
            CHECK(qt_sessions_look_up(&s, key_of(kind, MANY + i)) == NULL);
        }
        qt_sessions_restart(&s, MANY + MANY / 2);
        for (uint64_t i = 0; i < MANY; i++)
            CHECK((qt_sessions_look_up(&s, key_of(kind, i)) == NULL) == (i < MANY / 2));
        qt_sessions_restart(&s, 2 * MANY);
        for (uint64_t i = 0; i < MANY; i++)
            CHECK(qt_sessions_look_up(&s, key_of(kind, i)) == NULL);
        CHECK_INT(qt_sessions_find(&s, key_of(kind, 9), 1), 0);
        qt_sessions_free(&s);
    }
}

static void new_session_starts_with_cleared_fields(void)
{
    struct qt_sessions s;
    CHECK_INT(qt_sessions_init(&s, 10), 0);
    struct qt_session_entry *e = &s.entries[qt_sessions_find(&s, 5, 1)];
    for (int64_t number = 1; number < 4; number++) {
        e->seq = 7;
        e->own_timestamp = e->ended = 1;
        e->mode = (struct qt_session_mode){1, 1, 7};
        e->prev_end_ns = 99;
        qt_sessions_begin(&s, e);
        CHECK_INT(e->session, number);
        CHECK_INT(e->seq | e->own_timestamp | e->ended | e->mode.reading | e->mode.charset | e->mode.known, 0);
        CHECK_INT(e->prev_end_ns, 99); /* unchanged, because the thread id is the same */
    }
    qt_sessions_free(&s);
}

/* At the limit, the half that was unused for the longest time is forgotten and counted. */
static void least_recently_used_half_is_forgotten(void)
{
    for (uint64_t n = LIMIT - 1; n <= LIMIT + 1; n++) {
        struct qt_sessions s;
        CHECK_INT(qt_sessions_init(&s, LIMIT), 0);
        for (uint64_t i = 0; i < n; i++)
            qt_sessions_find(&s, key_of(2, i), i * 7919 % n);
        CHECK_INT(qt_sessions_trim(&s), n >= LIMIT);
        CHECK_INT(s.forgotten, n >= LIMIT ? n - LIMIT / 2 : 0);
        CHECK_INT(s.n_entries, n >= LIMIT ? LIMIT / 2 : n);
        for (uint64_t i = 0; i < n; i++) {
            const struct qt_session_entry *e = qt_sessions_look_up(&s, key_of(2, i));
            CHECK_INT(e != NULL, n < LIMIT || i * 7919 % n >= n - LIMIT / 2);
            CHECK(e == NULL || e->key == key_of(2, i));
        }
        CHECK_INT(qt_sessions_trim(&s), 0);
        qt_sessions_free(&s);
    }
}

static void failed_allocation_loses_no_session(void)
{
    struct qt_sessions s;
    for (long number = 1; number <= 2; number++) {
        failing_set(FAILING_MEMORY, number);
        CHECK_INT(qt_sessions_init(&s, 1000), -1);
        failing_stop();
        qt_sessions_free(&s);
    }
    for (long number = 1; number <= 2; number++) {
        CHECK_INT(qt_sessions_init(&s, 1000), 0);
        for (uint64_t i = 0; i < 256; i++)
            CHECK_INT(qt_sessions_find(&s, i, i), i);
        failing_set(FAILING_MEMORY, number);
        CHECK_INT(qt_sessions_find(&s, 256, 0), -1);
        failing_stop();
        for (uint64_t i = 0; i < 600; i++)
            CHECK_INT(qt_sessions_find(&s, i, i), i);
        qt_sessions_free(&s);
    }
}

int main(void)
{
    RUN(each_key_has_one_entry);
    RUN(new_session_starts_with_cleared_fields);
    RUN(least_recently_used_half_is_forgotten);
    RUN(failed_allocation_loses_no_session);
    return 0;
}
