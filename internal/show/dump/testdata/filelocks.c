// SPDX-License-Identifier: Apache-2.0

// A child holds locks of two files in the directory of the first argument, for which threads of its parent wait, by
// flock(2) and fcntl(2). A third thread waits at a semaphore of System V. Prints "ready" and the child's number.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <signal.h>
#include <unistd.h>

static int file(const char *name) { return open(name, O_RDWR | O_CREAT, 0600); }

static void *byFlock(void *arg) {
  flock(file("flock"), LOCK_EX);
  return NULL;
}

static void *byFcntl(void *arg) {
  struct flock whole = {.l_type = F_WRLCK};
  fcntl(file("fcntl"), F_SETLKW, &whole);
  return NULL;
}

static void *bySemaphore(void *arg) {
  int id = semget(IPC_PRIVATE, 1, 0600);
  struct sembuf down = {0, -1, 0};
  struct timespec hour = {3600, 0};
  semtimedop(id, &down, 1, &hour);
  return NULL;
}

int main(int argc, char **argv) {
  int ready[2];
  char byte;
  if (argc < 2 || chdir(argv[1]) || pipe(ready))
    return 1;
  pid_t child = fork();
  if (!child) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    byFlock(NULL);
    byFcntl(NULL);
    if (write(ready[1], "", 1) == 1)
      pause();
    return 0;
  }
  pthread_t thread;
  if (read(ready[0], &byte, 1) != 1)
    return 1;
  pthread_create(&thread, NULL, byFlock, NULL);
  pthread_create(&thread, NULL, byFcntl, NULL);
  pthread_create(&thread, NULL, bySemaphore, NULL);
  printf("ready %d\n", child);
  fflush(stdout);
  pause();
}
