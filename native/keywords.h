/* SPDX-License-Identifier: Apache-2.0 */
/* The words that decide how a statement is normalised and what it is; every other word is a name. */
#ifndef QT_KEYWORDS_H
#define QT_KEYWORDS_H

#include <stddef.h>
#include <stdint.h>

/* X(name, flags): the word is the lower-case name. */
#define QT_KW_OPERAND 1   /* an operand follows: a sign there is the literal's, NULL and TRUE are values */
#define QT_KW_GAP 2       /* written with a blank before a parenthesis */
#define QT_KEYWORD_LIST(X) \
    X(all, 2) X(alter, 0) X(analyze, 0) X(and, 3) X(as, 2) X(asc, 0) X(auth, 0) X(backup, 0) X(begin, 0) \
    X(between, 3) X(binary, 0) X(binlog, 0) X(by, 3) X(cache, 0) X(call, 0) X(case, 3) X(change, 0) X(check, 0) \
    X(checksum, 0) X(clone, 0) X(comment, 0) X(commit, 0) X(component, 0) X(connection, 0) X(create, 0) X(cross, 2) \
    X(date, 0) X(deallocate, 0) X(decode, 0) X(default, 0) X(delete, 0) X(desc, 0) X(describe, 0) X(distinct, 3) \
    X(do, 3) X(drop, 0) X(dumpfile, 0) X(duplicate, 0) X(else, 3) X(encode, 0) X(encrypt, 0) X(end, 0) \
    X(execute, 0) X(exists, 2) X(explain, 0) X(false, 0) X(flush, 0) X(for, 0) X(from, 2) X(function, 0) \
    X(get, 0) X(global, 0) X(grant, 0) X(group, 0) X(group_replication, 0) X(gtid_domain_id, 0) X(gtid_next, 0) X(gtid_seq_no, 0) \
    X(handler, 0) X(having, 3) X(help, 0) X(identified, 0) X(immediate, 0) X(import, 0) X(in, 2) X(index, 2) X(inner, 2) \
    X(insert, 0) X(install, 0) X(instance, 0) X(into, 2) X(is, 0) X(join, 2) X(key, 2) X(kill, 3) X(lastval, 0) \
    X(left, 2) X(like, 3) X(limit, 3) X(load, 0) X(load_file, 0) X(local, 0) X(lock, 0) X(logfile, 0) X(logs, 0) X(master, 0) \
    X(mod, 3) X(nextval, 0) X(next, 0) X(not, 2) X(null, 0) X(offset, 3) X(on, 3) X(open, 0) X(optimize, 0) X(or, 3) X(order, 2) X(outer, 2) \
    X(outfile, 0) X(over, 2) X(partition, 2) X(password, 0) X(persist, 0) X(persist_only, 0) X(plugin, 0) X(prepare, 0) \
    X(primary, 2) X(proxy, 0) X(purge, 0) X(read, 0) X(regexp, 3) X(release, 0) X(rename, 0) X(repair, 0) X(replace, 0) \
    X(replica, 0) X(replication, 0) X(reset, 0) X(resignal, 0) X(resource, 0) X(restart, 0) X(return, 3) X(returning, 3) X(revoke, 0) \
    X(right, 2) X(rlike, 3) X(role, 0) X(rollback, 0) X(row, 0) X(savepoint, 0) X(secret, 0) X(select, 3) X(server, 0) \
    X(session, 0) X(set, 3) X(setval, 0) X(show, 0) X(shutdown, 0) X(signal, 0) X(slave, 0) X(soname, 0) X(source, 0) X(sql_log_bin, 0) \
    X(start, 0) X(statement, 0) X(status, 0) X(stop, 0) X(system, 0) X(table, 0) X(tables, 0) X(tablespace, 0) X(then, 3) X(time, 0) \
    X(timestamp, 0) X(transaction, 0) X(transaction_read_only, 0) X(true, 0) X(truncate, 0) X(tx_read_only, 0) \
    X(undo, 0) X(uninstall, 0) X(union, 2) X(unlock, 0) X(update, 0) X(use, 0) X(user, 0) X(using, 2) X(value, 2) X(values, 2) \
    X(view, 0) X(when, 3) X(where, 3) X(with, 2) X(work, 0) X(write, 0) X(wsrep_sst_auth, 0) X(xa, 0) X(xor, 3) \
    X(aes_encrypt, 0) X(aes_decrypt, 0) X(des_encrypt, 0) X(des_decrypt, 0) X(old_password, 0) X(intersect, 2) X(except, 2) \
    X(via, 0) X(atomic, 0) X(gtid_purged, 0) X(server_id, 0) X(sql_slave_skip_counter, 0) X(subscription, 0) X(query, 0)

enum qt_keyword {
    QT_K_NONE = 0,
#define QT_X(name, flags) QT_K_##name,
    QT_KEYWORD_LIST(QT_X)
#undef QT_X
    QT_KEYWORDS
};

#define QT_KEYWORD_SLOTS 1024u
#define QT_KEYWORD_LONGEST 24u

struct qt_keywords {
    uint8_t slots[QT_KEYWORD_SLOTS]; /* enum qt_keyword; 0 = free */
};

void qt_keywords_init(struct qt_keywords *);
/* `word` is in lower case and may be read up to 8 bytes from its start whatever its length. */
int qt_keyword_find(const struct qt_keywords *, const char *word, size_t len);
extern const uint8_t qt_keyword_flags[QT_KEYWORDS];

#endif
