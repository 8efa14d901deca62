/* SPDX-License-Identifier: Apache-2.0 */
/* The keywords of the grammar, in addition to the keywords of the lexer. */
#ifndef QT_GRAMMAR_WORDS_H
#define QT_GRAMMAR_WORDS_H

#include <stddef.h>
#include <stdint.h>

#define QT_W_RESERVED 1 /* cannot name a column, table or alias without quotes */
#define QT_W_LINK 2     /* may separate the arguments of a function */
#define QT_W_OPTION 4   /* option between SELECT, INSERT, UPDATE or DELETE and its table or list */
#define QT_W_VALUE 8    /* is a value when used without parentheses */

/* X(name, flags) */
#define QT_WORD_LIST(X) \
    X(select, 1) X(from, 1 + 2) X(where, 1) X(group, 1) X(order, 1 + 2) X(by, 1 + 2) X(having, 1) X(limit, 1 + 2) \
    X(union, 1) X(except, 1) X(intersect, 1) X(minus, 0) X(into, 1) X(for, 1 + 2) X(lock, 1) X(on, 1 + 2) \
    X(using, 1 + 2) X(join, 1) X(inner, 1) X(left, 1) X(right, 1) X(cross, 1) X(outer, 1) X(natural, 1) \
    X(straight_join, 1 + 4) X(full, 0) X(set, 1) X(values, 1) X(value, 0) X(as, 1 + 2) X(and, 1) X(or, 1) X(xor, 1) \
    X(not, 1) X(in, 1 + 2) X(is, 1) X(between, 1) X(like, 1) X(regexp, 1) X(rlike, 1) X(when, 1) X(then, 1) \
    X(else, 1) X(end, 0) X(case, 1) X(exists, 1) X(interval, 1) X(div, 1) X(mod, 1) X(collate, 1) X(binary, 1) \
    X(asc, 1 + 2) X(desc, 1 + 2) X(window, 1) X(partition, 1) X(over, 1) X(procedure, 1) X(returning, 1 + 2) \
    X(use, 1) X(force, 1) X(ignore, 1 + 2 + 4) X(key, 1) X(index, 1) X(distinct, 1 + 2 + 4) X(all, 1 + 2 + 4) \
    X(distinctrow, 1 + 4) X(null, 1 + 8) X(true, 1 + 8) X(false, 1 + 8) X(unknown, 0) X(default, 1 + 8) \
    X(offset, 0) X(fetch, 1) X(escape, 0) X(sounds, 0) X(member, 0) X(of, 1) X(lateral, 1) X(table, 1) X(update, 1) \
    X(delete, 1) X(insert, 1) X(replace, 1) X(match, 1) X(against, 0) X(convert, 1) X(cast, 0) X(with, 1) \
    X(recursive, 1) X(rollup, 0) X(share, 0) X(mode, 0) X(nowait, 0) X(skip, 0) X(locked, 0) X(wait, 0) \
    X(row, 0) X(rows, 0) X(duplicate, 0) X(low_priority, 1 + 4) X(high_priority, 1 + 4) X(delayed, 1 + 4) \
    X(quick, 4) X(sql_small_result, 1 + 4) X(sql_big_result, 1 + 4) X(sql_buffer_result, 4) X(sql_cache, 4) \
    X(sql_no_cache, 4) X(sql_calc_found_rows, 1 + 4) X(separator, 1 + 2) X(both, 1 + 2) X(leading, 1 + 2) \
    X(trailing, 1 + 2) X(respect, 2) X(nulls, 2) X(explain, 1) X(describe, 1) X(analyze, 1) X(extended, 0) \
    X(partitions, 0) X(format, 0) X(statement, 0) X(any, 0) X(some, 0) X(dual, 1) X(json_table, 0) X(system_time, 0) \
    X(extract, 0) X(timestampdiff, 0) X(timestampadd, 0) X(get_format, 0) X(next, 0) X(previous, 0) X(do, 0) \
    X(current_timestamp, 1 + 8) X(current_date, 1 + 8) X(current_time, 1 + 8) X(localtime, 1 + 8) \
    X(localtimestamp, 1 + 8) X(utc_date, 1 + 8) X(utc_time, 1 + 8) X(utc_timestamp, 1 + 8) X(current_user, 1 + 8) \
    X(current_role, 8) X(date, 0) X(time, 0) X(timestamp, 0) X(within, 0) X(json, 0) X(oj, 0) X(call, 1) X(read, 1) \
    X(write, 1) X(outfile, 1) X(dumpfile, 1) X(to, 1) X(change, 1) X(rename, 1) X(if, 1) X(position, 0)

enum qt_word {
    QT_W_none = 0,
#define QT_X(name, flags) QT_W_##name,
    QT_WORD_LIST(QT_X)
#undef QT_X
        QT_WORDS
};

enum { QT_WORD_SLOTS = 1024, QT_WORD_LONGEST = 19 };

struct qt_words {
    uint8_t slots[QT_WORD_SLOTS]; /* enum qt_word; 0: free */
    uint8_t lengths[QT_WORDS];
};

_Static_assert(QT_WORDS <= 256, "a slot is a byte");

extern const uint8_t qt_word_flags[QT_WORDS];
void qt_words_init(struct qt_words *);
/* Returns the word with these bytes, or QT_W_none. Ignores case. */
int qt_word_find(const struct qt_words *, const char *p, size_t len);

#endif
