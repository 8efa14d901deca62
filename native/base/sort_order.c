/* SPDX-License-Identifier: Apache-2.0 */
/* Rows come nearly sorted: of a log's events by their end, each is a few places from where its start belongs. So each
 * is moved back to its place, at a few compares a row; where that takes too many moves, a natural merge sort does the
 * rest: the ascending runs that are there are merged in pairs, in as many passes as they need. */
#include "base/sort_order.h"

#include <string.h>

enum { MOVES_A_ROW = 16 };

struct keys {
    const int64_t *const *key;
    int n;
};

static int follows(const struct keys *k, uint32_t a, uint32_t b) /* a belongs behind b */
{
    for (int i = 0; i < k->n; i++)
        if (k->key[i][a] != k->key[i][b])
            return k->key[i][a] > k->key[i][b];
    return 0;
}

static size_t find_run_end(const struct keys *k, const uint32_t *order, size_t begin, size_t n)
{
    size_t end = begin + 1;
    while (end < n && !follows(k, order[end - 1], order[end]))
        end++;
    return end < n ? end : n;
}

/* Merges [a, b) and [b, end) of `from` into the same places of `to`. */
static void merge(const struct keys *k, const uint32_t *from, uint32_t *to, size_t a, size_t b, size_t end)
{
    size_t i = a, j = b, at = a;
    while (i < b && j < end)
        to[at++] = follows(k, from[i], from[j]) ? from[j++] : from[i++];
    memcpy(to + at, from + i, (b - i) * sizeof *to);
    at += b - i;
    memcpy(to + at, from + j, (end - j) * sizeof *to);
}

/* Moves rows back one by one while that is cheap; 1 when all are in order. */
static int insert_rows(const struct keys *k, uint32_t *order, size_t n)
{
    const int64_t *first = k->key[0];
    size_t moves = 0, most = n * MOVES_A_ROW;
    for (size_t i = 1; i < n; i++) {
        uint32_t row = order[i];
        int64_t key = first[row];
        size_t at = i;
        while (at > 0 &&
               (first[order[at - 1]] > key || (first[order[at - 1]] == key && follows(k, order[at - 1], row)))) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = row;
        moves += i - at;
        if (moves > most)
            return i + 1 == n;
    }
    return 1;
}

int qt_order_rows(const int64_t *const *keys, int n_keys, size_t n, uint32_t *order)
{
    struct keys k = {keys, n_keys};
    uint32_t *from = order, *to = order + n;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    if (n == 0 || find_run_end(&k, order, 0, n) == n)
        return 0;
    if (insert_rows(&k, order, n))
        return 1;
    for (;;) {
        size_t runs = 0;
        for (size_t a = 0; a < n; runs++) {
            size_t b = find_run_end(&k, from, a, n);
            size_t end = b < n ? find_run_end(&k, from, b, n) : n;
            merge(&k, from, to, a, b, end);
            a = end;
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
        if (runs == 1)
            break;
    }
    if (from != order)
        memcpy(order, from, n * sizeof *order);
    return 1;
}
