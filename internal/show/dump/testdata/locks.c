// A program in which threads wait, one for each kind of thing there is to wait for. Each thread is named after its
// row; the owner of a lock is named "owner". It prints "ready" and the rows' numbers, and ends when its standard
// input does.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t mu_normal = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t mu_recursive, mu_errorcheck, mu_adaptive, mu_robust, mu_pi, mu_shared, mu_dead, mu_gone;
pthread_rwlock_t rw_written = PTHREAD_RWLOCK_INITIALIZER, rw_read = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
sem_t sem;
pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_t owner_thread;
static int pipe_fd[2], event_fd, timer_fd, signal_fd, inotify_fd, epoll_fd, socket_fd[2], file_fd;
static volatile int owner_tid;
static sem_t held;

static void name(const char *s) { pthread_setname_np(pthread_self(), s); }

static void make(pthread_mutex_t *m, int type, int robust, int protocol, int shared) {
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, type);
  if (robust) pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
  if (protocol) pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
  if (shared) pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(m, &a);
}

static void forever(void) { for (;;) pause(); }
static void init_slowly(void) { sem_post(&held); forever(); }

static void *owner(void *unused) {
  name("owner");
  owner_tid = syscall(SYS_gettid);
  pthread_mutex_lock(&mu_normal);
  pthread_mutex_lock(&mu_recursive);
  pthread_mutex_lock(&mu_recursive);
  pthread_mutex_lock(&mu_errorcheck);
  pthread_mutex_lock(&mu_adaptive);
  pthread_mutex_lock(&mu_robust);
  pthread_mutex_lock(&mu_pi);
  pthread_mutex_lock(&mu_shared);
  pthread_rwlock_wrlock(&rw_written);
  pthread_rwlock_rdlock(&rw_read);
  sem_post(&held);
  forever();
  return unused;
}

static void *initer(void *unused) { name("initer"); pthread_once(&once, init_slowly); return unused; }
static void *dying(void *unused) {
  pthread_mutex_lock(&mu_gone);
  return unused;
}

static pthread_mutex_t cond_mu = PTHREAD_MUTEX_INITIALIZER;
static void *wait_mutex(void *m) { pthread_mutex_lock(m); return m; }
static void *wait_timed(void *m) {
  struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += 3600;
  pthread_mutex_timedlock(m, &t); return m;
}
static void *wait_read(void *l) { pthread_rwlock_rdlock(l); return l; }
static void *wait_write(void *l) { pthread_rwlock_wrlock(l); return l; }
static void *wait_cond(void *c) { pthread_mutex_lock(&cond_mu); pthread_cond_wait(c, &cond_mu); return c; }
static void *wait_sem(void *s) { sem_wait(s); return s; }
static void *wait_join(void *unused) { pthread_join(owner_thread, 0); return unused; }
static void *wait_once(void *unused) { pthread_once(&once, init_slowly); return unused; }
static void *wait_read_fd(void *fd) { char b[256]; if (read(*(int *)fd, b, sizeof b)) {} return fd; }
static void *wait_epoll(void *fd) { struct epoll_event e; epoll_wait(*(int *)fd, &e, 1, -1); return fd; }
static void *wait_splice(void *fd) { // from a file to a full pipe
  int full[2], file = open("/proc/self/exe", O_RDONLY);
  if (pipe(full)) return fd;
  fcntl(full[1], F_SETPIPE_SZ, 4096);
  while (splice(file, NULL, full[1], NULL, 4096, 0) > 0) {}
  return fd;
}
static void *wait_poll(void *fd) { struct pollfd p[2] = {{*(int *)fd, POLLIN, 0}, {event_fd, POLLIN, 0}}; poll(p, 2, -1); return fd; }
static void *wait_accept(void *fd) { accept(*(int *)fd, 0, 0); return fd; }
static void *wait_child(void *unused) { wait4(-1, 0, 0, 0); return unused; }
static void *wait_sleep(void *unused) { sleep(3600); return unused; }

struct row { const char *name; void *(*f)(void *); void *arg; };
static sem_t named;
static void *row(void *r_) { struct row *r = r_; name(r->name); sem_post(&named); return r->f(r->arg); }

int main(void) {
  make(&mu_recursive, PTHREAD_MUTEX_RECURSIVE, 0, 0, 0);
  make(&mu_errorcheck, PTHREAD_MUTEX_ERRORCHECK, 0, 0, 0);
  make(&mu_adaptive, PTHREAD_MUTEX_ADAPTIVE_NP, 0, 0, 0);
  make(&mu_robust, 0, 1, 0, 0);
  make(&mu_pi, 0, 0, 1, 0);
  make(&mu_shared, 0, 0, 0, 1);
  make(&mu_gone, 0, 0, 0, 0);
  sem_init(&sem, 0, 0);
  sem_init(&held, 0, 0);
  sem_init(&named, 0, 0);
  if (pipe(pipe_fd)) return 1;
  event_fd = eventfd(0, 0);
  timer_fd = timerfd_create(CLOCK_MONOTONIC, 0);
  sigset_t set; sigemptyset(&set); sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, 0);
  signal_fd = signalfd(-1, &set, 0);
  inotify_fd = inotify_init();
  inotify_add_watch(inotify_fd, "/tmp", IN_DELETE_SELF);
  socketpair(AF_UNIX, SOCK_STREAM, 0, socket_fd);
  epoll_fd = epoll_create1(0);
  struct epoll_event e = {.events = EPOLLIN};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event_fd, &e);
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pipe_fd[0], &e);
  file_fd = socket(AF_INET, SOCK_STREAM, 0);
  listen(file_fd, 8);
  pid_t child = fork();
  if (child == 0) { prctl(PR_SET_PDEATHSIG, SIGKILL); close(0); name("child"); forever(); }

  pthread_t t;
  pthread_create(&owner_thread, 0, owner, 0);
  sem_wait(&held);
  pthread_create(&t, 0, initer, 0);
  sem_wait(&held);
  pthread_create(&t, 0, dying, 0);
  pthread_join(t, 0);
  struct row rows[] = {
    {"normal", wait_mutex, &mu_normal}, {"recursive", wait_mutex, &mu_recursive}, {"errorcheck", wait_mutex, &mu_errorcheck},
    {"adaptive", wait_mutex, &mu_adaptive}, {"robust", wait_mutex, &mu_robust}, {"pi", wait_mutex, &mu_pi},
    {"shared", wait_mutex, &mu_shared}, {"gone", wait_mutex, &mu_gone}, {"timed", wait_timed, &mu_normal},
    {"rdlock", wait_read, &rw_written}, {"wrlock", wait_write, &rw_written}, {"wrlock-read", wait_write, &rw_read},
    {"cond", wait_cond, &cond}, {"sem", wait_sem, &sem}, {"join", wait_join, 0}, {"once", wait_once, 0},
    {"pipe", wait_read_fd, &pipe_fd[0]}, {"eventfd", wait_read_fd, &event_fd}, {"timerfd", wait_read_fd, &timer_fd},
    {"signalfd", wait_read_fd, &signal_fd}, {"inotify", wait_read_fd, &inotify_fd}, {"socket", wait_read_fd, &socket_fd[0]},
    {"epoll", wait_epoll, &epoll_fd}, {"poll", wait_poll, &pipe_fd[0]}, {"splice", wait_splice, NULL}, {"accept", wait_accept, &file_fd},
    {"wait4", wait_child, 0}, {"sleep", wait_sleep, 0},
  };
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    pthread_create(&t, 0, row, &rows[i]);
    sem_wait(&named);
  }
  printf("ready %d %d\n", owner_tid, child);
  fflush(stdout);
  char b;
  while (read(0, &b, 1) > 0) {}
  kill(child, SIGKILL);
  _exit(0);
}
