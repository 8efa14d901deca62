/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/digest_times.h"

#include "check.h"
#include "replay_run.h"

enum { MOST = 10 };

static struct qt_digest_time top[MOST];

static struct qt_record answered(uint64_t digest, int64_t ns)
{
    return (struct qt_record){.digest = digest, .reason = QT_EXECUTED, .sent_ns = 1000, .done_ns = 1000 + ns};
}

static void note(struct qt_engine *e, uint64_t digest, int64_t ns)
{
    struct qt_record r = answered(digest, ns);
    qt_digest_times_note(e->measured.digest_times, &r, 1);
}

/* A digest has exactly 16 hex digits in upper or lower case. Any other text is invalid. */
static void digest_needs_exactly_16_hex_digits(void)
{
    CHECK(qt_digest_number("0123456789abcdef", 16) == 0x0123456789abcdefULL);
    CHECK(qt_digest_number("FEDCBA9876543210", 16) == 0xfedcba9876543210ULL);
    CHECK(qt_digest_number("ffffffffffffffff", 16) == UINT64_MAX);
    CHECK(qt_digest_number(NULL, 0) == 0);
    CHECK(qt_digest_number("", 0) == 0);
    CHECK(qt_digest_number("0123456789abcde", 15) == 0);
    CHECK(qt_digest_number("0123456789abcdef0", 17) == 0);
    for (int c = 1; c < 256; c++) {
        char text[] = "0123456789abcdef";
        text[7] = (char)c;
        int hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        CHECK((qt_digest_number(text, 16) != 0) == hex);
    }
}

/* The digests with the most total time come first, each with its count, sum and maximum. At most the requested number
 * of digests is returned. */
static void digests_are_sorted_by_total_time(void)
{
    static struct qt_engine e;

    e.measured.digest_times = qt_digest_times_new();
    CHECK_INT(qt_engine_slowest(&e, top, MOST), 0);
    note(&e, 7, 100);
    note(&e, 8, 90);
    note(&e, 8, 30);
    note(&e, 9, 110);
    note(&e, 7, -5); /* a clock that ran backwards adds nothing */
    CHECK_INT(qt_engine_slowest(&e, top, MOST), 3);
    CHECK(top[0].digest == 8 && top[0].count == 2 && top[0].sum_ns == 120 && top[0].max_ns == 90);
    CHECK(top[1].digest == 9 && top[1].count == 1 && top[1].sum_ns == 110);
    CHECK(top[2].digest == 7 && top[2].count == 2 && top[2].sum_ns == 100 && top[2].max_ns == 100);
    for (int i = 0; i < 3; i++)
        CHECK_INT(top[i].unsure_ns, 0);
    CHECK_INT(qt_engine_slowest(&e, top, 2), 2);
    CHECK(top[0].digest == 8 && top[1].digest == 9);
    CHECK_INT(qt_engine_slowest(&e, top, 1), 1);
    CHECK(top[0].digest == 8);
    CHECK_INT(qt_engine_slowest(&e, top, 0), 0);
    qt_digest_times_free(e.measured.digest_times);
}

/* Events that were not sent, have no reply or have no digest add no time. */
static void events_without_a_reply_add_no_time(void)
{
    static struct qt_engine e;
    struct qt_record r[4];

    e.measured.digest_times = qt_digest_times_new();
    for (int i = 0; i < 4; i++)
        r[i] = answered(5, 50);
    r[0].digest = 0;
    r[1].reason = QT_STOPPED;
    r[2].done_ns = QT_NONE;
    r[3].sent_ns = QT_NONE;
    qt_digest_times_note(e.measured.digest_times, r, 4);
    CHECK_INT(qt_engine_slowest(&e, top, MOST), 0);
    qt_digest_times_free(e.measured.digest_times);
}

/* Records 100,000 digests. Ten of them are expensive: each costs more than all other digests in its slot. The expensive
 * digests are found whenever they appear. Nothing is counted twice, and `unsure_ns` bounds the missing time. */
static void many_digests(int first)
{
    static struct qt_engine e;
    uint64_t seed = 1;

    e.measured.digest_times = qt_digest_times_new();
    for (int i = 0; i < 100000; i++) {
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        if (i % 1000 == 999 && i >= first)
            for (uint64_t k = 1; k <= 10; k++)
                note(&e, k * 0x9e3779b97f4a7c15ULL, (int64_t)k * 1000);
        note(&e, seed >> 8 | 1ULL << 60, 1);
    }
    CHECK_INT(qt_engine_slowest(&e, top, MOST), MOST);
    for (uint64_t k = 10; k >= 1; k--) {
        const struct qt_digest_time *t = &top[10 - k];
        int64_t times = (100000 - first) / 1000;
        CHECK(t->digest == k * 0x9e3779b97f4a7c15ULL);
        CHECK_INT(t->count, times);
        CHECK_INT(t->sum_ns, times * (int64_t)k * 1000);
        CHECK(t->unsure_ns >= 0 && t->unsure_ns < 100);
        CHECK(first == 0 || t->unsure_ns > 0);
    }
    qt_digest_times_free(e.measured.digest_times);
}

static void slowest_digests_are_kept_among_many(void) { many_digests(0); }
static void new_slow_digests_replace_older_digests(void) { many_digests(50000); }

/* An evicted digest that appears again starts from zero. Its `unsure_ns` shows how much time may be missing. */
static void evicted_digest_reports_its_possibly_missing_time(void)
{
    static struct qt_engine e;

    e.measured.digest_times = qt_digest_times_new();
    for (uint64_t k = 1; k <= 9; k++) /* all nine digests fall into one set, which has room for eight */
        note(&e, k * 512, (int64_t)k * 10);
    CHECK_INT(qt_engine_slowest(&e, top, MOST), 8);
    CHECK(top[0].digest == 9 * 512 && top[0].sum_ns == 90 && top[0].unsure_ns == 10);
    note(&e, 512, 1); /* replaces the second digest, which had 20 ns */
    CHECK_INT(qt_engine_slowest(&e, top, MOST), 8);
    CHECK(top[7].digest == 512 && top[7].sum_ns == 1 && top[7].count == 1 && top[7].unsure_ns == 20);
    qt_digest_times_free(e.measured.digest_times);
}

static int looks;

static void look(struct replay *r)
{
    int32_t n = qt_engine_slowest(r->engine, top, MOST);
    for (int32_t i = 1; i < n; i++)
        CHECK(top[i - 1].sum_ns >= top[i].sum_ns);
    r->server.let_go = ++looks > 2;
}

static void put(struct replay *r, int64_t session, int64_t seq, const char *sql, const char *digest)
{
    replay_put(r, &(struct planned){.session = session,
                                    .seq = seq,
                                    .due_ns = seq * MS,
                                    .command = 1,
                                    .sql = sql,
                                    .len = strlen(sql),
                                    .digest = digest});
}

/* The digest times of a run agree with its outcomes. */
static void digest_times_agree_with_the_outcomes(void)
{
    struct replay r;
    int64_t slow = 0, failed = 0, longest = 0;

    looks = 0;
    replay_init(&r);
    for (int64_t session = 1; session <= 2; session++) {
        replay_session(&r, session, -5, 4, NULL);
        put(&r, session, 1, "HOLD 1", "00000000000000aa");
        put(&r, session, 2, "ERROR", "00000000000000bb"); /* an error counts as a reply */
        put(&r, session, 3, "no digest", NULL);
        put(&r, session, 4, "SLEEP 30", "00000000000000aa");
    }
    r.each_slice = look;
    replay_run(&r);
    for (int64_t session = 1; session <= 2; session++)
        for (int64_t seq = 1; seq <= 4; seq++) {
            struct outcome *o = replay_find(&r, session, seq);
            int64_t took = o->done_ns - o->sent_ns;
            slow += seq == 1 || seq == 4 ? took : 0;
            longest = (seq == 1 || seq == 4) && took > longest ? took : longest;
            failed += seq == 2 ? took : 0;
        }
    CHECK_INT(qt_engine_slowest(r.engine, top, MOST), 2);
    int aa = top[0].digest != 0xaa; /* position of digest aa */
    CHECK(top[aa].digest == 0xaa && top[aa].count == 4);
    CHECK_INT(top[aa].sum_ns, slow);
    CHECK_INT(top[aa].max_ns, longest);
    CHECK(top[!aa].digest == 0xbb && top[!aa].count == 2);
    CHECK_INT(top[!aa].sum_ns, failed);
    replay_free(&r);
}

static void *noter(void *arg)
{
    for (uint64_t i = 0; i < 20000; i++)
        note(arg, 1 + i % 3, 10);
    return NULL;
}

/* Several threads may record times while another thread reads them. No time is lost. */
static void concurrent_threads_lose_no_time(void)
{
    static struct qt_engine e;
    pthread_t thread[2];
    int64_t before = 0;

    e.measured.digest_times = qt_digest_times_new();
    for (int i = 0; i < 2; i++)
        CHECK_INT(pthread_create(&thread[i], NULL, noter, &e), 0);
    while (before < 2 * 20000 * 10) {
        int64_t sum = 0;
        int32_t n = qt_engine_slowest(&e, top, MOST);
        for (int32_t i = 0; i < n; i++)
            sum += top[i].sum_ns;
        CHECK(n <= 3 && sum >= before);
        before = sum;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    CHECK_INT(before, 2 * 20000 * 10);
    qt_digest_times_free(e.measured.digest_times);
}

int main(void)
{
    RUN(digest_needs_exactly_16_hex_digits);
    RUN(digests_are_sorted_by_total_time);
    RUN(events_without_a_reply_add_no_time);
    RUN(slowest_digests_are_kept_among_many);
    RUN(new_slow_digests_replace_older_digests);
    RUN(evicted_digest_reports_its_possibly_missing_time);
    RUN(digest_times_agree_with_the_outcomes);
    RUN(concurrent_threads_lose_no_time);
    return 0;
}
