// SPDX-License-Identifier: Apache-2.0

// A service that hangs at night: a thread that settles orders has their mutex, and reads a ledger's answer, which never
// comes, as the ledger sleeps in its backup. Six threads of requests wait for the mutex. The threads begin at a byte on
// stdin.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t orders = PTHREAD_MUTEX_INITIALIZER;
static int ledger[2];
static pthread_barrier_t settling;

__attribute__((noinline)) void ask_ledger(void) {
  char c;
  while (read(ledger[0], &c, 1) > 0) {
  }
}
static void *settle(void *unused) {
  prctl(PR_SET_NAME, "settle");
  pthread_mutex_lock(&orders);
  pthread_barrier_wait(&settling);
  ask_ledger();
  return unused;
}
__attribute__((noinline)) void list_orders(void) {
  pthread_mutex_lock(&orders);
  pthread_mutex_unlock(&orders);
}
static void *request(void *unused) {
  prctl(PR_SET_NAME, "request");
  list_orders();
  return unused;
}
__attribute__((noinline)) void backup(void) {
  struct timespec long_time = {3600, 0};
  nanosleep(&long_time, NULL);
}

int main(void) {
  char c;
  pthread_t threads[7];
  pthread_barrier_init(&settling, NULL, 2);
  socketpair(AF_UNIX, SOCK_STREAM, 0, ledger);
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "ledger");
    close(ledger[0]);
    if (write(ledger[1], "", 1) != 1) return 1;
    backup();
    return 0;
  }
  close(ledger[1]);
  if (read(ledger[0], &c, 1) != 1) return 1;  // the ledger has its name
  puts("ready");
  fflush(stdout);
  if (read(0, &c, 1) != 1) return 1;
  pthread_create(&threads[0], NULL, settle, NULL);
  pthread_barrier_wait(&settling);
  for (int i = 1; i < 7; i++) pthread_create(&threads[i], NULL, request, NULL);
  for (int i = 0; i < 7; i++) pthread_join(threads[i], NULL);
  return 0;
}
