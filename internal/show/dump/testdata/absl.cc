// Threads that wait for locks of abseil that the thread "owner" holds. Each is named after its row. It prints "ready",
// and ends when its standard input does.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "absl/synchronization/mutex.h"

absl::Mutex mutex, other;
absl::CondVar condition;

static void Forever() { for (;;) pause(); }
static void WaitMutex() { mutex.Lock(); Forever(); }
static void WaitRead() { mutex.ReaderLock(); Forever(); }
static void WaitCond() { absl::MutexLock held(&other); for (;;) condition.Wait(&other); }

static void Start(const char *name, void (*f)()) {
  std::thread([=] { pthread_setname_np(pthread_self(), name); f(); }).detach();
}

int main() {
  mutex.Lock();
  Start("mutex", WaitMutex);
  Start("read", WaitRead);
  Start("cond", WaitCond);
  puts("ready");
  fflush(stdout);
  char b;
  while (read(0, &b, 1) > 0) {}
  _exit(0);
}
