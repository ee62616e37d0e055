// What a compiler of C++ has work with.
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

template <int N> struct Deep {
	std::map<std::tuple<int, std::string>, std::variant<int, std::string, double>> map;
	Deep<N - 1> next;
	void fill(int n) {
		std::ostringstream s;
		s << N << n;
		map[{n + N, s.str()}] = std::regex_replace(s.str(), std::regex("[0-9]"), "x");
		next.fill(n + 1);
	}
};
template <> struct Deep<0> {
	void fill(int) {}
};

void all(int n) {
	Deep<40> d;
	d.fill(n);
}

// SPDX-License-Identifier: Apache-2.0
