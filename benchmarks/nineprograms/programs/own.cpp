// A program that computes in one thread, while the others wait for a mutex.
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

namespace shop {
std::mutex cache_mutex;
volatile unsigned long sink;

struct Invoice {
	unsigned long total(unsigned long n) __attribute__((noinline));
};

unsigned long Invoice::total(unsigned long n)
{
	unsigned long sum = 0;
	for (unsigned long i = 1; i < n; i++)
		sum += i * i % 7;
	return sum;
}

__attribute__((noinline)) void wait_for_cache()
{
	std::lock_guard<std::mutex> held(cache_mutex);
	sink = sink + 1;
}
} // namespace shop

int main()
{
	shop::cache_mutex.lock();
	std::vector<std::thread> waiting;
	for (int i = 0; i < 4; i++)
		waiting.emplace_back([] { shop::wait_for_cache(); });
	for (shop::Invoice v;;)
		shop::sink = shop::sink + v.total(10000000 + shop::sink % 2);
}

// SPDX-License-Identifier: Apache-2.0
