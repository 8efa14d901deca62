/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/words.h"

#include <string.h>

static const char *const names[QT_WORDS] = {"",
#define QT_X(name, flags) #name,
                                            QT_WORD_LIST(QT_X)
#undef QT_X
};

const uint8_t qt_word_flags[QT_WORDS] = {0,
#define QT_X(name, flags) flags,
                                         QT_WORD_LIST(QT_X)
#undef QT_X
};

/* Returns the hash slot of a word. Upper and lower case share a slot. Other bytes may collide, so the caller compares
 * the word. */
static uint32_t slot_of(const char *p, size_t len)
{
    uint32_t h = (uint32_t)len;
    for (size_t i = 0; i < len; i++)
        h = h * 31 + ((unsigned char)p[i] | 0x20u);
    return (h * 2654435761u) >> 22;
}

void qt_words_init(struct qt_words *w)
{
    memset(w, 0, sizeof *w);
    for (int i = 1; i < QT_WORDS; i++) {
        size_t len = strlen(names[i]);
        uint32_t at = slot_of(names[i], len);
        while (w->slots[at] != 0)
            at = (at + 1) % QT_WORD_SLOTS;
        w->slots[at] = (uint8_t)i;
        w->lengths[i] = (uint8_t)len;
    }
}

static int same(const char *name, const char *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = p[i] >= 'A' && p[i] <= 'Z' ? (char)(p[i] | 0x20) : p[i];
        if (c != name[i])
            return 0;
    }
    return 1;
}

int qt_word_find(const struct qt_words *w, const char *p, size_t len)
{
    if (len < 2 || len > QT_WORD_LONGEST)
        return QT_W_none;
    for (uint32_t at = slot_of(p, len); w->slots[at] != 0; at = (at + 1) % QT_WORD_SLOTS) {
        int found = w->slots[at];
        if (w->lengths[found] == len && same(names[found], p, len))
            return found;
    }
    return QT_W_none;
}
