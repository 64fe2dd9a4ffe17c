/* kstorm - N raw classic-protocol members join one group at once.
 *   gcc -O2 -Wall -o kstorm kstorm.c ; kstorm [options] HOST PORT
 *  -c N     members, one connection each (100)      -g GROUP (storm)
 *  -F       flexible versions: JoinGroup v6 SyncGroup v4 Heartbeat v4 (default: v5, v3, v3)
 *  -l MS    the leader syncs last, MS after all the others sent theirs (librdkafka's mock answers a follower that
 *           syncs after the leader with INVALID_REQUEST); default: at once
 *  -4       the -o file holds Heartbeat v4 whatever versions the joining used
 *  -s MS    session timeout (60000)                 -R MS rebalance timeout (60000)
 *  -m B     subscription bytes per member (60)      -a B  assignment bytes per member (60)
 *  -H MS    heartbeat tick while waiting (500)      -t SEC give up (120)
 *  -w MS    send the first JoinGroup alone, the others MS later (0)
 *  -o FILE  write one hex Heartbeat per member (for kload -f)
 *  -P PID   report that process's CPU and memory (1.5 s after the clock's end)
 *  -j       JSON
 *  -k       keep all connections after the report, until standard input ends
 * Clock: first JoinGroup sent -> last SyncGroup answered; connecting (with an ApiVersions v0
 * round trip each) is timed apart. Handles MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
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
typedef struct {
    unsigned char *b;
    size_t n, cap;
} buf_t;
enum { SETTLED_US = 1500000 };
enum { JOINING = 1, SYNCING, SYNCED, HB };
typedef struct {
    int fd, st, idlen;
    char id[256];
    int32_t gen;
    uint32_t corr;
    buf_t in, out;
    size_t off;
    int wout;
} mem_t;
static int keep, N = 100, flex, sess = 60000, reb = 60000, metab = 60, asgb = 60, tick = 500, json, firstwait;
static double tmo = 120;
static long pid;
static const char *group = "storm", *ofile;
static mem_t *ms;
static int ep;
static uint64_t ob, ib, nj, ns, nreq79, nreb, nerr, leaders;
static size_t leader_bytes, leader_sync_bytes;
static int lasterr;
static int32_t maxgen = -1;
static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static void die(const char *m) {
    perror(m);
    exit(1);
}
static void need(buf_t *b, size_t k) {
    if (b->n + k > b->cap) {
        b->cap = (b->n + k) * 2 + 256;
        b->b = realloc(b->b, b->cap);
    }
}
static void pb(buf_t *b, const void *p, size_t k) {
    need(b, k);
    memcpy(b->b + b->n, p, k);
    b->n += k;
}
static void p8(buf_t *b, int v) {
    unsigned char c = v;
    pb(b, &c, 1);
}
static void p16(buf_t *b, int v) {
    unsigned char c[2] = {v >> 8, v};
    pb(b, c, 2);
}
static void p32(buf_t *b, uint32_t v) {
    unsigned char c[4] = {v >> 24, v >> 16, v >> 8, v};
    pb(b, c, 4);
}
static void puv(buf_t *b, uint32_t v) {
    while (v >= 128) {
        p8(b, (v & 127) | 128);
        v >>= 7;
    }
    p8(b, v);
}
static void pstr(buf_t *b, const char *s, int n) {
    if (n < 0) {
        if (flex) {
            p8(b, 0);
        } else {
            p16(b, -1);
        }
        return;
    }
    if (flex) {
        puv(b, n + 1);
    } else {
        p16(b, n);
    }
    pb(b, s, n);
}
static void pbytes(buf_t *b, int n) {
    if (flex) {
        puv(b, n + 1);
    } else {
        p32(b, n);
    }
    need(b, n);
    memset(b->b + b->n, 0, n);
    b->n += n;
}
static void parr(buf_t *b, int n) {
    if (flex) {
        puv(b, n + 1);
    } else {
        p32(b, n);
    }
}
static void ptag(buf_t *b) {
    if (flex) {
        p8(b, 0);
    }
}
static uint32_t g32(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}
static int g16(const unsigned char *p) {
    return (int16_t)(p[0] << 8 | p[1]);
}
static uint32_t guv(const unsigned char **p) {
    uint32_t v = 0, s = 0;
    for (;;) {
        unsigned char c = *(*p)++;
        v |= (c & 127u) << s;
        if (c < 128) {
            return v;
        }
        s += 7;
    }
}
static int glen(const unsigned char **p, int isbytes) {
    if (flex) {
        return (int)guv(p) - 1;
    }
    if (isbytes) {
        int v = (int)g32(*p);
        *p += 4;
        return v;
    }
    int v = g16(*p);
    *p += 2;
    return v;
}
static size_t hdr(buf_t *b, mem_t *m, int key, int ver) {
    size_t at = b->n;
    p32(b, 0);
    p16(b, key);
    p16(b, ver);
    p32(b, ++m->corr);
    p16(b, 5);
    pb(b, "storm", 5);
    ptag(b);
    return at;
}
static void fin(buf_t *b, size_t at) {
    uint32_t l = b->n - at - 4;
    b->b[at] = l >> 24;
    b->b[at + 1] = l >> 16;
    b->b[at + 2] = l >> 8;
    b->b[at + 3] = l;
}
static void flush(mem_t *m) {
    while (m->off < m->out.n) {
        ssize_t k = send(m->fd, m->out.b + m->off, m->out.n - m->off, MSG_NOSIGNAL);
        if (k < 0) {
            if (errno == EAGAIN) {
                if (!m->wout) {
                    m->wout = 1;
                    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT, .data.ptr = m};
                    epoll_ctl(ep, EPOLL_CTL_MOD, m->fd, &e);
                }
                return;
            }
            die("send");
        }
        ob += k;
        m->off += k;
    }
    m->off = m->out.n = 0;
    if (m->wout) {
        m->wout = 0;
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = m};
        epoll_ctl(ep, EPOLL_CTL_MOD, m->fd, &e);
    }
}
static void join(mem_t *m) {
    buf_t *b = &m->out;
    size_t at = hdr(b, m, 11, flex ? 6 : 5);
    pstr(b, group, strlen(group));
    p32(b, sess);
    p32(b, reb);
    pstr(b, m->id, m->idlen);
    pstr(b, 0, -1);
    pstr(b, "consumer", 8);
    parr(b, 1);
    pstr(b, "range", 5);
    pbytes(b, metab);
    ptag(b);
    ptag(b);
    fin(b, at);
    nj++;
    m->st = JOINING;
    flush(m);
}
static int hbflex = -1;
static void hb(mem_t *m, buf_t *b) {
    size_t at = hdr(b, m, 12, flex ? 4 : 3);
    pstr(b, group, strlen(group));
    p32(b, m->gen);
    pstr(b, m->id, m->idlen);
    pstr(b, 0, -1);
    ptag(b);
    fin(b, at);
}
static void sync_(mem_t *m, const unsigned char *p, int n) {
    buf_t *b = &m->out;
    size_t at = hdr(b, m, 14, flex ? 4 : 3);
    pstr(b, group, strlen(group));
    p32(b, m->gen);
    pstr(b, m->id, m->idlen);
    pstr(b, 0, -1);
    parr(b, n > 0 ? n : 0);
    for (int i = 0; i < n; i++) {
        int l = glen(&p, 0);
        pstr(b, (const char *)p, l);
        p += l;
        l = glen(&p, 0);
        if (l > 0) {
            p += l;
        }
        l = glen(&p, 1);
        if (l > 0) {
            p += l;
        }
        if (flex) {
            p++;
        }
        pbytes(b, asgb);
        ptag(b);
    }
    ptag(b);
    fin(b, at);
    if (n > 0) {
        leader_sync_bytes = b->n - at;
    }
    ns++;
    m->st = SYNCING;
    flush(m);
}
static int synced;
static int leadlast = -1;
static mem_t *lead_m;
static unsigned char *lead_b;
static int lead_n;
static size_t lead_len;
static uint64_t lead_due;
static void on_frame(mem_t *m, const unsigned char *p, uint32_t l) {
    const unsigned char *e = p + l;
    (void)e;
    p += 4;
    if (flex) {
        p++;
    }
    if (m->st == JOINING) {
        p += 4;
        int err = g16(p);
        p += 2;
        int32_t gen = g32(p);
        p += 4;
        int k = glen(&p, 0);
        if (k > 0) {
            p += k;
        }
        const unsigned char *ld;
        int ldn = glen(&p, 0);
        ld = p;
        if (ldn > 0) {
            p += ldn;
        }
        (void)ld;
        int idn = glen(&p, 0);
        if (err == 79) {
            nreq79++;
            memcpy(m->id, p, idn);
            m->idlen = idn;
            join(m);
            return;
        }
        if (err) {
            nerr++;
            lasterr = err;
            if (err == 25) {
                m->idlen = 0;
            }
            join(m);
            return;
        }
        memcpy(m->id, p, idn);
        m->idlen = idn;
        p += idn;
        m->gen = gen;
        if (gen > maxgen) {
            maxgen = gen;
        }
        int n = flex ? (int)guv(&p) - 1 : (int)g32(p);
        if (!flex) {
            p += 4;
        }
        if (n > 0) {
            leaders++;
            leader_bytes = l + 4;
            if (leadlast >= 0) {
                lead_m = m;
                free(lead_b);
                lead_len = e - p;
                lead_b = malloc(lead_len + 8);
                memcpy(lead_b, p, lead_len);
                lead_n = n;
                lead_due = 0;
                m->st = SYNCING;
                return;
            }
        }
        sync_(m, p, n);
        return;
    }
    if (m->st == SYNCING) {
        p += 4;
        int err = g16(p);
        if (err) {
            nreb++;
            lasterr = err;
            join(m);
            return;
        }
        m->st = SYNCED;
        synced++;
        return;
    }
    if (m->st == HB) {
        p += 4;
        int err = g16(p);
        if (err) {
            nreb++;
            lasterr = err;
            synced--;
            if (err == 25) {
                m->idlen = 0;
            }
            join(m);
        } else {
            m->st = SYNCED;
        }
        return;
    }
}
static void pstat(double *cpu, long *rss, long *hwm) {
    char p[64], l[4096];
    FILE *f;
    *cpu = 0;
    *rss = *hwm = 0;
    if (!pid) {
        return;
    }
    snprintf(p, 64, "/proc/%ld/stat", pid);
    if ((f = fopen(p, "r"))) {
        unsigned long u = 0, s = 0;
        if (fgets(l, sizeof l, f)) {
            sscanf(strrchr(l, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &u, &s);
        }
        *cpu = (double)(u + s) / sysconf(_SC_CLK_TCK);
        fclose(f);
    }
    snprintf(p, 64, "/proc/%ld/status", pid);
    if ((f = fopen(p, "r"))) {
        while (fgets(l, sizeof l, f)) {
            sscanf(l, "VmRSS: %ld", rss);
            sscanf(l, "VmHWM: %ld", hwm);
        }
        fclose(f);
    }
}
int main(int ac, char **av) {
    int o;
    while ((o = getopt(ac, av, "c:g:F4l:s:R:m:a:H:t:w:o:P:jk")) != -1) {
        switch (o) {
        case 'c':
            N = atoi(optarg);
            break;
        case 'g':
            group = optarg;
            break;
        case 'F':
            flex = 1;
            break;
        case '4':
            hbflex = 1;
            break;
        case 'l':
            leadlast = atoi(optarg);
            break;
        case 's':
            sess = atoi(optarg);
            break;
        case 'R':
            reb = atoi(optarg);
            break;
        case 'm':
            metab = atoi(optarg);
            break;
        case 'a':
            asgb = atoi(optarg);
            break;
        case 'H':
            tick = atoi(optarg);
            break;
        case 't':
            tmo = atof(optarg);
            break;
        case 'w':
            firstwait = atoi(optarg);
            break;
        case 'o':
            ofile = optarg;
            break;
        case 'P':
            pid = atol(optarg);
            break;
        case 'j':
            json = 1;
            break;
        case 'k':
            keep = 1;
            break;
        default:
            return 1;
        }
    }
    if (ac - optind != 2) {
        fprintf(stderr, "HOST PORT\n");
        return 1;
    }
    struct rlimit rl;
    getrlimit(RLIMIT_NOFILE, &rl);
    rl.rlim_cur = rl.rlim_max;
    setrlimit(RLIMIT_NOFILE, &rl);
    struct addrinfo h = {.ai_socktype = SOCK_STREAM}, *ai;
    if (getaddrinfo(av[optind], av[optind + 1], &h, &ai)) {
        die("addr");
    }
    ms = calloc(N, sizeof *ms);
    ep = epoll_create1(0);
    uint64_t c0 = now_ns();
    double cpu0, cpu1, cpuc;
    long rss0, hwm0, rss1, hwm1, rssc, hwmc;
    pstat(&cpuc, &rssc, &hwmc);
    for (int i = 0; i < N; i++) {
        mem_t *m = &ms[i];
        m->fd = socket(ai->ai_family, SOCK_STREAM, 0);
        if (connect(m->fd, ai->ai_addr, ai->ai_addrlen)) {
            die("connect");
        }
        int one = 1;
        setsockopt(m->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        static const unsigned char av0[] = {0, 0, 0, 15, 0, 18, 0, 0, 0, 0, 0, 0, 0, 5, 's', 't', 'o', 'r', 'm'};
        if (send(m->fd, av0, sizeof av0, MSG_NOSIGNAL) < 0) {
            die("send");
        }
        unsigned char t[65536];
        size_t got = 0;
        while (got < 4 || got < 4 + g32(t)) {
            ssize_t k = recv(m->fd, t + got, sizeof t - got, 0);
            if (k <= 0) {
                die("apiversions");
            }
            got += k;
        }
        fcntl(m->fd, F_SETFL, O_NONBLOCK);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = m};
        epoll_ctl(ep, EPOLL_CTL_ADD, m->fd, &e);
    }
    double tconn = (now_ns() - c0) / 1e9;
    pstat(&cpu0, &rss0, &hwm0);
    struct rusage r0, r1;
    getrusage(RUSAGE_SELF, &r0);
    uint64_t t0 = now_ns(), t = t0, next = t0 + tick * 1000000ull, t_lastjoin = 0;
    static struct epoll_event ev[1024];
    int sent = 0, timedout = 0;
    static unsigned char rb[1 << 20];
    join(&ms[sent++]);
    if (firstwait) {
        usleep(firstwait * 1000);
    }
    for (;;) {
        for (int k = 0; k < 64 && sent < N; k++) {
            join(&ms[sent++]); /* interleave sending with reading */
        }
        int n = epoll_wait(ep, ev, 1024, sent < N ? 0 : lead_m ? 1 : 20);
        for (int i = 0; i < n; i++) {
            mem_t *m = ev[i].data.ptr;
            if (ev[i].events & EPOLLOUT) {
                flush(m);
            }
            if (!(ev[i].events & EPOLLIN)) {
                continue;
            }
            ssize_t k = recv(m->fd, rb, sizeof rb, 0);
            if (k == 0) {
                fprintf(stderr, "member %d: connection closed (state %d)\n", (int)(m - ms), m->st);
                return 2;
            }
            if (k < 0) {
                if (errno == EAGAIN) {
                    continue;
                }
                die("recv");
            }
            ib += k;
            pb(&m->in, rb, k);
            size_t p = 0;
            while (m->in.n - p >= 4 && m->in.n - p >= 4 + (size_t)g32(m->in.b + p)) {
                uint32_t l = g32(m->in.b + p);
                int was = m->st;
                on_frame(m, m->in.b + p + 4, l);
                if (was == JOINING && m->st == SYNCING) {
                    t_lastjoin = now_ns();
                }
                p += 4 + l;
            }
            if (p) {
                memmove(m->in.b, m->in.b + p, m->in.n - p);
                m->in.n -= p;
                if (!m->in.n && m->in.cap > 65536) {
                    free(m->in.b);
                    m->in = (buf_t){0};
                }
            }
        }
        t = now_ns();
        if (lead_m) {
            int w = 0;
            if (!lead_due) {
                for (int i = 0; i < N; i++) {
                    if (ms[i].st != SYNCING) {
                        w = 1;
                        break;
                    }
                }
                if (!w) {
                    lead_due = t + leadlast * 1000000ull;
                }
            } else if (t >= lead_due) {
                mem_t *lm = lead_m;
                lead_m = NULL;
                sync_(lm, lead_b, lead_n);
            }
        }
        if (synced == N) {
            int ok = 1;
            for (int i = 0; i < N; i++) {
                if (ms[i].gen != maxgen || ms[i].st == HB) {
                    ok = 0;
                    break;
                }
            }
            if (ok) {
                break;
            }
        }
        if (t - t0 > tmo * 1e9) {
            timedout = 1;
            break;
        }
        if (t > next) {
            next = t + tick * 1000000ull;
            if (sent == N) {
                for (int i = 0; i < N; i++) {
                    if (ms[i].st == SYNCED) {
                        ms[i].st = HB;
                        hb(&ms[i], &ms[i].out);
                        flush(&ms[i]);
                    }
                }
            }
        }
    }
    double el = (t - t0) / 1e9;
    getrusage(RUSAGE_SELF, &r1);
    pstat(&cpu1, &rss1, &hwm1);
    if (pid) { /* The memory counts when all members have settled. */
        double later;
        usleep(SETTLED_US);
        pstat(&later, &rss1, &hwm1);
    }
    double mycpu = r1.ru_utime.tv_sec + r1.ru_utime.tv_usec / 1e6 + r1.ru_stime.tv_sec + r1.ru_stime.tv_usec / 1e6 -
                   r0.ru_utime.tv_sec - r0.ru_utime.tv_usec / 1e6 - r0.ru_stime.tv_sec - r0.ru_stime.tv_usec / 1e6;
    if (json) {
        printf(
            "{\"n\":%d,\"seconds\":%.4f,\"lastjoin\":%.4f,\"connect_s\":%.3f,\"joins\":%llu,\"syncs\":%llu,\"member_id_"
            "required\":%llu,\"rebalance_errs\":%llu,\"errs\":%llu,\"lasterr\":%d,\"gen\":%d,\"leader_resp\":%zu,"
            "\"leader_sync\":%zu,\"out\":%llu,\"in\":%llu,\"my_cpu\":%.3f,\"srv_cpu_s\":%.3f,\"srv_conn_cpu_s\":%.3f,"
            "\"rss0_kb\":%ld,\"rss_conn_kb\":%ld,\"rss_kb\":%ld,\"peak_kb\":%ld,\"timed_out\":%d,\"synced\":%d}\n",
            N, el, t_lastjoin ? (t_lastjoin - t0) / 1e9 : -1, tconn, (unsigned long long)nj, (unsigned long long)ns,
            (unsigned long long)nreq79, (unsigned long long)nreb, (unsigned long long)nerr, lasterr, maxgen,
            leader_bytes, leader_sync_bytes, (unsigned long long)ob, (unsigned long long)ib, mycpu, cpu1 - cpu0,
            cpu0 - cpuc, rssc, rss0, rss1, hwm1, timedout, synced);
    } else {
        printf("%d members stable in %.3f s (last join answered %.3f s; connect %.3f s) joins %llu syncs %llu "
               "id-required %llu rebalance %llu err %llu(last %d) gen %d leader resp %zu B sync %zu B out %llu in %llu "
               "| client cpu %.3f s server cpu %.3f s (connect %.3f) rss %ld -> %ld -> %ld kB peak %ld kB%s\n",
               N, el, t_lastjoin ? (t_lastjoin - t0) / 1e9 : -1, tconn, (unsigned long long)nj, (unsigned long long)ns,
               (unsigned long long)nreq79, (unsigned long long)nreb, (unsigned long long)nerr, lasterr, maxgen,
               leader_bytes, leader_sync_bytes, (unsigned long long)ob, (unsigned long long)ib, mycpu, cpu1 - cpu0,
               cpu0 - cpuc, rssc, rss0, rss1, hwm1, timedout ? " TIMED OUT" : "");
    }
    if (hbflex >= 0) {
        flex = hbflex;
    }
    if (ofile) {
        FILE *f = fopen(ofile, "w");
        for (int i = 0; i < N; i++) {
            buf_t b = {0};
            hb(&ms[i], &b);
            for (size_t k = 4; k < b.n; k++) {
                fprintf(f, "%02x", b.b[k]);
            }
            fputc('\n', f);
            free(b.b);
        }
        fclose(f);
    }
    fflush(stdout);
    while (keep && getchar() != EOF) {
    }
    return timedout ? 3 : 0;
}
