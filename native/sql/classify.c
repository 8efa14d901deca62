/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the input of statement_class.c from the tokens. A text of several statements counts as its most dangerous
 * statement. If there are two dangers, the danger with the smaller number in schemas/names.toml wins. */
#include "sql/classify.h"

#include <string.h>

#include "sql/actions.h"
#include "sql/named_dangers.h"
#include "sql/secrets.h"
#include "sql/statement_class.h"

void qt_classify_begin(struct qt_classifier *c)
{
    memset(c, 0, sizeof *c);
    c->klass = -1;
}

static void next_statement(struct qt_classifier *c)
{
    memset(c->words, 0, sizeof c->words);
    c->verb = c->previous = c->opened = 0;
    c->n_words = c->odd = c->left = c->system = c->scope = c->awaits = 0;
    if (c->defines != QT_DEFINES_ROUTINE)
        c->defines = QT_DEFINES_UNKNOWN;
    c->seen = c->does = 0;
    c->declares = 0;
    c->base = c->depth;
    c->cipher_depth = 0;
    c->lists = 0;
    c->into = c->told = 0;
}

void qt_classify_again(struct qt_classifier *c)
{
    c->depth = 0;
    c->compound = c->routine = c->in_hint = c->defines = 0;
    c->read_before |= c->actions;
    c->actions = 0;
    next_statement(c);
}

static void merge(struct qt_classifier *c, struct qt_statement_class v)
{
    static const uint8_t rank[] = {[QT_CLASS_READ] = 0,  [QT_CLASS_SESSION] = 1, [QT_CLASS_TRANSACTION] = 2,
                                   [QT_CLASS_WRITE] = 3, [QT_CLASS_DDL] = 4,     [QT_CLASS_ADMIN] = 5};
    if (c->klass < 0 || rank[v.klass] > rank[c->klass])
        c->klass = v.klass;
    if (v.danger != 0 && (c->danger == 0 || v.danger < c->danger))
        c->danger = v.danger;
    c->dangers |= v.danger != 0 ? 1u << v.danger : 0;
    c->classes |= v.klass != QT_CLASS_ADMIN || v.danger == 0 ? 1u << v.klass : 0;
}

void qt_classify_runs(struct qt_classifier *c, const struct qt_classifier *other)
{
    if (other->danger != 0 && (c->danger == 0 || other->danger < c->danger))
        c->danger = other->danger;
    c->dangers |= other->dangers;
    c->lifts_read_only |= other->lifts_read_only;
}

static void merge_dangers_seen(struct qt_classifier *c)
{
    static const struct {
        uint32_t seen;
        int danger;
    } each[] = {{QT_SEEN_LOAD_FILE, QT_DANGER_LOAD_DATA},
                {QT_SEEN_INTO_FILE, QT_DANGER_INTO_FILE},
                {QT_SEEN_UNSAFE, QT_DANGER_SET_SESSION_UNSAFE},
                {QT_SEEN_ACCOUNTS, QT_DANGER_ACCOUNTS},
                {QT_SEEN_ACTS_ON_REPLICATION, QT_DANGER_REPLICATION},
                {QT_SEEN_ACTS_ON_INSTANCE, QT_DANGER_INSTANCE}};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        if (c->seen & each[i].seen)
            merge(c, (struct qt_statement_class){QT_CLASS_READ, each[i].danger});
    c->lifts_read_only |= (c->seen & QT_SEEN_READ_WRITE) != 0;
}

static void end_statement(struct qt_classifier *c)
{
    if (c->n_words > 0 || c->odd) {
        struct qt_statement_class v = qt_statement_class_of(c);
        if (v.klass == QT_CLASS_READ && (c->seen & QT_SEEN_SEQUENCE))
            v.klass = QT_CLASS_WRITE;
        merge(c, v);
        merge_dangers_seen(c);
        qt_actions_end(c);
    }
    next_statement(c);
}

void qt_classify_drop(struct qt_classifier *c) { next_statement(c); }

void qt_classify_end(struct qt_classifier *c)
{
    end_statement(c);
    if (c->klass < 0)
        c->klass = QT_CLASS_SESSION; /* the text has only comments and does nothing */
    c->actions |= c->read_before;
}

/* Begins again, because the previous words only introduce another statement: SET STATEMENT ... FOR, IF ... THEN. */
static void restart(struct qt_classifier *c)
{
    uint32_t seen = c->seen & (QT_SEEN_UNSAFE | QT_SEEN_READ_WRITE);
    next_statement(c);
    c->seen = seen;
}

/* Handles words that matter anywhere in a statement. */
static void watched(struct qt_classifier *c, int k)
{
    int at_base = c->depth == c->base;
    switch (k) {
    case QT_K_outfile:
    case QT_K_dumpfile:
        c->seen |= c->previous == QT_K_into ? QT_SEEN_INTO_FILE : 0;
        break;
    case QT_K_value:
        c->seen |= c->previous == QT_K_next ? QT_SEEN_SEQUENCE : 0;
        break;
    case QT_K_write:
        if (c->previous == QT_K_read && (c->words[0] == QT_K_set || c->words[0] == QT_K_start))
            c->seen |= QT_SEEN_UNSAFE | QT_SEEN_READ_WRITE;
        break;
    case QT_K_soname:
        c->seen |= QT_SEEN_SONAME;
        break;
    case QT_K_analyze:
        c->seen |= c->verb == 0 && at_base ? QT_SEEN_ANALYZE : 0;
        break;
    case QT_K_global:
    case QT_K_persist:
    case QT_K_persist_only:
        if (c->left) {
            c->seen |= QT_SEEN_GLOBAL;
            c->scope = c->system ? QT_SCOPE_ONE_GLOBAL : QT_SCOPE_GLOBAL;
        }
        break;
    case QT_K_role:
        c->seen |= c->left && c->previous == QT_K_default ? QT_SEEN_ACCOUNTS : 0;
        break;
    case QT_K_authorization:
        c->seen |= c->left && c->previous == QT_K_session ? QT_SEEN_ACCOUNTS | QT_SEEN_READ_WRITE : 0;
        break;
    case QT_K_password:
        qt_secret_password(c);
        break;
    case QT_K_by:
    case QT_K_with:
    case QT_K_via:
        c->secret |= c->previous == QT_K_identified;
        break;
    default:
        qt_actions_word(c, k);
        break;
    }
}

/* Returns 1 if this word ends the introduction of another statement. The other statement then begins. */
static int leads_on(struct qt_classifier *c, int k)
{
    int at_base = c->depth == c->base;
    switch (k) {
    case QT_K_for:
        if (at_base && c->words[0] == QT_K_set && c->words[1] == QT_K_statement) {
            restart(c);
            return 1;
        }
        return 0;
    case QT_K_atomic:
        if (c->words[0] != QT_K_begin || c->previous != QT_K_not)
            return 0;
        c->compound = 1;
        break;
    case QT_K_then:
    case QT_K_else:
    case QT_K_do:
    case QT_K_loop:
    case QT_K_repeat:
    case QT_K_begin:
        if (!c->compound || !at_base)
            return 0;
        break;
    default:
        return 0;
    }
    end_statement(c);
    return 1;
}

static void first_word(struct qt_classifier *c, int k)
{
    c->base = c->depth;
    c->left = k == QT_K_set;
    if (c->sets_mode > 0 || k == QT_K_set || k == QT_K_execute)
        c->sets_mode = c->sets_mode > 0 ? 2 : 1;
    c->name.len = 0;
    if (k == QT_K_if || k == QT_K_while || k == QT_K_loop || k == QT_K_repeat || k == QT_K_case || k == QT_K_for)
        c->compound = 1;
    if (k == QT_K_create || k == QT_K_alter)
        c->routine = 1;
}

static void word(struct qt_classifier *c, const struct qt_token *t, uint8_t dotted)
{
    int k = t->kind == QT_T_WORD ? t->keyword : QT_K_NONE;
    c->dotted = dotted;
    qt_secret_named(c, t);
    c->word = t->p;
    c->word_len = t->len;
    if (c->n_words == 0 && !c->odd)
        first_word(c, k);
    else if (c->left)
        c->name = *t;
    if (c->n_words < QT_FIRST_WORDS) {
        c->words[c->n_words++] = (uint16_t)k;
        if (c->words[0] == QT_K_show)
            qt_actions_show(c, t);
    }
    qt_secret_clause(c, t, k);
    if (k != QT_K_NONE) {
        if (c->verb == 0 && (qt_keyword_flags[k] & QT_KW_VERB) && c->n_words > 1 && c->depth == c->base)
            c->verb = (uint16_t)k;
        if (qt_keyword_flags[k] & QT_KW_WATCH) {
            watched(c, k);
            c->dotted = QT_DOTTED_NO;
            if (leads_on(c, k))
                return;
        }
    }
    if (c->system)
        qt_actions_system(c, t);
    else if (c->left && (k == QT_K_session || k == QT_K_local))
        c->scope = QT_SCOPE_SESSION;
    c->previous = (uint16_t)t->keyword;
    c->dotted = QT_DOTTED_NO;
}

/* Handles a keyword that a parenthesis follows. Records the function if it affects the classification. */
static void call(struct qt_classifier *c)
{
    switch (c->previous) {
    case QT_K_load_file:
        c->seen |= QT_SEEN_LOAD_FILE;
        break;
    case QT_K_nextval:
    case QT_K_setval:
        c->seen |= QT_SEEN_SEQUENCE;
        break;
    default:
        qt_secret_call(c);
        break;
    }
    c->does |= qt_action_of_call(c->previous);
}

static void operator(struct qt_classifier *c, const struct qt_token *t, size_t name_len)
{
    if (name_len > 0 && (*t->p == '=' || *t->p == ':'))
        qt_secret_option(c, c->word, name_len, *t->p);
    if (c->left && (*t->p == '=' || *t->p == ':'))
        qt_assigned(c);
    /* PASSWORD = '...' and COMMENT = '...' mean the same as PASSWORD '...' and COMMENT '...' */
    if (*t->p != '=' || (c->previous != QT_K_password && c->previous != QT_K_connection && c->previous != QT_K_comment))
        c->previous = QT_K_NONE;
    c->odd |= c->n_words == 0;
}

static void semicolon(struct qt_classifier *c)
{
    end_statement(c);
    c->depth = c->base = 0;
}

/* Handles a call of a function whose name is not a keyword. */
static void call_named(struct qt_classifier *c, const char *name, size_t len)
{
    struct qt_token t = {.kind = QT_T_WORD, .p = name, .len = len};
    int danger = qt_server_function(&t);
    if (danger == QT_DANGER_REPLICATION)
        c->seen |= QT_SEEN_ACTS_ON_REPLICATION;
    else if (danger != QT_DANGER_NONE)
        c->seen |= QT_SEEN_ACTS_ON_INSTANCE;
    if (c->cipher_depth == 0 && qt_secret_function(name, len))
        c->cipher_depth = c->depth + 1;
}

static void open_parenthesis(struct qt_classifier *c, size_t name_len)
{
    if (c->previous != QT_K_NONE)
        call(c);
    else if (name_len > 0)
        call_named(c, c->word, name_len);
    c->opened = c->previous;
    c->depth++;
    c->previous = QT_K_NONE;
}

static void close_parenthesis(struct qt_classifier *c, int opened)
{
    if (opened == QT_K_unix_timestamp)
        c->does |= QT_ACTION_ASKS_TIME; /* UNIX_TIMESTAMP with an argument only converts a time */
    qt_secret_closed(c);
    c->depth--;
    if (c->depth < c->cipher_depth)
        c->cipher_depth = 0;
    c->previous = QT_K_NONE;
}

static void variable(struct qt_classifier *c, const struct qt_token *t)
{
    c->word = t->p;
    c->word_len = t->len;
    qt_secret_into(c, t);
    if (c->left)
        c->name = *t;
    else
        c->seen |= QT_SEEN_VARIABLE;
    if (c->n_words > 0 && c->n_words < QT_FIRST_WORDS)
        c->n_words++; /* counts as a word: SET @a = password is not SET PASSWORD */
}

static void comma(struct qt_classifier *c)
{
    if (c->words[0] != QT_K_set || c->depth != c->base)
        return;
    c->left = 1;
    c->name.len = 0;
    if (c->scope == QT_SCOPE_ONE_GLOBAL)
        c->scope = QT_SCOPE_SESSION;
}

void qt_classify(struct qt_classifier *c, const struct qt_token *t)
{
    if (qt_secret_in_hint(c, t))
        return;
    int opened = c->opened;
    size_t name_len = c->word_len;
    uint8_t dotted = c->dotted;
    c->opened = QT_K_NONE;
    c->word_len = 0;
    c->dotted = QT_DOTTED_NO;
    if (c->awaits)
        qt_actions_autocommit(c, t);
    switch (t->kind) {
    case QT_T_WORD:
    case QT_T_QUOTED:
        word(c, t, dotted);
        return;
    case QT_T_OPEN:
        open_parenthesis(c, name_len);
        return;
    case QT_T_CLOSE:
        close_parenthesis(c, opened);
        return;
    case QT_T_SEMICOLON:
        semicolon(c);
        return;
    case QT_T_HINT:
        c->in_hint = 1;
        c->hint = t->p;
        return;
    case QT_T_EXECUTABLE:
    case QT_T_COMMENT_END:
        return;
    case QT_T_PARAM:
        c->flags |= QT_F_PLACEHOLDER;
        break;
    case QT_T_OPERATOR:
        operator(c, t, name_len);
        return;
    case QT_T_STRING:
    case QT_T_NUMBER:
        qt_secret_literal(c, t);
        break;
    case QT_T_VARIABLE:
        variable(c, t);
        break;
    case QT_T_COMMA:
        comma(c);
        break;
    case QT_T_SYSTEM:
        c->system = 1;
        break;
    case QT_T_DOT:
        c->dotted = name_len > 0 && qt_secret_schema(c->word, name_len) ? QT_DOTTED_MYSQL : QT_DOTTED;
        break;
    default:;
    }
    c->previous = QT_K_NONE;
    c->odd |= c->n_words == 0;
}
