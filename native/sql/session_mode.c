/* SPDX-License-Identifier: Apache-2.0 */
/* SET NAMES gbk | SET CHARACTER SET gbk | SET [SESSION] character_set_client = gbk, sql_mode = 'ANSI_QUOTES'
 *
 * Only plain values count. For sql_mode these are names, a number of bits, or CONCAT(@@sql_mode, ',...'). For charsets
 * these are a name or a collation's number.
 *
 * After any other value the mode is unknown. The mode is also unknown after an EXECUTE or a block, because these may
 * run a SET of their own. A routine restores the mode at its end. */
#include "querytape.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/lexer.h"
#include "sql/names.h"
#include "sql/normal_text.h"
#include "sql/readings.h"

#define NEWEST_EVERYWHERE 50500 /* every server executes a comment for this or a lower version */

#define IN_EVERY_SERVER 248 /* collation numbers below this are the same in all servers */

static const struct {
    const char *name;
    uint8_t charset;
} CHARSETS[] = {{"gbk", QT_GBK},          {"gb18030", QT_GBK},     {"big5", QT_BIG5},       {"sjis", QT_SJIS},
                {"cp932", QT_SJIS},       {"utf8mb4", QT_NARROW},  {"utf8mb3", QT_NARROW},  {"utf8", QT_NARROW},
                {"latin1", QT_BLANK_A0},  {"binary", QT_NARROW},   {"ascii", QT_NARROW},    {"latin2", QT_BLANK_A0},
                {"latin5", QT_BLANK_A0},  {"latin7", QT_BLANK_A0}, {"cp1250", QT_BLANK_A0}, {"cp1251", QT_NARROW},
                {"cp1256", QT_NARROW},    {"cp1257", QT_NARROW},   {"cp850", QT_NARROW},    {"cp852", QT_BLANK_FF},
                {"cp866", QT_BLANK_FF},   {"greek", QT_BLANK_A0},  {"hebrew", QT_BLANK_A0}, {"koi8r", QT_NARROW},
                {"koi8u", QT_NARROW},     {"euckr", QT_NARROW},    {"gb2312", QT_NARROW},   {"ujis", QT_NARROW},
                {"eucjpms", QT_NARROW},   {"tis620", QT_NARROW},   {"dec8", QT_BLANK_A0},   {"hp8", QT_NARROW},
                {"macroman", QT_NARROW},  {"macce", QT_NARROW},    {"swe7", QT_NARROW},     {"armscii8", QT_BLANK_A0},
                {"geostd8", QT_BLANK_A0}, {"keybcs2", QT_BLANK_FF}};

/* Returns enum qt_charset of a charset name, or -1 if not every server knows the name. Source: "Supported Character
 * Sets and Collations" in the manuals of MySQL and MariaDB. */
static int charset_of_name(const struct qt_token *t)
{
    for (size_t i = 0; i < sizeof CHARSETS / sizeof *CHARSETS; i++)
        if (qt_name_is(t, CHARSETS[i].name))
            return CHARSETS[i].charset;
    return -1;
}

/* Returns enum qt_charset of a collation's number, or -1 for an unknown number. MariaDB adds 1024 to the number of a
 * collation without padding. Source: the manuals of MySQL and MariaDB. */
static int charset_of_collation(int64_t collation)
{
    static const uint16_t wide[][2] = {{1, QT_BIG5},  {84, QT_BIG5}, {13, QT_SJIS}, {88, QT_SJIS},
                                       {95, QT_SJIS}, {96, QT_SJIS}, {28, QT_GBK},  {87, QT_GBK},
                                       {248, QT_GBK}, {249, QT_GBK}, {250, QT_GBK}};
    static const uint8_t blank_a0[] = {3,  69, 5,  8,  15, 31, 47, 48, 49, 94, 2,  9,  21, 27, 77, 16, 71,
                                       25, 70, 26, 34, 44, 66, 99, 30, 78, 32, 64, 20, 41, 42, 79, 92, 93};
    static const uint8_t blank_ff[] = {36, 68, 37, 73, 40, 81};
    int64_t plain = collation / 1024 == 1 ? collation % 1024 : collation; /* MariaDB's collation without padding */
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (plain == wide[i][0])
            return wide[i][1];
    if (plain > 0 && plain < 256 && memchr(blank_a0, (int)plain, sizeof blank_a0) != NULL)
        return QT_BLANK_A0;
    if (plain > 0 && plain < 256 && memchr(blank_ff, (int)plain, sizeof blank_ff) != NULL)
        return QT_BLANK_FF;
    return collation > 0 && collation < IN_EVERY_SERVER ? QT_NARROW : -1;
}

static const char *const ANSI[] = {"ansi_quotes", "ansi", "postgresql", "oracle", "mssql", "db2", "maxdb", NULL};

static const char *const OTHER_MODES[] = {"real_as_float",
                                          "pipes_as_concat",
                                          "ignore_space",
                                          "not_used",
                                          "ignore_bad_table_options",
                                          "only_full_group_by",
                                          "no_unsigned_subtraction",
                                          "no_dir_in_create",
                                          "no_key_options",
                                          "no_table_options",
                                          "no_field_options",
                                          "mysql323",
                                          "mysql40",
                                          "no_auto_value_on_zero",
                                          "strict_trans_tables",
                                          "strict_all_tables",
                                          "no_zero_in_date",
                                          "no_zero_date",
                                          "allow_invalid_dates",
                                          "invalid_dates",
                                          "error_for_division_by_zero",
                                          "traditional",
                                          "no_auto_create_user",
                                          "high_not_precedence",
                                          "no_engine_substitution",
                                          "pad_char_to_full_length",
                                          "empty_string_is_null",
                                          "simultaneous_assignment",
                                          "time_round_fractional",
                                          "time_truncate_fractional",
                                          NULL};

/* ---- one SET ---- */

struct follower {
    struct qt_lexer lexer;
    struct qt_token t; /* current token */
    struct qt_session_mode *mode;
    uint8_t sure;      /* the text was certainly executed */
    uint8_t doubtful;  /* inside a comment that only some servers execute */
    uint8_t believed;  /* the current assignment was certainly made */
    uint8_t global;    /* inside SET GLOBAL a, b */
    uint8_t sets;      /* the text has a SET */
    size_t statements; /* number of statements so far */
};

/* Parses the digits of a number or of a comment's version. Returns -1 for other characters or too many digits. */
static int64_t digits(const char *p, const char *end)
{
    int64_t value = 0;
    if (p == end || end - p > 18)
        return -1;
    for (; p < end; p++) {
        if (*p < '0' || *p > '9')
            return -1;
        value = value * 10 + (*p - '0');
    }
    return value;
}

static int is_word(const struct qt_token *t, const char *name)
{
    return (t->kind == QT_T_WORD || t->kind == QT_T_QUOTED) && qt_name_is(t, name);
}

/* Moves to the next token outside comments and hints. */
static void next(struct follower *f)
{
    for (;;) {
        qt_lex(&f->lexer, &f->t);
        if (f->t.kind == QT_T_EXECUTABLE) {
            int plain = f->lexer.in_executable == QT_COMMENT_EXECUTED && f->t.len == 3;
            int64_t version = plain ? 0 : digits(f->t.p + 3, f->t.p + f->t.len);
            f->doubtful = version < 0 || version > NEWEST_EVERYWHERE;
        } else if (f->t.kind == QT_T_COMMENT_END) {
            f->doubtful = 0;
        } else if (f->t.kind != QT_T_HINT) {
            return;
        }
    }
}

static int ends_value(const struct follower *f)
{
    return f->t.kind == QT_T_COMMA || f->t.kind == QT_T_SEMICOLON || f->t.kind == QT_T_END;
}

static void skip_value(struct follower *f)
{
    size_t depth = 0;
    for (; f->t.kind != QT_T_END && f->t.kind != QT_T_SEMICOLON && (depth > 0 || f->t.kind != QT_T_COMMA); next(f)) {
        depth += f->t.kind == QT_T_OPEN;
        depth -= f->t.kind == QT_T_CLOSE && depth > 0;
    }
}

static void set_charset(struct follower *f, int charset)
{
    f->mode->charset = charset >= 0 ? (uint8_t)charset : QT_NARROW;
    if (charset >= 0 && f->believed)
        f->mode->known |= QT_KNOWS_CHARSET;
    else
        f->mode->known &= (uint8_t)~QT_KNOWS_CHARSET;
}

static void set_reading(struct follower *f, uint8_t reading, int known)
{
    const uint8_t both = QT_READ_NO_BACKSLASH | QT_READ_ANSI;
    f->mode->reading = reading;
    f->mode->known = known && f->believed ? f->mode->known | both : f->mode->known & (uint8_t)~both;
}

/* Parses the value of a charset variable. */
static void take_charset(struct follower *f)
{
    struct qt_token value = f->t;
    int charset = -1, global = f->global;
    if (value.kind == QT_T_NUMBER) {
        charset = charset_of_collation(digits(value.p, value.p + value.len));
    } else if (value.kind == QT_T_WORD || value.kind == QT_T_QUOTED || value.kind == QT_T_STRING) {
        charset = charset_of_name(&value);
    }
    next(f);
    if (is_word(&f->t, "collate")) {
        next(f);
        next(f);
    }
    if (!ends_value(f))
        charset = -1;
    skip_value(f);
    if (!global)
        set_charset(f, charset);
}

/* Parses a list of modes, such as 'ANSI_QUOTES,STRICT_ALL_TABLES', and adds them to `reading`. Returns 0 if a mode is
 * unknown. */
static int take_modes(const struct qt_token *t, uint8_t *reading)
{
    const char *p = t->p, *end = t->p + t->len;
    int known = 1;
    if (t->kind != QT_T_WORD) {
        known = t->len > 1 && (*p == '\'' || *p == '"' || *p == '`') && end[-1] == *p;
        p++;
        end--;
    }
    while (p < end) {
        const char *comma = memchr(p, ',', (size_t)(end - p)), *to = comma != NULL ? comma : end;
        struct qt_token name = {.kind = QT_T_WORD, .p = p, .len = (size_t)(to - p)};
        if (qt_name_is(&name, "no_backslash_escapes"))
            *reading |= QT_READ_NO_BACKSLASH;
        else if (qt_name_is_any(&name, ANSI))
            *reading |= QT_READ_ANSI;
        else
            known &= name.len == 0 || qt_name_is_any(&name, OTHER_MODES);
        p = to + 1;
    }
    return known;
}

/* Converts the bits of sql_mode to QT_READ_*. Uses only bits that MySQL and MariaDB share: ANSI_QUOTES, the modes that
 * include it, and NO_BACKSLASH_ESCAPES. */
static uint8_t reading_of(int64_t bits)
{
    const int64_t ansi = 4 | 256 | 512 | 1024 | 2048 | 4096 | 1 << 18, no_backslash = 1 << 20;
    return (uint8_t)((bits & ansi ? QT_READ_ANSI : 0) | (bits & no_backslash ? QT_READ_NO_BACKSLASH : 0));
}

/* Parses @@sql_mode or @@session.sql_mode. Returns 0 for any other text. */
static int is_own_mode(struct follower *f)
{
    if (f->t.kind != QT_T_SYSTEM)
        return 0;
    next(f);
    if (is_word(&f->t, "session") || is_word(&f->t, "local")) {
        next(f);
        if (f->t.kind != QT_T_DOT)
            return 0;
        next(f);
    }
    int is = is_word(&f->t, "sql_mode");
    next(f);
    return is;
}

/* Parses the arguments of CONCAT: (@@sql_mode, ',ANSI_QUOTES'). Returns 0 if a mode is unknown. */
static int take_concat(struct follower *f, uint8_t *reading, int *adds)
{
    int known = f->t.kind == QT_T_OPEN;
    for (next(f); known && f->t.kind != QT_T_END; next(f)) {
        if (f->t.kind == QT_T_STRING) {
            known = take_modes(&f->t, reading);
            next(f);
        } else {
            known = is_own_mode(f);
            *adds |= known;
        }
        if (f->t.kind == QT_T_CLOSE) {
            next(f);
            return known;
        }
        known &= f->t.kind == QT_T_COMMA;
    }
    return 0;
}

/* Parses the value of sql_mode. */
static void take_mode(struct follower *f)
{
    struct qt_session_mode before = *f->mode;
    uint8_t reading = 0;
    int known = 0, global = f->global, adds = 0;
    if (f->t.kind == QT_T_NUMBER) {
        int64_t bits = digits(f->t.p, f->t.p + f->t.len);
        known = bits >= 0;
        reading = known ? reading_of(bits) : 0;
        next(f);
    } else if (is_word(&f->t, "concat")) {
        next(f);
        known = take_concat(f, &reading, &adds);
    } else if (f->t.kind == QT_T_STRING || f->t.kind == QT_T_QUOTED ||
               (f->t.kind == QT_T_WORD && !is_word(&f->t, "default"))) {
        known = take_modes(&f->t, &reading);
        next(f);
    } else if (f->t.kind == QT_T_SYSTEM) {
        known = adds = is_own_mode(f);
    } else if (f->t.kind == QT_T_WORD) { /* the value DEFAULT */
        before.reading = 0;
    }
    known &= ends_value(f);
    skip_value(f);
    if (global)
        return;
    set_reading(f, (uint8_t)(reading | (adds || !known ? before.reading : 0)), known);
    if (adds && known) /* modes that CONCAT did not add keep their previous state */
        f->mode->known &= before.known | reading | QT_KNOWS_CHARSET;
}

/* Parses one assignment from its first token up to a comma or the statement's end. */
static void take_assignment(struct follower *f)
{
    int one_global = 0, system = f->t.kind == QT_T_SYSTEM, outer = f->global;
    f->believed = f->sure && !f->doubtful;
    if (system)
        next(f);
    int global = is_word(&f->t, "global") || is_word(&f->t, "persist") || is_word(&f->t, "persist_only");
    if (global || is_word(&f->t, "session") || is_word(&f->t, "local")) {
        next(f);
        if (system && f->t.kind == QT_T_DOT)
            next(f);
        one_global = system && global;
        f->global = (uint8_t)global;
    } else if (system) {
        f->global = 0;
    }
    struct qt_token name = f->t;
    if (!system && (is_word(&name, "names") || is_word(&name, "charset"))) {
        next(f);
        if (f->t.kind != QT_T_OPERATOR)
            take_charset(f);
    } else if (!system && is_word(&name, "character")) {
        next(f);
        next(f);
        take_charset(f);
    } else if (is_word(&name, "sql_mode") || is_word(&name, "character_set_client")) {
        next(f);
        if (f->t.kind == QT_T_OPERATOR)
            next(f);
        if (is_word(&name, "sql_mode"))
            take_mode(f);
        else
            take_charset(f);
    }
    skip_value(f);
    if (one_global || system)
        f->global = (uint8_t)outer;
}

/* ---- a text of several statements ---- */

static void skip_statement(struct follower *f)
{
    while (f->t.kind != QT_T_SEMICOLON && f->t.kind != QT_T_END)
        next(f);
}

/* Returns 1 if the possible readings of the session differ for this text. The effect of its SET is then unknown. */
static int is_ambiguous(const struct follower *f, uint8_t known)
{
    return (f->lexer.saw & QT_SAW_BACKSLASH && !(known & QT_READ_NO_BACKSLASH)) ||
           (f->lexer.saw & (QT_SAW_WIDE | QT_SAW_BLANK) && !(known & QT_KNOWS_CHARSET));
}

/* Parses one statement from its first word. Returns 0 if the rest of the text must not be read. */
static int take_statement(struct follower *f)
{
    int first = f->t.keyword;
    f->statements++;
    if (f->t.kind == QT_T_WORD && first == QT_K_set) {
        f->sets = 1;
        f->global = 0;
        next(f);
        if (f->t.kind == QT_T_WORD && f->t.keyword == QT_K_statement) { /* affects only its own statement */
            skip_statement(f);
            return 1;
        }
        for (take_assignment(f); f->t.kind == QT_T_COMMA;) {
            next(f);
            take_assignment(f);
        }
    } else if (first == QT_K_select || first == QT_K_insert || first == QT_K_update || first == QT_K_delete ||
               first == QT_K_replace || first == QT_K_use || first == QT_K_commit || first == QT_K_start ||
               first == QT_K_call) {
        skip_statement(f);
    } else { /* EXECUTE, a block, or a possible routine body */
        return 0;
    }
    return 1;
}

void qt_session_mode_follow(struct qt_normalizer *n, struct qt_session_mode *mode, const char *sql, size_t len,
                            int32_t outcome)
{
    struct follower f = {.mode = mode, .sure = outcome > 0};
    struct qt_session_mode before = *mode;
    int more = 1;
    qt_lexer_init(&f.lexer, &n->keywords, sql, len);
    f.lexer.charset = mode->charset;
    f.lexer.reading = mode->reading;
    for (next(&f); f.t.kind != QT_T_END && more; next(&f)) {
        if (f.t.kind == QT_T_SEMICOLON)
            continue;
        more = take_statement(&f);
        f.lexer.charset = mode->charset; /* read the next statement in the new mode */
        f.lexer.reading = mode->reading;
    }
    int failed_alone = outcome < 0 && f.statements == 1 && more; /* the failed statement set nothing */
    if (outcome < 0)
        *mode = before;
    if (!failed_alone && (outcome < 0 || !more || !f.sets || is_ambiguous(&f, before.known)))
        mode->known = 0;
}

void qt_session_mode_login(struct qt_session_mode *m, int64_t collation, const char *server_version)
{
    int charset = charset_of_collation(collation);
    int is_new = server_version != NULL && atoi(server_version) >= 8 && strstr(server_version, "MariaDB") == NULL;
    /* A server that does not know the collation number uses its own default. */
    int known = collation > 0 && collation < (is_new ? 400 : IN_EVERY_SERVER);
    m->known = known ? m->known | QT_KNOWS_CHARSET : m->known & (uint8_t)~QT_KNOWS_CHARSET;
    m->charset = (uint8_t)(charset > 0 ? charset : QT_NARROW);
}

/* Returns 1 if all readings of the text are equal. */
static int is_plain(const char *p, size_t len)
{
    return len == 0 || (memchr(p, '\\', len) == NULL && memchr(p, '"', len) == NULL && !qt_holds_high_blank(p, len) &&
                        (memchr(p, '`', len) == NULL || !qt_holds_wide(p, len)));
}

static int gives(struct qt_normalizer *n, struct qt_session_mode mode, uint64_t digest, const char *sql, size_t len)
{
    struct qt_statement what;
    return qt_normalize(n, &mode, sql, len, &what, NULL) == QT_OK && what.digest == digest;
}

/* Finds the session mode of a statement on a tape. A tape has no session modes, but it has each statement's digest in
 * the session's reading. The first reading that gives this digest is used. */
void qt_session_mode_of_digest(struct qt_normalizer *n, uint64_t digest, const char *sql, size_t len,
                               struct qt_session_mode *mode)
{
    struct qt_session_mode way[QT_MAX_WAYS];
    *mode = (struct qt_session_mode){0};
    if (is_plain(sql, len) || gives(n, *mode, digest, sql, len))
        return;
    size_t ways = qt_other_ways(*mode, way);
    for (size_t i = 0; i < ways; i++)
        if (gives(n, way[i], digest, sql, len)) {
            *mode = way[i];
            return;
        }
}
