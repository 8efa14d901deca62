/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a text once, token by token, and finds the properties of its statements.
 *
 *   SELECT now(), a FROM t WHERE b IN (SELECT c FROM u WHERE d < now() ORDER BY e LIMIT 3) ORDER BY f
 *          │               └ from here on words are in a condition ──────────────────────────────────
 *          └ not here                  └ a level of its own: its LIMIT is sorted ─────────┘
 *
 * Each pair of brackets is a level. In a level with a SELECT, a condition begins at FROM, WHERE, HAVING or UNION. The
 * condition includes the inner levels.
 *
 * In UPDATE, DELETE and other statements every word is in a condition. In an INSERT with VALUES no word is. */
#include "sql/properties.h"

#include "querytape_names.h"
#include "sql/actions.h"
#include "sql/names.h"

enum { LEVELS = 64 };

#define ASKS_SESSION (QT_ACTION_SESSION_DEPENDENT | QT_ACTION_ASKS_SERVER)

struct level {
    uint8_t query;     /* a SELECT was read */
    uint8_t condition; /* the following words decide which rows are returned or changed */
    uint8_t ordered, limited;
    uint8_t at_random; /* has ORDER BY RAND() */
    uint8_t concat;    /* inside GROUP_CONCAT */
    uint8_t aggregate; /* COUNT() or another aggregate was read */
    uint8_t many;      /* GROUP BY, OVER or UNION: an aggregate may give several rows */
    uint8_t tables;    /* list of tables: a comma joins another table */
};

struct reader {
    struct qt_lexer lexer;
    struct qt_token t, last;               /* the current and the previous token */
    uint64_t found;                        /* properties of the whole text */
    size_t statements, tokens, ordered_at; /* ordered_at: token number of ORDER BY */
    size_t showing;                        /* number of SHOW, EXPLAIN and HELP statements */

    /* State of the current statement. */
    struct level levels[LEVELS];
    size_t depth, words;
    int first, verb;      /* first word; first verb outside brackets, such as after WITH */
    int previous, before; /* keywords of the last two words; QT_K_NONE for other words */
    uint8_t first_in_brackets;
    uint8_t defines;                    /* enum qt_defines */
    uint8_t prefixed;                   /* SET STATEMENT ... FOR precedes the statement */
    uint8_t selects;                    /* a SELECT or TABLE was read */
    uint8_t not_plain;                  /* IGNORE, WITH, ON DUPLICATE KEY: an INSERT adds rows conditionally */
    uint8_t duplicates;                 /* ON DUPLICATE KEY */
    uint8_t returns;                    /* RETURNING */
    uint8_t system;                     /* @@ or @@session. was read */
    uint8_t global;                     /* SET GLOBAL, SET PERSIST */
    uint8_t id_step;                    /* the last word was auto_increment_increment or _offset */
    uint32_t asked, asked_in_condition; /* QT_ACTION_* */
};

static struct level *at(struct reader *r) { return &r->levels[r->depth < LEVELS ? r->depth : LEVELS - 1]; }

static void ask(struct reader *r, uint32_t what)
{
    r->asked |= what;
    if (at(r)->condition)
        r->asked_in_condition |= what;
}

static void begin_statement(struct reader *r)
{
    r->levels[0] = (struct level){0};
    r->depth = r->words = 0;
    r->first = r->verb = r->previous = r->before = QT_K_NONE;
    r->defines = QT_DEFINES_UNKNOWN;
    r->first_in_brackets = r->prefixed = r->selects = r->not_plain = r->duplicates = r->returns = 0;
    r->system = r->global = r->id_step = r->asked = r->asked_in_condition = 0;
}

static uint64_t in_condition(const struct reader *r)
{
    uint32_t asked = r->asked;
    if (r->first == QT_K_insert && !r->selects && !r->not_plain)
        asked = 0;
    else if (r->first == QT_K_select && !r->first_in_brackets)
        asked = r->asked_in_condition;
    return (asked & QT_ACTION_ASKS_TIME ? QT_PROPERTY_TIME_IN_CONDITION : 0) |
           (asked & QT_ACTION_RANDOM ? QT_PROPERTY_CHANCE_IN_CONDITION : 0) |
           (asked & ASKS_SESSION ? QT_PROPERTY_SESSION_IN_CONDITION : 0);
}

static uint64_t rows_added(const struct reader *r)
{
    int does = r->first == QT_K_analyze ? r->verb : r->first; /* MariaDB's ANALYZE INSERT inserts */
    int loads = r->first == QT_K_load && r->verb == QT_K_load, adds = loads;
    uint64_t found = 0;

    adds |= does == QT_K_insert || does == QT_K_replace;
    if (does != QT_K_insert || r->selects || r->duplicates)
        found |= QT_PROPERTY_ASKS_ROWS;
    if (!adds)
        return found;
    return found | QT_PROPERTY_ADDS_ROWS | (loads || r->selects ? QT_PROPERTY_COPIES_ROWS : 0) |
           (loads || r->returns ? QT_PROPERTY_HIDES_IDS : 0);
}

static int is_verb(int k) { return (qt_keyword_flags[k] & QT_KW_VERB) != 0; }

/* Returns 1 if a LIMIT may choose among rows. An aggregate without GROUP BY gives only one row. */
static int chooses(const struct level *l) { return l->limited && (!l->aggregate || l->many); }

static void end_level(struct reader *r, const struct level *l)
{
    if (chooses(l) && !l->ordered)
        r->found |= QT_PROPERTY_LIMIT_INSIDE;
    if (l->concat && !l->ordered)
        r->found |= QT_PROPERTY_CONCAT_UNSORTED;
}

static int explains(const struct reader *r)
{
    return r->first == QT_K_explain || r->first == QT_K_describe || r->first == QT_K_desc;
}

static void end_statement(struct reader *r)
{
    const struct level *outside = &r->levels[0];

    while (r->depth > 0) { /* unclosed brackets */
        if (r->depth < LEVELS)
            end_level(r, at(r));
        r->depth--;
    }
    if (r->words == 0)
        return;
    r->statements++;
    r->found |= rows_added(r) | in_condition(r);
    if (r->asked & QT_ACTION_RANDOM)
        r->found |= QT_PROPERTY_CHANCE;
    if (outside->ordered)
        r->found |= outside->at_random ? QT_PROPERTY_ORDER_BY_RANDOM : QT_PROPERTY_ORDER_BY;
    if (chooses(outside))
        r->found |= QT_PROPERTY_LIMIT;
    r->showing += explains(r) || r->first == QT_K_show || r->first == QT_K_help;
    if (r->showing == r->statements)
        r->found |= QT_PROPERTY_SHOWS;
    else
        r->found &= ~(uint64_t)QT_PROPERTY_SHOWS;
    if (explains(r) &&
        (r->verb == QT_K_insert || r->verb == QT_K_update || r->verb == QT_K_delete || r->verb == QT_K_replace))
        r->found |= QT_PROPERTY_EXPLAINS_WRITE;
    if (r->first == QT_K_call)
        r->found |= QT_PROPERTY_CALLS_PROCEDURE;
    if (r->statements > 1 || r->prefixed || !(is_verb(r->first) || r->first == QT_K_with))
        r->found &= ~(uint64_t)QT_PROPERTY_EXPLAINABLE;
    else
        r->found |= QT_PROPERTY_EXPLAINABLE;
}

/* Handles a function call. The last token is the function's name. */
static void call(struct reader *r)
{
    int k = r->last.kind == QT_T_WORD || r->last.kind == QT_T_QUOTED ? r->last.keyword : QT_K_NONE;

    if (k == QT_K_sysdate)
        r->found |= QT_PROPERTY_SYSDATE;
    else if (k == QT_K_get_lock)
        r->found |= QT_PROPERTY_TAKES_USER_LOCK;
    else if (k == QT_K_release_lock || k == QT_K_release_all_locks)
        r->found |= QT_PROPERTY_FREES_USER_LOCK;
    else if (k == QT_K_is_used_lock || k == QT_K_is_free_lock)
        r->found |= QT_PROPERTY_LOOKS_AT_USER_LOCK;
    if (k == QT_K_rand && r->tokens == r->ordered_at + 2 && r->depth == 0 && r->first == QT_K_select)
        at(r)->at_random = 1;
    else
        ask(r, k == QT_K_unix_timestamp ? QT_ACTION_ASKS_TIME : qt_action_of_call(k));
}

/* Handles the second word of XA, DROP, LOAD and SET. */
static void second_word(struct reader *r, int k)
{
    if (r->first == QT_K_xa && k == QT_K_prepare)
        r->found |= QT_PROPERTY_PREPARES_XA;
    else if (r->first == QT_K_xa && (k == QT_K_commit || k == QT_K_rollback))
        r->found |= QT_PROPERTY_ENDS_XA;
    else if (r->first == QT_K_drop && k == QT_K_prepare)
        r->found |= QT_PROPERTY_PREPARES_TEXT;
    else if (r->first == QT_K_load && (qt_name_is(&r->t, "data") || qt_name_is(&r->t, "xml")))
        r->verb = QT_K_load;
    else if (r->first == QT_K_set && k == QT_K_statement)
        r->prefixed = 1;
}

static void first_word(struct reader *r, int k)
{
    r->first = k;
    r->first_in_brackets = r->depth > 0;
    if (k == QT_K_prepare || k == QT_K_deallocate)
        r->found |= QT_PROPERTY_PREPARES_TEXT;
    else if (qt_name_is(&r->t, "use"))
        r->found |= QT_PROPERTY_CHANGES_SCHEMA;
}

/* Handles BY of ORDER BY and GROUP BY. The keyword table does not contain `order` and `group`. */
static void by(struct reader *r)
{
    at(r)->tables = 0;
    if (r->last.kind != QT_T_WORD || r->before == QT_K_for) /* not a sort: USE INDEX FOR ORDER BY (i) */
        return;
    if (qt_name_is(&r->last, "order")) {
        at(r)->ordered = 1;
        r->ordered_at = r->tokens;
        r->found |= QT_PROPERTY_SORTS;
    } else if (qt_name_is(&r->last, "group")) {
        r->found |= QT_PROPERTY_GROUP_BY | QT_PROPERTY_SORTS;
        at(r)->many = 1;
    }
}

/* Returns 1 if a statement begins after this word: SET STATEMENT ... FOR, IF ... THEN and other blocks of MariaDB. */
static int leads(const struct reader *r, int k)
{
    if (r->depth > 0)
        return 0;
    if (r->first == QT_K_set)
        return r->prefixed && k == QT_K_for;
    if (r->first == QT_K_begin)
        return k == QT_K_atomic;
    if (r->first == QT_K_loop || r->first == QT_K_repeat || r->first == QT_K_else)
        return 1;
    return (r->first == QT_K_if || r->first == QT_K_case || r->first == QT_K_while || r->first == QT_K_for ||
            r->first == QT_K_elseif) &&
           (k == QT_K_then || k == QT_K_do);
}

static void keyword(struct reader *r, int k)
{
    switch (k) {
    case QT_K_select:
        at(r)->query = r->selects = 1;
        at(r)->tables = 0;
        break;
    case QT_K_update:
        at(r)->tables = r->depth == 0 && r->verb == QT_K_update;
        break;
    case QT_K_using:
        at(r)->tables = r->depth == 0 && r->verb == QT_K_delete;
        break;
    case QT_K_join: /* except USE INDEX FOR JOIN (i) */
        r->found |= r->previous != QT_K_for ? QT_PROPERTY_JOINS : 0;
        break;
    case QT_K_table:
        r->selects = 1;
        r->found |= r->words == 0 ? QT_PROPERTY_SELECTS_ALL : 0;
        break;
    case QT_K_from:
    case QT_K_where:
    case QT_K_having:
    case QT_K_union:
    case QT_K_intersect:
    case QT_K_except:
        at(r)->condition |= at(r)->query;
        at(r)->many |= k == QT_K_union || k == QT_K_intersect || k == QT_K_except;
        at(r)->tables = k == QT_K_from && (at(r)->query || (r->depth == 0 && r->verb == QT_K_delete));
        break;
    case QT_K_set:
    case QT_K_limit:
    case QT_K_into:
    case QT_K_share:
        at(r)->tables = 0;
        break;
    case QT_K_with:
        r->not_plain = 1;
        break;
    case QT_K_returning:
        r->returns = 1;
        break;
    case QT_K_by:
        by(r);
        break;
    case QT_K_next:
        at(r)->limited |= r->previous == QT_K_fetch;
        break;
    case QT_K_for:
        if (r->previous == QT_K_value && (r->before == QT_K_next || r->before == QT_K_previous))
            ask(r, QT_ACTION_SESSION_DEPENDENT);
        break;
    default:
        ask(r, qt_action_of_word(k));
        break;
    }
}

/* Handles SET of auto_increment_increment and auto_increment_offset, the steps of generated ids, and the scope of the
 * SET. */
static void id_steps(struct reader *r, int k)
{
    if (k == QT_K_global && r->id_step && r->system)
        r->found |= QT_PROPERTY_SETS_ID_STEPS_BACK;
    else if (k == QT_K_global || k == QT_K_persist || k == QT_K_persist_only)
        r->global = 1;
    else if (k == QT_K_session || k == QT_K_local)
        r->global = 0;
    else if (k == QT_K_default && r->id_step)
        r->found |= QT_PROPERTY_SETS_ID_STEPS_BACK;
    r->id_step = (uint8_t)(qt_name_is(&r->t, "auto_increment_increment") || qt_name_is(&r->t, "auto_increment_offset"));
    if (r->id_step && r->global)
        r->found |= QT_PROPERTY_SETS_ID_STEPS_GLOBAL;
}

static void word(struct reader *r)
{
    int k = r->t.kind == QT_T_WORD ? r->t.keyword : QT_K_NONE;

    if (r->words == 0)
        first_word(r, k);
    else if (r->words == 1)
        second_word(r, k);
    if (r->verb == QT_K_NONE && r->depth == 0 && is_verb(k))
        r->verb = k;
    if (r->system && qt_name_is(&r->t, "timestamp"))
        ask(r, QT_ACTION_ASKS_TIME);
    if (r->first == QT_K_set)
        id_steps(r, k);
    if (r->defines == QT_DEFINES_UNKNOWN && r->depth == 0)
        r->defines = qt_defined_by(r->first, k);
    if (k == QT_K_NONE && r->t.kind == QT_T_WORD) {
        at(r)->limited |= r->previous == QT_K_fetch && qt_name_is(&r->t, "first");
        r->duplicates |= r->previous == QT_K_on && qt_name_is(&r->t, "duplicate");
        r->not_plain |= r->duplicates || (r->last.kind != QT_T_DOT && qt_name_is(&r->t, "ignore"));
        r->found |= at(r)->tables && qt_name_is(&r->t, "straight_join") ? QT_PROPERTY_JOINS : 0;
        if (qt_name_is(&r->t, "window"))
            at(r)->tables = 0;
    }
    at(r)->many |= r->t.kind == QT_T_WORD && qt_name_is(&r->t, "over");
    keyword(r, k);
    r->system = r->system &&
                (qt_name_is(&r->t, "session") || qt_name_is(&r->t, "local")); /* words after @@ have no keyword */
    r->words++;
    if (leads(r, k)) {
        r->words = 0;
        r->verb = QT_K_NONE;
        r->selects = r->not_plain = r->duplicates = r->returns = 0;
    }
    r->before = r->previous;
    r->previous = k;
}

static const char *const AGGREGATES[] = {
    "count",          "sum",         "avg",     "min",      "max",      "group_concat",
    "any_value",      "bit_and",     "bit_or",  "bit_xor",  "std",      "stddev",
    "stddev_pop",     "stddev_samp", "var_pop", "var_samp", "variance", "json_arrayagg",
    "json_objectagg", "st_collect",  NULL};

/* Marks the innermost query around an aggregate. Brackets between the query and the aggregate do not matter. */
static void aggregate(struct reader *r)
{
    for (size_t depth = r->depth < LEVELS ? r->depth : LEVELS - 1;; depth--) {
        if (r->levels[depth].query)
            r->levels[depth].aggregate = 1;
        if (r->levels[depth].query || depth == 0)
            return;
    }
}

/* Returns 1 if a bracket contains tables: FROM (a, b), FROM t1 JOIN (a, b). */
static int holds_tables(struct reader *r)
{
    int k = r->last.kind == QT_T_WORD ? r->last.keyword : QT_K_NONE;
    return at(r)->tables && (r->last.kind == QT_T_COMMA || r->last.kind == QT_T_OPEN || k == QT_K_from ||
                             k == QT_K_update || (k == QT_K_join && r->before != QT_K_for));
}

static void open(struct reader *r)
{
    struct level inside = {.condition = at(r)->condition, .tables = (uint8_t)holds_tables(r)};
    if (r->verb == QT_K_NONE && r->depth == 0 && explains(r) && !r->not_plain)
        r->verb = QT_K_select; /* a query in brackets: EXPLAIN (SELECT ...) */
    inside.concat = r->last.kind == QT_T_WORD && qt_name_is(&r->last, "group_concat");
    if (r->last.kind == QT_T_WORD && qt_name_is_any(&r->last, AGGREGATES))
        aggregate(r);
    call(r);
    r->depth++;
    *at(r) = inside;
    r->previous = QT_K_NONE;
}

static void close(struct reader *r)
{
    if (r->depth == 0)
        return;
    if (r->depth < LEVELS)
        end_level(r, at(r));
    r->depth--;
    r->previous = QT_K_NONE;
}

/* Returns 1 if a star after the last token means all columns. In other places a star is a multiplication. */
static int is_before_all(const struct reader *r)
{
    static const char *const words[] = {"select",
                                        "returning",
                                        "all",
                                        "distinct",
                                        "distinctrow",
                                        "high_priority",
                                        "straight_join",
                                        "sql_small_result",
                                        "sql_big_result",
                                        "sql_buffer_result",
                                        "sql_cache",
                                        "sql_calc_found_rows",
                                        "sql_no_cache",
                                        NULL};
    return r->last.kind == QT_T_DOT || (r->last.kind == QT_T_WORD && qt_name_is_any(&r->last, words));
}

static void token(struct reader *r)
{
    switch (r->t.kind) {
    case QT_T_WORD:
    case QT_T_QUOTED:
        word(r);
        break;
    case QT_T_OPEN:
        open(r);
        break;
    case QT_T_CLOSE:
        close(r);
        break;
    case QT_T_SEMICOLON: /* semicolons in a routine's body do not end the statement */
        if (r->defines == QT_DEFINES_ROUTINE)
            break;
        end_statement(r);
        begin_statement(r);
        break;
    case QT_T_SYSTEM:
        r->system = 1;
        ask(r, QT_ACTION_SESSION_DEPENDENT);
        break;
    case QT_T_VARIABLE:
        ask(r, QT_ACTION_SESSION_DEPENDENT);
        break;
    case QT_T_NUMBER:
    case QT_T_PARAM:
        at(r)->limited |= r->previous == QT_K_limit;
        r->previous = QT_K_NONE;
        break;
    case QT_T_COMMA:
        r->found |= at(r)->tables ? QT_PROPERTY_JOINS : 0;
        r->previous = QT_K_NONE;
        r->id_step = 0;
        break;
    case QT_T_OPERATOR:
        if (*r->t.p == '*' && is_before_all(r))
            r->found |= QT_PROPERTY_SELECTS_ALL;
        r->previous = QT_K_NONE;
        break;
    default:
        r->previous = r->t.kind == QT_T_DOT ? r->previous : QT_K_NONE;
        break;
    }
}

/* Returns the properties in one reading of the text's comments. Adds a QT_READ_* bit to `saw` for each reading that may
 * differ. */
static uint64_t read_once(const struct qt_lexer *lexer, unsigned comments, unsigned *saw)
{
    struct reader r = {.lexer = *lexer};
    int in_hint = 0;

    r.lexer.comments = (uint8_t)comments;
    begin_statement(&r);
    for (qt_lex(&r.lexer, &r.t); r.t.kind != QT_T_END; qt_lex(&r.lexer, &r.t)) {
        int comment = r.t.kind == QT_T_EXECUTABLE || r.t.kind == QT_T_COMMENT_END;
        in_hint = r.t.kind == QT_T_HINT || (in_hint && r.t.kind != QT_T_COMMENT_END);
        if (comment || in_hint)
            continue;
        r.tokens++;
        token(&r);
        r.last = r.t;
    }
    end_statement(&r);
    *saw |= r.lexer.saw_comments;
    return r.found;
}

/* If only some servers execute a comment, the reading that executes it counts. QT_PROPERTY_EXPLAINS_WRITE is set if any
 * reading sets it. QT_PROPERTY_EXPLAINABLE must be set in every reading. */
uint64_t qt_properties_read(const struct qt_lexer *lexer)
{
    unsigned saw = 0;
    uint64_t found = read_once(lexer, 0, &saw);

    for (unsigned comments = 1; comments <= QT_READ_COMMENTS; comments++) {
        uint64_t other = (comments & ~saw) == 0 ? read_once(lexer, comments, &saw) : found;
        found |= other & QT_PROPERTY_EXPLAINS_WRITE;
        found &= other | ~(uint64_t)QT_PROPERTY_EXPLAINABLE;
    }
    return found;
}
