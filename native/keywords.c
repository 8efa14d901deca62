/* SPDX-License-Identifier: Apache-2.0 */
/* An open-addressed table over the first eight bytes and the length: one probe for nearly every word. */
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

static inline uint32_t slot_of(const char *word, size_t len)
{
    uint64_t head;
    memcpy(&head, word, 8);
    if (len < 8)
        head &= (UINT64_C(1) << (len * 8)) - 1;
    return (uint32_t)(((head + len) * UINT64_C(0x9E3779B97F4A7C15)) >> 54) & (QT_KEYWORD_SLOTS - 1);
}

void qt_keywords_init(struct qt_keywords *k)
{
    memset(k, 0, sizeof *k);
    for (int i = 1; i < QT_KEYWORDS; i++) {
        char word[QT_KEYWORD_LONGEST + 8] = {0};
        memcpy(word, names[i], lengths[i]);
        uint32_t at = slot_of(word, lengths[i]);
        while (k->slots[at] != 0)
            at = (at + 1) & (QT_KEYWORD_SLOTS - 1);
        k->slots[at] = (uint8_t)i;
    }
}

int qt_keyword_find(const struct qt_keywords *k, const char *word, size_t len)
{
    if (len < 2 || len > QT_KEYWORD_LONGEST)
        return QT_K_NONE;
    for (uint32_t at = slot_of(word, len); k->slots[at] != 0; at = (at + 1) & (QT_KEYWORD_SLOTS - 1)) {
        int found = k->slots[at];
        if (lengths[found] == len && memcmp(names[found], word, len) == 0)
            return found;
    }
    return QT_K_NONE;
}
