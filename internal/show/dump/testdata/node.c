// One process of a chain: node [mutex] {read FD | run | nap | child OWN-FD PROGRAM ARG…}
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char **args;

__attribute__((noinline)) void await_reply(int fd) {
  char c;
  while (read(fd, &c, 1) > 0) {
  }
}
__attribute__((noinline)) void compute(void) {
  for (volatile long i = 0;; i++) {
  }
}
__attribute__((noinline)) void nap(void) {
  struct timespec long_time = {3600, 0};
  nanosleep(&long_time, NULL);
}
__attribute__((noinline)) void await_child(int own, char **command) {
  pid_t pid = fork();
  if (pid == 0) {
    close(own);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execv(command[0], command);
    _exit(127);
  }
  for (int fd = 3; fd < 64; fd++) {
    if (fd != own) close(fd);
  }
  waitpid(pid, NULL, 0);
}
static void work(void) {
  if (!strcmp(args[0], "read"))
    await_reply(atoi(args[1]));
  else if (!strcmp(args[0], "run"))
    compute();
  else if (!strcmp(args[0], "nap"))
    nap();
  else
    await_child(atoi(args[1]), args + 2);
}
static void *holder(void *ready) {
  pthread_mutex_lock(&mutex);
  pthread_barrier_wait(ready);
  work();
  return NULL;
}
__attribute__((noinline)) void await_mutex(void) { pthread_mutex_lock(&mutex); }

int main(int n, char **argv) {
  (void)n;
  args = argv + 1;
  if (strcmp(args[0], "mutex")) {
    work();
    return 0;
  }
  args++;
  pthread_barrier_t ready;
  pthread_barrier_init(&ready, NULL, 2);
  pthread_t thread;
  pthread_create(&thread, NULL, holder, &ready);
  pthread_barrier_wait(&ready);
  await_mutex();
}
