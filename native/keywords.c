/* SPDX-License-Identifier: Apache-2.0 */
/* An open-addressed table over the first eight bytes and the length: one probe for nearly every word. Words are folded with
 * 0x20, which joins the cases of letters and keeps all other identifier bytes apart. */
#include "keywords.h"

#include <string.h>

static const char *const names[QT_KEYWORDS] = {
    "",
#define QT_X(name, flags) #name,
    QT_KEYWORD_LIST(QT_X)
#undef QT_X
};

static const uint8_t lengths[QT_KEYWORDS] = {
    0,
#define QT_X(name, flags) sizeof #name - 1,
    QT_KEYWORD_LIST(QT_X)
#undef QT_X
};

const uint8_t qt_keyword_flags[QT_KEYWORDS] = {
    0,
#define QT_X(name, flags) flags,
    QT_KEYWORD_LIST(QT_X)
#undef QT_X
};

#define FOLD UINT64_C(0x2020202020202020)

static inline uint32_t slot_of(uint64_t head, size_t len)
{
    return (uint32_t)(((head + len) * UINT64_C(0x9E3779B97F4A7C15)) >> 54);
}

void qt_keywords_init(struct qt_keywords *k)
{
    memset(k, 0, sizeof *k);
    for (int i = 1; i < QT_KEYWORDS; i++) {
        memcpy(&k->heads[i], names[i], lengths[i] < 8 ? lengths[i] : 8);
        k->heads[i] |= FOLD;
        uint32_t at = slot_of(k->heads[i], lengths[i]);
        while (k->slots[at] != 0)
            at = (at + 1) % QT_KEYWORD_SLOTS;
        k->slots[at] = (uint8_t)i;
    }
}

static int same_rest(const char *name, const char *word, size_t len)
{
    for (size_t i = 8; i < len; i++)
        if ((name[i] | 0x20) != (word[i] | 0x20))
            return 0;
    return 1;
}

int qt_keyword_find(const struct qt_keywords *k, uint64_t head, const char *word, size_t len)
{
    if (len < 2 || len > QT_KEYWORD_LONGEST)
        return QT_K_NONE;
    head |= FOLD;
    for (uint32_t at = slot_of(head, len); k->slots[at] != 0; at = (at + 1) % QT_KEYWORD_SLOTS) {
        int found = k->slots[at];
        if (k->heads[found] == head && lengths[found] == len && (len <= 8 || same_rest(names[found], word, len)))
            return found;
    }
    return QT_K_NONE;
}
