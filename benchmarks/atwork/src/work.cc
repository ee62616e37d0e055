// Containers, sorting, virtual calls, exceptions, regular expressions, for ever.
#include <algorithm>
#include <map>
#include <memory>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
	virtual ~Shape() = default;
	virtual double area(int n) const = 0;
};
struct Round : Shape {
	double area(int n) const override { return n * 3.14; }
};
struct Square : Shape {
	double area(int n) const override {
		if (n % 100 == 7) throw std::runtime_error("seven");
		return double(n) * n;
	}
};

static long words(int round) {
	std::map<std::string, int> seen;
	for (int i = 0; i < 5000; i++) seen[std::to_string(i * 7919 % 10007 + round)]++;
	std::vector<std::string> order;
	for (auto &p : seen) order.push_back(p.first);
	std::sort(order.begin(), order.end(), [](auto &a, auto &b) { return a.back() < b.back() || (a.back() == b.back() && a > b); });
	static const std::regex pattern("([0-9]+)7([0-4]*)");
	return std::count_if(order.begin(), order.end(), [](auto &w) { return std::regex_match(w, pattern); });
}

static double shapes() {
	std::vector<std::unique_ptr<Shape>> all;
	for (int i = 0; i < 1000; i++) i % 2 ? all.emplace_back(new Round) : all.emplace_back(new Square);
	double sum = 0;
	for (int i = 0; i < 1000; i++) {
		try {
			sum += all[i]->area(i / 2);
		} catch (const std::runtime_error &) {
			sum += 7;
		}
	}
	return sum;
}

int main() {
	volatile double sink = 0;
	for (int round = 0;; round++) sink = sink + words(round & 1023) + shapes();
}

// SPDX-License-Identifier: Apache-2.0
