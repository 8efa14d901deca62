/* SPDX-License-Identifier: Apache-2.0 */
/* The minimum work of a replay: threads sleep until absolute times, send a statement, and receive its answer. If the
 * machine delays this loop, the machine delays every replayer. The loop also serves to try different ways to wait.
 *
 *   bare_loop PORT THREADS EVENTS EVENTS_A_SECOND WAY [STATEMENT]     0 events per second: as fast as possible
 *
 *   recv    send, and a blocking recv           batch   recv under SCHED_BATCH
 *   uring   send and recv as one linked submission      cores   recv, thread i on core i modulo the cores
 *
 *   cc -O2 bench/native/bare_loop.c $(mariadb_config --include --libs) -pthread -o bare_loop */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <mysql.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define STALL_NS 30000000LL
enum { STACK = 128 << 10, ROOM = 8192, LONGEST = 1000 };

struct bench {
    int port, threads, per_second;
    long events;
    const char *way, *statement;
    int64_t zero_ns, *late_ns; /* late_ns: one value per event */
    pthread_barrier_t ready, go;
};

struct worker {
    struct bench *b;
    long number;
    pthread_t thread;
};

struct ring {
    int fd;
    unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
    struct io_uring_sqe *sqe;
    struct io_uring_cqe *cqe;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

static char *map(int fd, size_t size, off_t what)
{
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
    if (at == MAP_FAILED)
        fail("mmap");
    return at;
}

static void ring_open(struct ring *r)
{
    struct io_uring_params p = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
    char *sq, *cq;

    r->fd = (int)syscall(SYS_io_uring_setup, 4, &p);
    if (r->fd < 0)
        fail("io_uring_setup");
    sq = map(r->fd, p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
    cq = map(r->fd, p.cq_off.cqes + p.cq_entries * sizeof *r->cqe, IORING_OFF_CQ_RING);
    r->sqe = (void *)map(r->fd, p.sq_entries * sizeof *r->sqe, IORING_OFF_SQES);
    r->sq_tail = (void *)(sq + p.sq_off.tail);
    r->sq_mask = (void *)(sq + p.sq_off.ring_mask);
    r->sq_array = (void *)(sq + p.sq_off.array);
    r->cq_head = (void *)(cq + p.cq_off.head);
    r->cq_tail = (void *)(cq + p.cq_off.tail);
    r->cq_mask = (void *)(cq + p.cq_off.ring_mask);
    r->cqe = (void *)(cq + p.cq_off.cqes);
}

static long ring_ask(struct ring *r, int fd, const char *packet, size_t len, char *answer)
{
    unsigned tail = *r->sq_tail, head = *r->cq_head;
    long got = -1;

    for (unsigned i = 0; i < 2; i++) {
        unsigned at = (tail + i) & *r->sq_mask;
        r->sqe[at] = (struct io_uring_sqe){
            .opcode = i == 0 ? IORING_OP_SEND : IORING_OP_RECV,
            .flags = i == 0 ? IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS : 0,
            .ioprio = i == 0 ? 0 : IORING_RECVSEND_POLL_FIRST,
            .fd = fd,
            .addr = (uint64_t)(uintptr_t)(i == 0 ? packet : answer),
            .len = i == 0 ? (unsigned)len : ROOM,
        };
        r->sq_array[at] = at;
    }
    __atomic_store_n(r->sq_tail, tail + 2, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, r->fd, 2, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
        fail("io_uring_enter");
    for (; head != __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE); head++)
        got = r->cqe[head & *r->cq_mask].res;
    __atomic_store_n(r->cq_head, head, __ATOMIC_RELEASE);
    return got;
}

static int log_in(const struct bench *b)
{
    MYSQL *m = mysql_init(NULL);
    my_bool off = 0;

    mysql_optionsv(m, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &off);
    if (mysql_real_connect(m, "127.0.0.1", "root", "", NULL, (unsigned)b->port, NULL, 0) == NULL) {
        fprintf(stderr, "%s\n", mysql_error(m));
        exit(1);
    }
    return (int)mysql_get_socket(m);
}

static void choose_scheduling(const struct worker *w)
{
    struct sched_param none = {0};
    cpu_set_t cores;

    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    if (strcmp(w->b->way, "batch") == 0 && pthread_setschedparam(pthread_self(), SCHED_BATCH, &none) != 0)
        fail("SCHED_BATCH");
    CPU_ZERO(&cores);
    CPU_SET((size_t)(w->number % sysconf(_SC_NPROCESSORS_ONLN)), &cores);
    if (strcmp(w->b->way, "cores") == 0 && sched_setaffinity(0, sizeof cores, &cores) != 0)
        fail("sched_setaffinity");
}

static void *run(void *arg)
{
    struct worker *w = arg;
    struct bench *b = w->b;
    int fd = log_in(b), by_ring = strcmp(b->way, "uring") == 0;
    char answer[ROOM], packet[LONGEST + 8] = {0};
    size_t len = strlen(b->statement);
    struct ring r;

    packet[0] = (char)((len + 1) & 255);
    packet[1] = (char)((len + 1) >> 8);
    packet[4] = 3;
    memcpy(packet + 5, b->statement, len);
    choose_scheduling(w);
    if (by_ring)
        ring_open(&r);
    pthread_barrier_wait(&b->ready);
    pthread_barrier_wait(&b->go);
    for (long i = w->number; i < b->events; i += b->threads) {
        int64_t due = b->per_second == 0 ? 0 : b->zero_ns + (int64_t)((double)i * 1e9 / b->per_second), at = now();
        for (; at < due; at = now())
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
                            &(struct timespec){.tv_sec = due / SECOND, .tv_nsec = due % SECOND}, NULL);
        b->late_ns[i] = due == 0 ? 0 : at - due;
        if (by_ring ? ring_ask(&r, fd, packet, len + 5, answer) <= 0
                    : send(fd, packet, len + 5, MSG_NOSIGNAL) < 0 || recv(fd, answer, ROOM, 0) <= 0)
            fail(b->way);
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double cpu_us(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return 1e6 * (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static void show(const struct bench *b, double used_us, int64_t took_ns)
{
    const double shares[] = {0.5, 0.99, 0.999};
    const char *names[] = {"p50", "p99", "p99.9"};
    long stalled = 0;

    qsort(b->late_ns, (size_t)b->events, sizeof *b->late_ns, compare);
    for (long i = 0; i < b->events; i++)
        stalled += b->late_ns[i] >= STALL_NS;
    printf("{\"events/s\": %.0f, \"CPU us/event\": %.2f", (double)b->events * 1e9 / (double)took_ns,
           used_us / (double)b->events);
    for (int i = 0; i < 3 && b->per_second > 0; i++)
        printf(", \"late %s us\": %.1f", names[i], (double)b->late_ns[(long)((double)b->events * shares[i])] / 1e3);
    if (b->per_second > 0)
        printf(", \"late max us\": %.1f, \"late by 30 ms\": %ld", (double)b->late_ns[b->events - 1] / 1e3, stalled);
    printf("}\n");
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    struct worker *w;
    pthread_attr_t attr;
    double before;

    if (argc < 6)
        return fprintf(stderr, "bare_loop PORT THREADS EVENTS EVENTS_A_SECOND WAY [STATEMENT]\n"), 2;
    b.port = atoi(argv[1]);
    b.threads = atoi(argv[2]);
    b.events = atol(argv[3]);
    b.per_second = atoi(argv[4]);
    b.way = argv[5];
    b.statement = argc > 6 ? argv[6] : "SELECT 1";
    b.late_ns = calloc((size_t)b.events, sizeof *b.late_ns);
    w = calloc((size_t)b.threads, sizeof *w);
    if (b.threads < 1 || b.events < 1 || strlen(b.statement) > LONGEST || b.late_ns == NULL || w == NULL)
        return 2;
    mysql_server_init(0, NULL, NULL);
    pthread_barrier_init(&b.ready, NULL, (unsigned)b.threads + 1);
    pthread_barrier_init(&b.go, NULL, (unsigned)b.threads + 1);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    for (int i = 0; i < b.threads; i++) {
        w[i] = (struct worker){.b = &b, .number = i};
        if (pthread_create(&w[i].thread, &attr, run, &w[i]) != 0)
            fail("pthread_create");
    }
    pthread_barrier_wait(&b.ready);
    before = cpu_us();
    b.zero_ns = now() + SECOND / 5;
    pthread_barrier_wait(&b.go);
    for (int i = 0; i < b.threads; i++)
        pthread_join(w[i].thread, NULL);
    show(&b, cpu_us() - before, now() - b.zero_ns + (b.per_second == 0 ? SECOND / 5 : 0));
    return 0;
}
