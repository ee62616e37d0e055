// A server that starts a thread for each request, and its clients: a thread lives for some milliseconds.
// Usage: requests
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

static volatile unsigned long sink;

__attribute__((noinline)) static unsigned long parse(unsigned seed) {
	std::string text;
	for (unsigned i = 0; i < 2000; i++)
		text += char('a' + (seed = seed * 1103515245 + 12345) / 65536 % 26);
	unsigned long sum = 0;
	for (char c : text)
		sum = sum * 31 + c;
	return sum;
}

__attribute__((noinline)) static unsigned long query(unsigned long seed) {
	for (int i = 0; i < 600000; i++)
		seed = seed * 6364136223846793005UL + 1442695040888963407UL;
	return seed;
}

__attribute__((noinline)) static unsigned long sortRows(unsigned long seed) {
	std::vector<unsigned long> rows(8000);
	for (auto &r : rows)
		r = seed = seed * 6364136223846793005UL + 1;
	std::sort(rows.begin(), rows.end());
	return rows[100];
}

__attribute__((noinline)) static unsigned long render(unsigned long seed) {
	char line[64];
	unsigned long sum = 0;
	for (int i = 0; i < 600; i++)
		sum += std::snprintf(line, sizeof line, "%lu of %d: %lx", seed % 1000, i, seed);
	return sum;
}

static void serve(unsigned seed) {
	unsigned long v = parse(seed);
	v = query(v);
	v = sortRows(v);
	sink = render(v);
}

int main() {
	std::vector<std::thread> clients;
	for (unsigned c = 0; c < 4; c++)
		clients.emplace_back([c] {
			for (unsigned n = c;; n += 4) {
				std::thread(serve, n).join();
				std::this_thread::sleep_for(std::chrono::microseconds(500 + n * 7919 % 3000));
			}
		});
	for (auto &c : clients)
		c.join();
}

// SPDX-License-Identifier: Apache-2.0
