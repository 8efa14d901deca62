/* SPDX-License-Identifier: Apache-2.0 */
/* The words that decide how a statement is normalized and classified. Every other word is a name. */
#ifndef QT_KEYWORDS_H
#define QT_KEYWORDS_H

#include <stddef.h>
#include <stdint.h>

#define QT_KW_SIGN 1    /* an operand follows, so a sign belongs to the operand */
#define QT_KW_VALUE 2   /* NULL, TRUE and FALSE after this word are values */
#define QT_KW_GAP 4     /* written with a blank before a parenthesis */
#define QT_KW_WATCH 8   /* classify.c handles this word at any position */
#define QT_KW_CALL 16   /* a function that servers also find by its quoted name */
#define QT_KW_PREFIX 32 /* may be a literal's prefix before a string */
#define QT_KW_HINT 64   /* an optimizer hint may follow */
#define QT_KW_VERB 128  /* verb that may follow WITH, EXPLAIN or ANALYZE */

/* X(name, flags) */
#define QT_KEYWORD_LIST(X) \
    /* words before operands and parentheses */ \
    X(all, 4) X(and, 7) X(as, 4) X(between, 7) X(by, 7 + 8) X(case, 3) X(cross, 4) X(default, 1 + 8) X(distinct, 7) \
    X(div, 7) X(do, 7 + 8) X(else, 7 + 8) X(except, 4) X(exists, 4) X(from, 5) X(having, 7) X(if, 0) X(in, 4) \
    X(index, 4) X(inner, 4) X(intersect, 4) X(interval, 5) X(into, 4) X(is, 0) X(join, 4) X(key, 4) X(like, 7) \
    X(limit, 7) X(mod, 5) X(not, 5) X(on, 7) X(or, 7) X(over, 4) X(partition, 4) X(primary, 4) X(regexp, 7) \
    X(return, 7) X(returning, 7) X(rlike, 7) X(set, 4) X(than, 7) X(then, 7 + 8) X(to, 1) X(union, 4) X(using, 7) \
    X(value, 4 + 8) X(values, 4 + 128) X(when, 7) X(where, 7) X(xor, 7) X(offset, 7) X(row, 0) X(null, 0) \
    X(true, 0) X(false, 0) \
    /* literal prefixes: DATE'..' and similar, then charsets */ \
    X(date, 32) X(time, 32) X(timestamp, 32) X(_utf8, 32) X(_utf8mb3, 32) X(_utf8mb4, 32) X(_latin1, 32) \
    X(_binary, 32) X(_ascii, 32) X(_ucs2, 32) X(_utf16, 32) X(_utf16le, 32) X(_utf32, 32) X(_cp1250, 32) \
    X(_cp1251, 32) X(_cp1256, 32) X(_cp1257, 32) X(_cp850, 32) X(_cp852, 32) X(_cp866, 32) X(_cp932, 32) \
    X(_big5, 32) X(_gbk, 32) X(_gb2312, 32) X(_gb18030, 32) X(_sjis, 32) X(_ujis, 32) X(_euckr, 32) X(_eucjpms, 32) \
    X(_tis620, 32) X(_latin2, 32) X(_latin5, 32) X(_latin7, 32) X(_greek, 32) X(_hebrew, 32) X(_koi8r, 32) \
    X(_koi8u, 32) X(_armscii8, 32) X(_geostd8, 32) X(_dec8, 32) X(_hp8, 32) X(_swe7, 32) X(_macce, 32) \
    X(_macroman, 32) X(_keybcs2, 32) \
    /* first words, and words that refine them */ \
    X(select, 7 + 64 + 128) X(insert, 64 + 128) X(update, 8 + 64 + 128) X(delete, 64 + 128) X(replace, 64 + 128) \
    X(table, 8 + 128) X(alter, 0) X(analyze, 8) X(atomic, 8) X(backup, 0) X(begin, 8) X(binlog, 0) X(cache, 0) \
    X(call, 0) X(change, 0) X(check, 0) X(checksum, 0) X(clone, 0) X(close, 0) X(commit, 0) X(create, 0) \
    X(deallocate, 0) X(declare, 0) X(desc, 0) X(describe, 0) X(drop, 0) X(elseif, 0) X(end, 0) X(execute, 0) \
    X(explain, 0) X(fetch, 0) X(flush, 0) X(for, 8) X(get, 0) X(grant, 0) X(handler, 0) X(help, 0) X(import, 0) \
    X(install, 0) X(instance, 0) X(iterate, 0) X(kill, 1) X(leave, 0) X(load, 0) X(local, 0) X(lock, 8) \
    X(logfile, 0) X(loop, 8) X(no_write_to_binlog, 0) X(open, 0) X(optimize, 0) X(persist, 8) X(persist_only, 8) \
    X(global, 8) X(session, 0) X(prepare, 0) X(purge, 0) X(query, 0) X(release, 0) X(rename, 0) X(repair, 0) \
    X(repeat, 8) X(reset, 0) X(resignal, 0) X(resource, 0) X(restart, 0) X(revoke, 0) X(role, 8) X(rollback, 0) \
    X(savepoint, 0) X(server, 0) X(show, 0) X(shutdown, 0) X(signal, 0) X(start, 0) X(statement, 0) X(stop, 0) \
    X(tables, 0) X(tablespace, 0) X(transaction, 0) X(truncate, 0) X(undo, 0) X(uninstall, 0) X(unlock, 0) \
    X(until, 0) X(use, 0) X(user, 16) X(while, 0) X(with, 4 + 8) X(xa, 0) X(authorization, 8) \
    /* words that show an effect, such as a file write */ \
    X(outfile, 8) X(dumpfile, 8) X(soname, 8) X(next, 0) X(read, 0) X(write, 8) X(comment, 0) X(connection, 0) \
    X(identified, 0) X(via, 8) X(load_file, 16) X(nextval, 16) X(setval, 16) X(password, 16 + 8) X(old_password, 16) \
    X(encrypt, 16) X(encode, 16) X(decode, 16) X(aes_encrypt, 16) X(aes_decrypt, 16) X(des_encrypt, 16) \
    X(des_decrypt, 16) \
    X(md5, 16) X(sha, 16) X(sha1, 16) X(sha2, 16) X(kdf, 16) X(create_digest, 16) \
    X(chain, 8) X(event, 8) X(function, 8) X(no, 0) X(package, 8) X(previous, 0) X(procedure, 8) \
    X(share, 8) X(snapshot, 8) X(sql_calc_found_rows, 8) X(temporary, 0) X(trigger, 8) X(view, 8) X(work, 0) \
    /* words that ask for the time, random values, the session or the server */ \
    X(current_timestamp, 8) X(current_date, 8) X(current_time, 8) X(localtime, 8) X(localtimestamp, 8) X(utc_date, 8) \
    X(utc_time, 8) X(utc_timestamp, 8) X(now, 0) X(sysdate, 0) X(curdate, 0) X(curtime, 0) X(unix_timestamp, 16) \
    X(rand, 16) X(uuid, 16) X(uuid_short, 16) X(uuid_v4, 16) X(uuid_v7, 16) X(random_bytes, 16) X(sys_guid, 16) \
    X(last_insert_id, 16) X(row_count, 16) X(found_rows, 16) X(connection_id, 16) X(get_lock, 16) \
    X(release_lock, 16) X(release_all_locks, 16) X(is_used_lock, 16) X(is_free_lock, 16) X(lastval, 16) \
    X(current_user, 8) X(current_role, 8) X(session_user, 16) X(system_user, 16) X(version, 16)

enum qt_keyword {
    QT_K_NONE = 0,
#define QT_X(name, flags) QT_K_##name,
    QT_KEYWORD_LIST(QT_X)
#undef QT_X
        QT_KEYWORDS
};
_Static_assert(QT_KEYWORDS <= 512, "half of the slots stay free");

#define QT_KEYWORD_SLOTS 1024u
#define QT_KEYWORD_LONGEST 19u

struct qt_keywords {
    uint64_t heads[QT_KEYWORDS]; /* the first eight bytes of each word, folded */
    uint8_t lengths[QT_KEYWORDS];
    uint16_t slots[QT_KEYWORD_SLOTS]; /* enum qt_keyword; 0: free */
};

#define QT_KEYWORD_FOLD UINT64_C(0x2020202020202020)

extern const uint8_t qt_keyword_flags[QT_KEYWORDS];

void qt_keywords_init(struct qt_keywords *);
int qt_keyword_same_rest(int keyword, const char *word, size_t len);

static inline uint32_t qt_keyword_slot(uint64_t head, size_t len)
{
    return (uint32_t)(((head + len) * UINT64_C(0x9E3779B97F4A7C15)) >> 54);
}

/* Finds the keyword with these identifier bytes. Ignores case. `head` is the first eight bytes of the word as they are
 * in memory; missing bytes are 0. */
static inline int qt_keyword_find(const struct qt_keywords *k, uint64_t head, const char *word, size_t len)
{
    if (len < 2 || len > QT_KEYWORD_LONGEST)
        return QT_K_NONE;
    head |= QT_KEYWORD_FOLD;
    for (uint32_t at = qt_keyword_slot(head, len); k->slots[at] != 0; at = (at + 1) % QT_KEYWORD_SLOTS) {
        int found = k->slots[at];
        if (k->heads[found] == head && k->lengths[found] == len && (len <= 8 || qt_keyword_same_rest(found, word, len)))
            return found;
    }
    return QT_K_NONE;
}

#endif
