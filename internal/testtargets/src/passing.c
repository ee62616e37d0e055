// passing FILE THREADS HOLD: threads pass a lock on, and each writes down when it had it. FILE is a shared mapping: the
// number of entries, then for each the thread, and when it had got the lock and was about to let go, CLOCK_MONOTONIC.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ENTRIES (1 << 20)
struct entry { int64_t tid, got, gone; };
struct log { volatile uint64_t n; uint64_t pad; struct entry e[ENTRIES]; };

static struct log *book;
static long hold;
pthread_mutex_t passed = PTHREAD_MUTEX_INITIALIZER;
static volatile long sink;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void *passer(void *unused) {
  int64_t tid = syscall(SYS_gettid);
  for (;;) {
    pthread_mutex_lock(&passed);
    uint64_t n = book->n;
    if (n < ENTRIES) {
      struct entry *e = &book->e[n];
      e->tid = tid;
      e->got = now();
      __atomic_store_n(&book->n, n + 1, __ATOMIC_SEQ_CST);
      if (n % 3 == 0) usleep(hold);
      else while (now() < e->got + hold * 1000) sink++;
      __atomic_store_n(&e->gone, now(), __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&passed);
  }
  return unused;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (ftruncate(fd, sizeof *book)) return 1;
  book = mmap(0, sizeof *book, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  hold = atol(argv[3]);
  for (int i = atoi(argv[2]); i > 0; i--) {
    pthread_t t;
    pthread_create(&t, 0, passer, 0);
  }
  printf("ready 0\n");
  fflush(stdout);
  char b;
  while (read(0, &b, 1) > 0) {}
  _exit(0);
}

// SPDX-License-Identifier: Apache-2.0
