/* SPDX-License-Identifier: Apache-2.0 */
#include "failing.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdatomic.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

enum { PAGE = 4096, MOST_GUARDED = 4096, FILL = 0xA5 };

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *p);
ssize_t __real_read(int fd, void *out, size_t size);
ssize_t __real_pread(int fd, void *out, size_t size, off_t at);
int __real_pcap_compile(pcap_t *pcap, struct bpf_program *out, const char *text, int optimize, bpf_u_int32 mask);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *p);
ssize_t __wrap_read(int fd, void *out, size_t size);
ssize_t __wrap_pread(int fd, void *out, size_t size, off_t at);
int __wrap_pcap_compile(pcap_t *pcap, struct bpf_program *out, const char *text, int optimize, bpf_u_int32 mask);

static atomic_int what;
static atomic_long which, calls;
static atomic_size_t longest_filter;

void failing_set(enum failing_kind kind, long number)
{
    atomic_store(&which, number);
    atomic_store(&calls, 0);
    atomic_store(&what, (int)kind);
}

long failing_stop(void)
{
    atomic_store(&what, FAILING_NONE);
    return atomic_load(&calls);
}

static int is_out(void)
{
    int kind = atomic_load(&what);
    if (kind != FAILING_MEMORY && kind != FAILING_ALL_MEMORY)
        return 0;
    long number = atomic_fetch_add(&calls, 1) + 1, wanted = atomic_load(&which);
    if (wanted == 0 || number < wanted || (kind == FAILING_MEMORY && number > wanted))
        return 0;
    errno = ENOMEM;
    return 1;
}

/* An allocation that ends at the end of a page. The next page is inaccessible. */
static struct guarded {
    void *p, *pages;
    size_t size, mapped;
} guarded[MOST_GUARDED];
static size_t n_guarded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *guard(size_t size, int fill)
{
    size_t mapped = (size + PAGE - 1) / PAGE * PAGE + PAGE;
    uint8_t *pages = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + mapped - PAGE, PAGE, PROT_NONE) != 0)
        abort();
    void *p = pages + mapped - PAGE - size;
    if (fill)
        memset(p, FILL, size);
    pthread_mutex_lock(&lock);
    if (n_guarded == MOST_GUARDED)
        abort();
    guarded[n_guarded++] = (struct guarded){p, pages, size, mapped};
    pthread_mutex_unlock(&lock);
    return p;
}

/* Returns whether `p` is guarded, and removes it from the list. */
static int take_guarded(const void *p, struct guarded *out)
{
    int found = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = n_guarded; i-- > 0 && !found;)
        if (guarded[i].p == p) {
            *out = guarded[i];
            guarded[i] = guarded[--n_guarded];
            found = 1;
        }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Returns whether allocations are guarded. Sanitizers have better guards and must see every allocation. */
static int guards(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return 0;
#endif
#endif
    return atomic_load(&what) == FAILING_GUARD;
}

void *__wrap_malloc(size_t size) { return guards() ? guard(size, 1) : is_out() ? NULL : __real_malloc(size); }

void *__wrap_calloc(size_t n, size_t size)
{
    return guards() ? guard(n * size, 0) : is_out() ? NULL : __real_calloc(n, size);
}

void __wrap_free(void *p)
{
    struct guarded old;
    if (p != NULL && take_guarded(p, &old))
        munmap(old.pages, old.mapped);
    else
        __real_free(p);
}

void *__wrap_realloc(void *old, size_t size)
{
    struct guarded was;
    if (!guards() && (old == NULL || n_guarded == 0))
        return is_out() ? NULL : __real_realloc(old, size);
    void *p = guard(size, 1);
    if (old != NULL && take_guarded(old, &was)) {
        memcpy(p, old, was.size < size ? was.size : size);
        munmap(was.pages, was.mapped);
    } else if (old != NULL) {
        abort(); /* allocation guards must be enabled before the first tested allocation */
    }
    return p;
}

char *__wrap_strdup(const char *text)
{
    if (!guards())
        return is_out() ? NULL : __real_strdup(text);
    size_t size = strlen(text) + 1;
    return memcpy(guard(size, 0), text, size);
}

/* Returns the number of bytes that a read may return, or -1 if it must fail. */
static ssize_t allowed(size_t size)
{
    int kind = atomic_load(&what);
    if (kind == FAILING_SHORT)
        return size > 0 ? 1 : 0;
    if (kind != FAILING_INTERRUPTED && kind != FAILING_READ)
        return (ssize_t)size;
    if (atomic_fetch_add(&calls, 1) + 1 != atomic_load(&which))
        return (ssize_t)size;
    errno = kind == FAILING_READ ? EIO : EINTR;
    return -1;
}

ssize_t __wrap_read(int fd, void *out, size_t size)
{
    ssize_t most = allowed(size);
    return most < 0 ? -1 : __real_read(fd, out, (size_t)most);
}

ssize_t __wrap_pread(int fd, void *out, size_t size, off_t at)
{
    ssize_t most = allowed(size);
    return most < 0 ? -1 : __real_pread(fd, out, (size_t)most, at);
}

void failing_filters(size_t longest) { atomic_store(&longest_filter, longest); }

int __wrap_pcap_compile(pcap_t *pcap, struct bpf_program *out, const char *text, int optimize, bpf_u_int32 mask)
{
    size_t longest = atomic_load(&longest_filter);
    return longest > 0 && strlen(text) > longest ? -1 : __real_pcap_compile(pcap, out, text, optimize, mask);
}
