/* kload - epoll load generator for servers that speak 4-byte length framed
 * request/response (the Kafka wire protocol).
 *
 *   gcc -O2 -Wall -o kload kload.c
 *   kload [options] HOST PORT
 *
 * N connections x D requests in flight per connection, M requests in all.
 * It takes the request as hex (everything after the length prefix), puts an
 * increasing correlation id at byte 4 (per connection), frames it, counts the
 * length-prefixed responses, checks the id that comes back, and optionally
 * some bytes of the response. Responses must come back in order on a
 * connection, which Kafka promises.
 *
 *  -c N       connections                                      (1)
 *  -d D       requests in flight per connection                (1)
 *  -n M       requests measured                                (100000)
 *  -w W       warm-up requests before the clock                (M/10)
 *  -x HEX     request payload; may be given more than once: connection i
 *             uses payload i % count
 *  -f FILE    the same, one hex payload per line ('#' comments)
 *  -p HEX     one round trip with this on every new connection, before the
 *             clock (for instance ApiVersions). Also keeps the connect rate
 *             down to what the server accepts.
 *  -o OFF     where the correlation id goes in the payload     (4; -1: none)
 *  -C         do not check the correlation id
 *  -e OFF:HEX every response must have these bytes at OFF, counted after the
 *             length prefix (OFF + bytes <= 64); may be given up to 4 times
 *  -r R       open loop: R requests a second in all, latency counted from the
 *             moment a request was due (no coordinated omission); a request
 *             that finds its connection's D places taken waits there
 *  -1         one send() per request even when several can go together
 *  -t SEC     give up after SEC seconds                        (60)
 *  -P PID     also report this process's CPU time after the warm-up, RSS and
 *             peak RSS (give it the server's pid)
 *  -L LABEL   label in the output
 *  -j         one JSON object on one line
 *  -v         histogram too
 *
 * Exit status: 0 all M answered and nothing wrong; 2 some answered wrong or
 * connections lost; 3 timed out; 1 usage/connect error.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEAD 64
#define RBUF (1 << 20)
#define MAXFRAME (1u << 30)

typedef struct {
    unsigned char *b;
    uint32_t len;
} payload_t;
typedef struct {
    int fd, dead, want_out;
    uint32_t next_corr, expect_corr; /* next to send, next to come back */
    uint32_t inflight, rhead;        /* ring of send times */
    uint64_t *ts;                    /* [depth] */
    unsigned char head[4 + HEAD];    /* start of a frame split over reads */
    uint32_t have, skip;
    unsigned char *out;
    size_t outlen, outoff, outcap;
    payload_t *pl;
} conn_t;

static int opt_c = 1, opt_d = 1, opt_o = 4, opt_check = 1, opt_one = 0, opt_json = 0, opt_v = 0;
static uint64_t opt_n = 100000, opt_w = UINT64_MAX;
static double opt_r = 0, opt_t = 60;
static long opt_pid = 0;
static const char *opt_label = "";
static payload_t *pls;
static int npl;
static payload_t pre;
static struct {
    uint32_t off, len;
    unsigned char b[HEAD];
} exps[4];
static int nexp;

static uint64_t issued, completed, bad_corr, bad_bytes, lost, rbytes, wbytes, reads, writes;
static uint64_t total, warm;
static unsigned char rbuf[RBUF], scratch[1 << 18];
static int ep;

#define NB (58 * 128)
static uint64_t hist[NB], hmax, hcount;
static double hsum;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + t.tv_nsec;
}
static void die(const char *m) {
    fprintf(stderr, "kload: %s%s%s\n", m, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(1);
}
static int hidx(uint64_t v) {
    if (v < 128) {
        return (int)v;
    }
    int e = 63 - __builtin_clzll(v);
    return (e - 6) * 128 + (int)((v >> (e - 7)) & 127);
}
static uint64_t hval(int i) {
    if (i < 128) {
        return i;
    }
    int e = i / 128 + 6;
    return (1ull << e) + ((uint64_t)(i % 128) << (e - 7)) + (1ull << (e - 7)) / 2;
}
static void hadd(uint64_t v) {
    int i = hidx(v);
    if (i >= NB) {
        i = NB - 1;
    }
    hist[i]++;
    hcount++;
    hsum += v;
    if (v > hmax) {
        hmax = v;
    }
}
static double hpct(double p) {
    uint64_t want = (uint64_t)(p / 100.0 * hcount + 0.5), s = 0;
    if (!want) {
        want = 1;
    }
    for (int i = 0; i < NB; i++) {
        s += hist[i];
        if (s >= want) {
            uint64_t v = hval(i);
            return (v > hmax ? hmax : v) / 1000.0;
        }
    }
    return hmax / 1000.0;
}

static int hexd(int c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 32;
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return -1;
}
static unsigned char *unhex(const char *s, uint32_t *len) {
    unsigned char *b = malloc(strlen(s) / 2 + 1);
    uint32_t n = 0;
    int hi = -1;
    for (; *s; s++) {
        if (*s == ' ' || *s == '\n' || *s == '\r' || *s == '\t' || *s == ':' || *s == '_') {
            continue;
        }
        int d = hexd(*s);
        if (d < 0) {
            errno = 0;
            die("bad hex");
        }
        if (hi < 0) {
            hi = d;
        } else {
            b[n++] = hi << 4 | d;
            hi = -1;
        }
    }
    if (hi >= 0) {
        errno = 0;
        die("odd number of hex digits");
    }
    *len = n;
    return b;
}
static void add_payload(const char *hex) {
    pls = realloc(pls, sizeof *pls * (npl + 1));
    pls[npl].b = unhex(hex, &pls[npl].len);
    if (opt_o >= 0 && pls[npl].len < (uint32_t)opt_o + 4) {
        errno = 0;
        die("payload shorter than the correlation id's place");
    }
    npl++;
}

static void proc_stat(long pid, double *cpu, long *rss, long *hwm, double *ut, double *st) {
    char p[64], line[4096];
    FILE *f;
    clockid_t clock;
    struct timespec spent;
    *cpu = 0; /* from the process's clock, as the ticks of its stat file are 10 ms each */
    if (!clock_getcpuclockid(pid, &clock) && !clock_gettime(clock, &spent)) {
        *cpu = spent.tv_sec + spent.tv_nsec / 1e9;
    }
    *rss = *hwm = 0;
    *ut = *st = 0;
    snprintf(p, sizeof p, "/proc/%ld/stat", pid);
    if ((f = fopen(p, "r"))) {
        if (fgets(line, sizeof line, f)) {
            char *q = strrchr(line, ')');
            unsigned long u = 0, s = 0;
            if (q && sscanf(q + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &u, &s) == 2) {
                double hz = sysconf(_SC_CLK_TCK);
                *ut = u / hz;
                *st = s / hz;
            }
        }
        fclose(f);
    }
    snprintf(p, sizeof p, "/proc/%ld/status", pid);
    if ((f = fopen(p, "r"))) {
        while (fgets(line, sizeof line, f)) {
            sscanf(line, "VmRSS: %ld", rss);
            sscanf(line, "VmHWM: %ld", hwm);
        }
        fclose(f);
    }
}

static void mark_dead(conn_t *c) {
    if (c->dead) {
        return;
    }
    c->dead = 1;
    lost++;
    issued -= c->inflight;
    c->inflight = 0; /* let the others issue them */
    epoll_ctl(ep, EPOLL_CTL_DEL, c->fd, NULL);
    close(c->fd);
}
static void want_out(conn_t *c, int on) {
    if (c->want_out == on) {
        return;
    }
    c->want_out = on;
    struct epoll_event ev = {.events = EPOLLIN | (on ? EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &ev);
}
static void out_stash(conn_t *c, const unsigned char *b, size_t n) {
    if (c->outoff == c->outlen) {
        c->outoff = c->outlen = 0;
    }
    if (c->outlen + n > c->outcap) {
        c->outcap = (c->outlen + n) * 2;
        c->out = realloc(c->out, c->outcap);
    }
    memcpy(c->out + c->outlen, b, n);
    c->outlen += n;
    want_out(c, 1);
}
static void raw_send(conn_t *c, const unsigned char *b, size_t n) {
    if (c->dead) {
        return;
    }
    if (c->outoff < c->outlen) {
        out_stash(c, b, n);
        return;
    }
    while (n) {
        ssize_t k = send(c->fd, b, n, MSG_NOSIGNAL);
        writes++;
        if (k < 0) {
            if (errno == EINTR) {
                continue;
            }
            if (errno == EAGAIN) {
                out_stash(c, b, n);
                return;
            }
            mark_dead(c);
            return;
        }
        wbytes += k;
        b += k;
        n -= k;
    }
}
static void flush_out(conn_t *c) {
    while (c->outoff < c->outlen) {
        ssize_t k = send(c->fd, c->out + c->outoff, c->outlen - c->outoff, MSG_NOSIGNAL);
        writes++;
        if (k < 0) {
            if (errno == EINTR) {
                continue;
            }
            if (errno == EAGAIN) {
                return;
            }
            mark_dead(c);
            return;
        }
        wbytes += k;
        c->outoff += k;
    }
    want_out(c, 0);
}
static void put32(unsigned char *p, uint32_t v) {
    p[0] = v >> 24;
    p[1] = v >> 16;
    p[2] = v >> 8;
    p[3] = v;
}
static uint32_t get32(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

/* issue up to k requests on c, stamped with time t */
static void issue(conn_t *c, uint32_t k, uint64_t t) {
    size_t fl = c->pl->len + 4, used = 0;
    unsigned char *s = scratch, *big = NULL;
    while (k && !c->dead && c->inflight < (uint32_t)opt_d && issued < total) {
        if (fl > sizeof scratch) {
            if (!big) {
                big = malloc(fl);
            }
            s = big;
            used = 0;
        } else if (used + fl > sizeof scratch) {
            raw_send(c, scratch, used);
            used = 0;
        }
        put32(s + used, c->pl->len);
        memcpy(s + used + 4, c->pl->b, c->pl->len);
        if (opt_o >= 0) {
            put32(s + used + 4 + opt_o, c->next_corr++);
        }
        c->ts[(c->rhead + c->inflight) % opt_d] = t;
        c->inflight++;
        issued++;
        k--;
        used += fl;
        if (big || opt_one) {
            raw_send(c, s, used);
            used = 0;
        }
    }
    if (used) {
        raw_send(c, s, used);
    }
    free(big);
}
static uint64_t t_start;
static void got_frame(conn_t *c, const unsigned char *h, uint32_t hl, uint64_t t) {
    if (!c->inflight) {
        bad_corr++;
        return;
    }
    if (opt_check && opt_o >= 0) {
        if (hl < 4 || get32(h) != c->expect_corr) {
            bad_corr++;
        }
        c->expect_corr++;
    }
    for (int i = 0; i < nexp; i++) {
        if (hl < exps[i].off + exps[i].len || memcmp(h + exps[i].off, exps[i].b, exps[i].len)) {
            bad_bytes++;
            break;
        }
    }
    uint64_t lat = t - c->ts[c->rhead];
    c->rhead = (c->rhead + 1) % opt_d;
    c->inflight--;
    completed++;
    if (completed == warm) {
        t_start = t;
        memset(hist, 0, sizeof hist);
        hmax = hcount = 0;
        hsum = 0;
        rbytes = wbytes = reads = writes = 0;
    } else if (completed > warm) {
        hadd(lat);
    }
}
static uint32_t feed(conn_t *c, const unsigned char *b, size_t n, uint64_t t) { /* -> frames completed */
    uint32_t frames = 0;
    while (n) {
        if (c->skip) {
            size_t k = n < c->skip ? n : c->skip;
            b += k;
            n -= k;
            c->skip -= k;
            if (!c->skip) {
                got_frame(c, c->head + 4, HEAD, t);
                c->have = 0;
                frames++;
            }
            continue;
        }
        if (!c->have && n >= 4) { /* whole frame in this read: no copy */
            uint32_t fl = get32(b);
            if (fl > MAXFRAME) {
                mark_dead(c);
                return frames;
            }
            if (n >= 4 + (size_t)fl) {
                got_frame(c, b + 4, fl < HEAD ? fl : HEAD, t);
                frames++;
                b += 4 + (size_t)fl;
                n -= 4 + (size_t)fl;
                continue;
            }
        }
        uint32_t want = 4;
        if (c->have >= 4) {
            uint32_t fl = get32(c->head);
            want = 4 + (fl < HEAD ? fl : HEAD);
        }
        size_t k = want - c->have;
        if (k > n) {
            k = n;
        }
        memcpy(c->head + c->have, b, k);
        c->have += k;
        b += k;
        n -= k;
        if (c->have == 4 && get32(c->head) > MAXFRAME) {
            mark_dead(c);
            return frames;
        }
        if (c->have >= 4) {
            uint32_t fl = get32(c->head);
            if (c->have == 4 + (fl < HEAD ? fl : HEAD)) {
                if (fl > HEAD) {
                    c->skip = fl - HEAD;
                } else {
                    got_frame(c, c->head + 4, fl, t);
                    c->have = 0;
                    frames++;
                }
            }
        }
    }
    return frames;
}

static int read_full(int fd, unsigned char *b, size_t n) {
    while (n) {
        ssize_t k = recv(fd, b, n, 0);
        if (k <= 0) {
            if (k < 0 && errno == EINTR) {
                continue;
            }
            return -1;
        }
        b += k;
        n -= k;
    }
    return 0;
}
static int do_connect(struct addrinfo *ai, int want_pre) {
    for (int tries = 0;; tries++) {
        int fd = socket(ai->ai_family, SOCK_STREAM, 0);
        if (fd < 0) {
            die("socket");
        }
        struct timeval tv = {10, 0};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv);
        int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0) {
            if (want_pre) {
                unsigned char l[4], *fr = malloc(pre.len + 4);
                put32(fr, pre.len);
                memcpy(fr + 4, pre.b, pre.len);
                int bad = send(fd, fr, pre.len + 4, MSG_NOSIGNAL) != (ssize_t)pre.len + 4 || read_full(fd, l, 4);
                free(fr);
                if (!bad) {
                    uint32_t k = get32(l);
                    while (k && !bad) {
                        uint32_t m = k < RBUF ? k : RBUF;
                        bad = read_full(fd, rbuf, m);
                        k -= m;
                    }
                }
                if (bad) {
                    errno = 0;
                    die("preamble: no answer");
                }
            }
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
            return fd;
        }
        close(fd);
        if (tries >= 200 || (errno != ECONNREFUSED && errno != EAGAIN && errno != ETIMEDOUT && errno != EINPROGRESS)) {
            die("connect");
        }
        usleep(10000);
    }
}

int main(int ac, char **av) {
    int o;
    signal(SIGPIPE, SIG_IGN);
    const char *hexes[4096];
    int nh = 0;
    const char *file = NULL;
    while ((o = getopt(ac, av, "c:d:n:w:x:f:p:o:Ce:r:1t:P:L:jvh")) != -1) {
        switch (o) {
        case 'c':
            opt_c = atoi(optarg);
            break;
        case 'd':
            opt_d = atoi(optarg);
            break;
        case 'n':
            opt_n = strtoull(optarg, 0, 10);
            break;
        case 'w':
            opt_w = strtoull(optarg, 0, 10);
            break;
        case 'x':
            if (nh < 4096) {
                hexes[nh++] = optarg;
            }
            break;
        case 'f':
            file = optarg;
            break;
        case 'p':
            pre.b = unhex(optarg, &pre.len);
            break;
        case 'o':
            opt_o = atoi(optarg);
            break;
        case 'C':
            opt_check = 0;
            break;
        case 'r':
            opt_r = atof(optarg);
            break;
        case '1':
            opt_one = 1;
            break;
        case 't':
            opt_t = atof(optarg);
            break;
        case 'P':
            opt_pid = atol(optarg);
            break;
        case 'L':
            opt_label = optarg;
            break;
        case 'j':
            opt_json = 1;
            break;
        case 'v':
            opt_v = 1;
            break;
        case 'e': {
            char *q = strchr(optarg, ':');
            uint32_t l;
            errno = 0;
            if (!q || nexp == 4) {
                die("-e OFF:HEX, at most 4");
            }
            unsigned char *b = unhex(q + 1, &l);
            exps[nexp].off = atoi(optarg);
            if (exps[nexp].off + l > HEAD) {
                die("-e: past byte 64");
            }
            memcpy(exps[nexp].b, b, l);
            exps[nexp++].len = l;
            free(b);
            break;
        }
        default:
            fprintf(stderr, "usage: kload [-c conns] [-d depth] [-n reqs] [-w warm] -x HEX|-f FILE [-p HEX] [-o OFF] "
                            "[-C] [-e OFF:HEX] [-r rate] [-1] [-t sec] [-P pid] [-L label] [-j] [-v] HOST PORT\n");
            return 1;
        }
    }
    errno = 0;
    if (ac - optind != 2) {
        die("HOST and PORT, please");
    }
    for (int i = 0; i < nh; i++) {
        add_payload(hexes[i]);
    }
    if (file) {
        FILE *f = strcmp(file, "-") ? fopen(file, "r") : stdin;
        if (!f) {
            die(file);
        }
        char *l = NULL;
        size_t cap = 0;
        while (getline(&l, &cap, f) > 0) {
            if (l[0] != '#' && l[0] != '\n') {
                add_payload(l);
            }
        }
        free(l);
        if (f != stdin) {
            fclose(f);
        }
    }
    errno = 0;
    if (!npl) {
        die("no payload (-x or -f)");
    }
    if (opt_c < 1 || opt_d < 1 || opt_n < 1) {
        die("-c, -d, -n must be at least 1");
    }
    warm = opt_w == UINT64_MAX ? opt_n / 10 : opt_w;
    if (warm < 1) {
        warm = 1;
    }
    total = warm + opt_n;
    struct rlimit rl;
    getrlimit(RLIMIT_NOFILE, &rl);
    rl.rlim_cur = rl.rlim_max;
    setrlimit(RLIMIT_NOFILE, &rl);
    if ((rlim_t)opt_c + 16 > rl.rlim_cur) {
        die("more connections than file descriptors");
    }
    struct addrinfo hint = {.ai_socktype = SOCK_STREAM}, *ai;
    if (getaddrinfo(av[optind], av[optind + 1], &hint, &ai)) {
        die("cannot resolve the host");
    }

    ep = epoll_create1(0);
    conn_t *cs = calloc(opt_c, sizeof *cs);
    uint64_t tc0 = now_ns();
    for (int i = 0; i < opt_c; i++) {
        conn_t *c = &cs[i];
        c->pl = &pls[i % npl];
        c->ts = malloc(sizeof(uint64_t) * opt_d);
        c->next_corr = c->expect_corr = 1;
        if (now_ns() - tc0 > (uint64_t)(opt_t * 1e9)) {
            errno = 0;
            die("connecting took longer than -t allows (a short listen backlog? -p makes every connection wait until "
                "it was accepted)");
        }
        c->fd = do_connect(ai, pre.len > 0);
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
        if (epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &ev)) {
            die("epoll_ctl");
        }
    }
    double connect_s = (now_ns() - tc0) / 1e9;

    double cpu0 = 0, cpu1 = 0, u0 = 0, s0 = 0, u1 = 0, s1 = 0;
    long rss0, hwm0, rss1 = 0, hwm1 = 0;
    struct rusage ru0, ru1;
    int timed_out = 0, cpu_marked = 0;
    if (opt_pid) {
        proc_stat(opt_pid, &cpu0, &rss0, &hwm0, &u0, &s0);
    }
    getrusage(RUSAGE_SELF, &ru0);
    uint64_t t0 = now_ns(), deadline = t0 + (uint64_t)(opt_t * 1e9), due = t0, tend = t0, late = 0;
    int rr = 0;
    double gap = opt_r > 0 ? 1e9 / opt_r : 0, duef = t0;
    if (!gap) {
        for (int i = 0; i < opt_c; i++) {
            issue(&cs[i], opt_d, now_ns());
        }
    }
    static struct epoll_event evs[1024];
    while (completed < total) {
        int timeout = 1000;
        if (gap) {
            uint64_t t = now_ns();
            int guard = 0;
            while (due <= t && issued < total && guard < opt_c) {
                conn_t *c = &cs[rr];
                rr = (rr + 1) % opt_c;
                if (c->dead || c->inflight >= (uint32_t)opt_d) {
                    guard++;
                    continue;
                }
                guard = 0;
                if (t - due > 1000000) {
                    late++;
                }
                issue(c, 1, due);
                duef += gap;
                due = (uint64_t)duef;
            }
            timeout = 0;
        }
        int n = epoll_wait(ep, evs, 1024, timeout);
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            }
            die("epoll_wait");
        }
        for (int i = 0; i < n; i++) {
            conn_t *c = evs[i].data.ptr;
            if (c->dead) {
                continue;
            }
            if (evs[i].events & EPOLLOUT) {
                flush_out(c);
            }
            if (c->dead || !(evs[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))) {
                continue;
            }
            ssize_t k = recv(c->fd, rbuf, sizeof rbuf, 0);
            if (k < 0 && (errno == EAGAIN || errno == EINTR)) {
                continue;
            }
            if (k <= 0) {
                mark_dead(c);
                continue;
            }
            reads++;
            rbytes += k;
            uint64_t t = now_ns();
            uint32_t fr = feed(c, rbuf, k, t);
            if (!cpu_marked && completed >= warm) {
                cpu_marked = 1;
                if (opt_pid) {
                    proc_stat(opt_pid, &cpu0, &rss0, &hwm0, &u0, &s0);
                }
                getrusage(RUSAGE_SELF, &ru0);
            }
            if (fr && !gap) {
                issue(c, fr, t);
            }
            tend = t;
        }
        if (now_ns() > deadline) {
            timed_out = 1;
            break;
        }
        if (lost == (uint64_t)opt_c) {
            break;
        }
        if (!gap && lost && issued < total) {
            for (int i = 0; i < opt_c; i++) {
                if (!cs[i].dead && cs[i].inflight < (uint32_t)opt_d) {
                    issue(&cs[i], opt_d, now_ns());
                }
            }
        }
    }
    getrusage(RUSAGE_SELF, &ru1);
    if (opt_pid) {
        proc_stat(opt_pid, &cpu1, &rss1, &hwm1, &u1, &s1);
    }
    double el = (tend - (t_start ? t_start : t0)) / 1e9;
    if (el <= 0) {
        el = 1e-9;
    }
    uint64_t m = completed > warm ? completed - warm : 0;
#define TV(x) ((x).tv_sec + (x).tv_usec / 1e6)
    double mycpu = TV(ru1.ru_utime) + TV(ru1.ru_stime) - TV(ru0.ru_utime) - TV(ru0.ru_stime);
    if (opt_json) {
        printf("{\"label\":\"%s\",\"conns\":%d,\"depth\":%d,\"requests\":%llu,\"seconds\":%.4f,\"rps\":%.0f,\"p50_us\":"
               "%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f,\"mean_us\":%.1f,\"bad_corr\":%"
               "llu,\"bad_bytes\":%llu,\"lost\":%llu,\"timed_out\":%d,\"in_bytes\":%llu,\"out_bytes\":%llu,\"connect_"
               "s\":%.4f,\"load_cpu\":%.3f",
               opt_label, opt_c, opt_d, (unsigned long long)m, el, m / el, hpct(50), hpct(90), hpct(99), hpct(99.9),
               hmax / 1000.0, hcount ? hsum / hcount / 1000 : 0, (unsigned long long)bad_corr,
               (unsigned long long)bad_bytes, (unsigned long long)lost, timed_out, (unsigned long long)rbytes,
               (unsigned long long)wbytes, connect_s, mycpu / el);
        if (gap) {
            printf(",\"rate\":%.0f,\"late\":%llu", opt_r, (unsigned long long)late);
        }
        if (opt_pid) {
            printf(",\"srv_cpu\":%.3f,\"srv_us_per_req\":%.4f,\"srv_user_us\":%.2f,\"srv_sys_us\":%.2f,\"srv_rss_kb\":%"
                   "ld,\"srv_peak_kb\":%ld",
                   (cpu1 - cpu0) / el, m ? (cpu1 - cpu0) * 1e6 / m : 0, m ? (u1 - u0) * 1e6 / m : 0,
                   m ? (s1 - s0) * 1e6 / m : 0, rss1, hwm1);
        }
        printf("}\n");
    } else {
        printf("%s%s%d conns x %d in flight: %llu requests in %.3f s = %.0f req/s  latency us p50 %.1f p90 %.1f p99 "
               "%.1f p99.9 %.1f max %.1f\n",
               opt_label, *opt_label ? ": " : "", opt_c, opt_d, (unsigned long long)m, el, m / el, hpct(50), hpct(90),
               hpct(99), hpct(99.9), hmax / 1000.0);
        printf("  in %llu B, out %llu B, wrong id %llu, wrong bytes %llu, lost connections %llu%s, connect %.3f s, "
               "generator CPU %.0f%%",
               (unsigned long long)rbytes, (unsigned long long)wbytes, (unsigned long long)bad_corr,
               (unsigned long long)bad_bytes, (unsigned long long)lost, timed_out ? ", TIMED OUT" : "", connect_s,
               100 * mycpu / el);
        if (opt_pid) {
            printf(", server CPU %.0f%% = %.2f us/req, RSS %ld kB, peak %ld kB", 100 * (cpu1 - cpu0) / el,
                   m ? (cpu1 - cpu0) * 1e6 / m : 0, rss1, hwm1);
        }
        printf("\n");
    }
    if (opt_v) {
        for (int i = 0; i < NB; i++) {
            if (hist[i]) {
                printf("%10.1f us %llu\n", hval(i) / 1000.0, (unsigned long long)hist[i]);
            }
        }
    }
    return timed_out ? 3 : (bad_corr || bad_bytes || lost) ? 2 : 0;
}
