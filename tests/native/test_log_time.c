/* SPDX-License-Identifier: Apache-2.0 */
/* Timestamps of text logs: each field at and just outside its limits, time zones, fractions, and truncated text. */
#include "reader/log_time.h"

#include <stdint.h>
#include <time.h>

#include "check.h"

static struct qt_logtime parse(const char *text)
{
    size_t n = strlen(text);
    char *own = malloc(n + 1); /* exact size, so that a sanitizer detects reads outside the text */
    CHECK(own != NULL);
    memcpy(own, text, n + 1);
    struct qt_logtime found = qt_logtime_parse(own, n);
    free(own);
    return found;
}

static int64_t seconds(int year, int month, int day, int hour, int minute, int second)
{
    struct tm t = {.tm_year = year - 1900,
                   .tm_mon = month - 1,
                   .tm_mday = day,
                   .tm_hour = hour,
                   .tm_min = minute,
                   .tm_sec = second};
    return (int64_t)timegm(&t);
}

/* Tests the fields of both formats one by one, at values on each side of their limits. */
static void every_time_field_has_limits(void)
{
    static const int FIRST[] = {70, 1, 1, 0, 0, 0}, LAST[] = {69, 12, 31, 23, 59, 60}, USUAL[] = {24, 6, 10, 8, 13, 20};
    for (int field = 0; field < 6; field++)
        for (int value = 0; value <= 99; value++) {
            int v[6], is = field == 0 || (value >= FIRST[field] && value <= LAST[field]);
            char local[32], iso[40];
            for (int i = 0; i < 6; i++)
                v[i] = i == field ? value : USUAL[i];
            snprintf(local, sizeof local, "%02d%02d%02d %02d:%02d:%02d", v[0], v[1], v[2], v[3], v[4], v[5]);
            snprintf(iso, sizeof iso, "20%02d-%02d-%02dT%02d:%02d:%02dZ", v[0], v[1], v[2], v[3], v[4], v[5]);
            struct qt_logtime a = parse(local), b = parse(iso);
            CHECK_INT(a.kind, is ? QT_LOGTIME_LOCAL : QT_LOGTIME_BAD);
            CHECK_INT(b.kind, is ? QT_LOGTIME_UTC : QT_LOGTIME_BAD);
            if (!is)
                continue;
            CHECK_INT(a.ns, seconds(v[0] < 70 ? 2000 + v[0] : 1900 + v[0], v[1], v[2], v[3], v[4], v[5]) * QT_SECOND);
            CHECK_INT(b.ns, seconds(2000 + v[0], v[1], v[2], v[3], v[4], v[5]) * QT_SECOND);
            CHECK_INT(a.length, 15);
            CHECK_INT(b.length, 20);
        }
}

static void time_zones_and_fractions_are_read(void)
{
    static const struct {
        const char *behind;
        int minutes; /* zone offset in minutes; INT32_MAX: invalid zone */
        int64_t ns;
        int length;
    } CASES[] = {
        {"Z", 0, 0, 20},
        {"+00:00", 0, 0, 25},
        {"+00:30", 30, 0, 25},
        {"-00:30", -30, 0, 25},
        {"+15:00", 900, 0, 25},
        {"+15:59", 959, 0, 25},
        {"-15:59", -959, 0, 25},
        {"+09:60", INT32_MAX, 0, 0},
        {"+16:00", INT32_MAX, 0, 0},
        {"+x1:00", INT32_MAX, 0, 0},
        {"+01:0x", INT32_MAX, 0, 0},
        {"+01:0", INT32_MAX, 0, 0},
        {"+01.00", INT32_MAX, 0, 0},
        {"*01:00", INT32_MAX, 0, 0},
        {"+ 1:00", 60, 0, 25},
        {"", INT32_MAX, 0, 0},
        {".", INT32_MAX, 0, 0},
        {".1", INT32_MAX, 0, 0},
        {".Z", 0, 0, 21},
        {".1Z", 0, 100000000, 22},
        {".000001Z", 0, 1000, 27},
        {".999999Z", 0, 999999000, 27},
        {".123456789Z", 0, 123456789, 30},
        {".1234567899Z", 0, 123456789, 31},
        {".5+02:00", 120, 500000000, 27},
        {".5-11:45", -705, 500000000, 27},
        {"Zx", 0, 0, 20},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char text[64];
        snprintf(text, sizeof text, "2024-06-10T08:13:20%s", CASES[i].behind);
        struct qt_logtime found = parse(text);
        CHECK_INT(found.kind, CASES[i].minutes == INT32_MAX ? QT_LOGTIME_BAD : QT_LOGTIME_UTC);
        if (found.kind == QT_LOGTIME_BAD)
            continue;
        int64_t at = seconds(2024, 6, 10, 8, 13, 20) - CASES[i].minutes * 60;
        CHECK_INT(found.ns, at * QT_SECOND + CASES[i].ns);
        CHECK_INT(found.length, CASES[i].length);
    }
}

static void other_time_formats_are_read_or_refused(void)
{
    static const struct {
        const char *text;
        int kind, length;
    } CASES[] = {
        {"240610  8:13:20", QT_LOGTIME_LOCAL, 15}, /* padded hour, as written by servers */
        {"240610 8:13:20", QT_LOGTIME_LOCAL, 14},  /* unpadded hour, as rewritten by some tools */
        {"240610 8:13:2", QT_LOGTIME_BAD, 0},
        {"240610 08:13:2", QT_LOGTIME_BAD, 0},
        {"24061  8:13:20 ", QT_LOGTIME_BAD, 0},
        {" 40610 08:13:20", QT_LOGTIME_BAD, 0},
        {"24 610 08:13:20", QT_LOGTIME_BAD, 0},
        {"2406 1 08:13:20", QT_LOGTIME_BAD, 0},
        {"240610-08:13:20", QT_LOGTIME_BAD, 0},
        {"240610 08.13:20", QT_LOGTIME_BAD, 0},
        {"240610 08:13.20", QT_LOGTIME_BAD, 0},
        {"x40610 08:13:20", QT_LOGTIME_BAD, 0},
        {"240610 x8:13:20", QT_LOGTIME_BAD, 0},
        {"2024-06-10 08:13:20Z", QT_LOGTIME_UTC, 20},
        {"2024-06-10_08:13:20Z", QT_LOGTIME_BAD, 0},
        {"2024-06.10T08:13:20Z", QT_LOGTIME_BAD, 0},
        {"2024-06-10T08.13:20Z", QT_LOGTIME_BAD, 0},
        {"2024-06-10T08:13.20Z", QT_LOGTIME_BAD, 0},
        {"1900-06-10T08:13:20Z", QT_LOGTIME_UTC, 20},
        {"1899-06-10T08:13:20Z", QT_LOGTIME_BAD, 0},
        {"2199-06-10T08:13:20Z", QT_LOGTIME_UTC, 20},
        {"2200-06-10T08:13:20Z", QT_LOGTIME_BAD, 0},
        {" 924-06-10T08:13:20Z", QT_LOGTIME_BAD, 0},
        {"20x4-06-10T08:13:20Z", QT_LOGTIME_BAD, 0},
        {"", QT_LOGTIME_BAD, 0},
        {"2024", QT_LOGTIME_BAD, 0},
        {"2024-", QT_LOGTIME_BAD, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct qt_logtime found = parse(CASES[i].text);
        if (found.kind != CASES[i].kind)
            fprintf(stderr, "[%s]\n", CASES[i].text);
        CHECK_INT(found.kind, CASES[i].kind);
        CHECK_INT(found.kind == QT_LOGTIME_BAD ? 0 : (int)found.length, CASES[i].length);
    }
}

static void day_numbers_match_the_calendar(void)
{
    static const int YEARS[] = {1, 4, 100, 400, 1600, 1900, 1969, 1970, 1999, 2000, 2001, 2004, 2023, 2024, 2100, 9999};
    for (size_t i = 0; i < sizeof YEARS / sizeof *YEARS; i++)
        for (int month = 1; month <= 12; month++)
            for (int day = 1; day <= 28; day += 9)
                CHECK_INT(qt_days_from_civil(YEARS[i], month, day), seconds(YEARS[i], month, day, 0, 0, 0) / 86400);
}

int main(void)
{
    RUN(every_time_field_has_limits);
    RUN(time_zones_and_fractions_are_read);
    RUN(other_time_formats_are_read_or_refused);
    RUN(day_numbers_match_the_calendar);
    return 0;
}
