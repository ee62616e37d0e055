// A pool of C++: "starved", whose tasks wait for tasks of the same pool, or "idle".
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

struct ThreadPool {
  std::mutex mu;
  std::condition_variable cv;
  std::deque<std::function<void()>> jobs;
  std::vector<std::thread> threads;

  explicit ThreadPool(int n) {
    for (int i = 0; i < n; i++) threads.emplace_back([this] { worker(); });
  }

  void worker() {
    for (;;) {
      std::function<void()> job;
      {
        std::unique_lock<std::mutex> lock(mu);
        cv.wait(lock, [this] { return !jobs.empty(); });
        job = std::move(jobs.front());
        jobs.pop_front();
      }
      job();
    }
  }

  std::future<int> submit(std::function<int()> f) {
    auto task = std::make_shared<std::packaged_task<int()>>(f);
    std::unique_lock<std::mutex> lock(mu);
    jobs.push_back([task] { (*task)(); });
    cv.notify_one();
    return task->get_future();
  }
};

static ThreadPool *pool;
static std::mutex mu;
static std::condition_variable all_in;
static int arrived;

static int outer() {
  {
    std::unique_lock<std::mutex> lock(mu);
    arrived++;
    all_in.notify_all();
    all_in.wait(lock, [] { return arrived >= 4; });
  }
  return pool->submit([] { return 1; }).get();
}

int main(int, char **argv) {
  pool = new ThreadPool(4);
  std::vector<std::future<int>> results;
  if (!strcmp(argv[1], "starved"))
    for (int i = 0; i < 4; i++) results.push_back(pool->submit(outer));
  puts("ready");
  fflush(stdout);
  getchar();
  _exit(0);
}
