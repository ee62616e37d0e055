// A C++ program whose stacks hold inlined calls, templates, virtual calls, callbacks and handled
// exceptions.
//
// The one busy thread computes for ever in
//   main > run_load > Work::step > Heavy::run, Middle::run, Light::run    60:30:10
//   main > run_load > sort_numbers > std::sort ... by_remainder
//   main > run_load > count_words > std::map
//   main > run_load > parse_all > parse_one (throws)
// The loop of the three run functions is a template that is inlined into each. It ends by itself
// after the number of seconds given as first argument (default 120).
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#define OUTLINE __attribute__((noinline, noclone))
#define STAY __asm__ volatile("" ::: "memory")

namespace load {

volatile uint64_t sink;

inline uint64_t mix(uint64_t seed)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^ (seed << 17);
}

template <int Count>
__attribute__((always_inline)) inline uint64_t units(uint64_t seed)
{
	for (int i = 0; i < Count * 4000; i++)
		seed = mix(seed);
	return seed;
}

struct Work {
	virtual ~Work() = default;
	virtual uint64_t run(uint64_t seed) const = 0;
	OUTLINE uint64_t step(uint64_t seed) const
	{
		uint64_t r = run(seed | 1);
		STAY;
		return r + seed;
	}
};

struct Heavy : Work {
	OUTLINE uint64_t run(uint64_t seed) const override { return units<60>(seed); }
};
struct Middle : Work {
	OUTLINE uint64_t run(uint64_t seed) const override { return units<30>(seed); }
};
struct Light : Work {
	OUTLINE uint64_t run(uint64_t seed) const override { return units<10>(seed); }
};

OUTLINE bool by_remainder(uint64_t a, uint64_t b) { return a % 1009 < b % 1009; }

OUTLINE uint64_t sort_numbers(uint64_t seed)
{
	std::vector<uint64_t> numbers(2000);
	for (auto &n : numbers)
		n = seed = mix(seed | 1);
	std::sort(numbers.begin(), numbers.end(), by_remainder);
	return numbers[1000];
}

OUTLINE uint64_t count_words(uint64_t seed)
{
	std::map<std::string, int> counts;
	for (int i = 0; i < 300; i++)
		counts[std::to_string((seed = mix(seed | 1)) % 100)]++;
	return counts.size();
}

OUTLINE uint64_t parse_one(uint64_t n)
{
	if (n % 2 == 0)
		throw std::invalid_argument("even");
	return n;
}

OUTLINE uint64_t parse_all(uint64_t seed)
{
	uint64_t failed = 0;
	for (uint64_t i = 0; i < 100; i++) {
		try {
			seed += parse_one(i);
		} catch (const std::invalid_argument &) {
			failed++;
		}
	}
	return seed + failed;
}

OUTLINE void run_load()
{
	std::vector<std::unique_ptr<Work>> works;
	works.push_back(std::make_unique<Heavy>());
	works.push_back(std::make_unique<Middle>());
	works.push_back(std::make_unique<Light>());
	for (uint64_t seed = 1;;) {
		for (auto &w : works)
			seed = w->step(seed);
		seed += sort_numbers(seed) + count_words(seed) + parse_all(seed);
		sink = seed;
	}
}

class Queue {
	std::mutex lock;
	std::condition_variable ready;
	bool filled = false;

public:
	OUTLINE void wait_for_work()
	{
		std::unique_lock<std::mutex> held(lock);
		ready.wait(held, [this] { return filled; });
	}
};

} // namespace load

int main(int argc, char **argv)
{
	alarm(argc > 1 ? std::atoi(argv[1]) : 120);
	static load::Queue queue;
	std::thread consumer([] {
		pthread_setname_np(pthread_self(), "queue");
		queue.wait_for_work();
	});
	consumer.detach();
	std::puts("ready");
	std::fflush(stdout);
	load::run_load();
}

// SPDX-License-Identifier: Apache-2.0
