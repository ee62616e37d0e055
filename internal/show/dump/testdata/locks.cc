// Threads of C++ that wait, named after what they wait for. It prints "ready" and the owner's number, and ends with its
// standard input.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <pthread.h>
#include <semaphore>
#include <shared_mutex>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

std::mutex cxx_mutex;
std::recursive_mutex cxx_recursive;
std::timed_mutex cxx_timed;
std::shared_mutex cxx_shared;
std::condition_variable cxx_cond;
std::mutex cond_mutex;
std::atomic<int> cxx_atomic{0};
std::atomic<int> there{0};

static void forever() { for (;;) pause(); }
struct Slow { Slow() { there++; forever(); } };
static void guarded() { static Slow slow; (void)slow; }

template <class F> static void row(const char *name, F f) {
  std::thread([=] { pthread_setname_np(pthread_self(), name); there++; f(); }).detach();
}

int main() {
  std::atomic<int> owner{0};
  std::thread([&] {
    pthread_setname_np(pthread_self(), "owner");
    cxx_mutex.lock(); cxx_recursive.lock(); cxx_timed.lock(); cxx_shared.lock();
    owner = syscall(SYS_gettid);
    there++;
    forever();
  }).detach();
  while (there < 1) usleep(1000);
  row("initer", [] { guarded(); });
  while (there < 3) usleep(1000);
  row("mutex", [] { std::lock_guard<std::mutex> l(cxx_mutex); });
  row("recursive", [] { cxx_recursive.lock(); });
  row("timed", [] { if (cxx_timed.try_lock_for(std::chrono::hours(1))) {} });
  row("shared", [] { cxx_shared.lock_shared(); });
  row("exclusive", [] { cxx_shared.lock(); });
  row("cond", [] { std::unique_lock<std::mutex> l(cond_mutex); cxx_cond.wait(l); });
  row("guard", [] { guarded(); });
  row("atomic", [] { cxx_atomic.wait(0); });
  while (there < 11) usleep(1000);
  usleep(50000);
  printf("ready %d\n", owner.load());
  fflush(stdout);
  char c;
  while (read(0, &c, 1) > 0) {}
  _exit(0);
}
