/* SPDX-License-Identifier: Apache-2.0 */
/* An open-addressed hash table over the first eight bytes and the length of a word. Nearly every lookup needs one
 * probe. Words are folded with 0x20: this merges upper and lower case and keeps all other identifier bytes apart. */
#include "sql/keywords.h"

#include <string.h>

static const char *const names[QT_KEYWORDS] = {"",
#define QT_X(name, flags) #name,
                                               QT_KEYWORD_LIST(QT_X)
#undef QT_X
};

const uint8_t qt_keyword_flags[QT_KEYWORDS] = {0,
#define QT_X(name, flags) flags,
                                               QT_KEYWORD_LIST(QT_X)
#undef QT_X
};

void qt_keywords_init(struct qt_keywords *k)
{
    memset(k, 0, sizeof *k);
    for (int i = 1; i < QT_KEYWORDS; i++) {
        size_t len = strlen(names[i]);
        k->lengths[i] = (uint8_t)len;
        memcpy(&k->heads[i], names[i], len < 8 ? len : 8);
        k->heads[i] |= QT_KEYWORD_FOLD;
        uint32_t at = qt_keyword_slot(k->heads[i], len);
        while (k->slots[at] != 0)
            at = (at + 1) % QT_KEYWORD_SLOTS;
        k->slots[at] = (uint16_t)i;
    }
}

int qt_keyword_same_rest(int keyword, const char *word, size_t len)
{
    for (size_t i = 8; i < len; i++)
        if ((names[keyword][i] | 0x20) != (word[i] | 0x20))
            return 0;
    return 1;
}
