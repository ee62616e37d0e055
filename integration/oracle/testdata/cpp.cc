// Runs the C++ library: containers, streams, exceptions.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iomanip>
#include <iostream>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>
#include "mark.h"

static volatile long sink;

struct noisy {
	std::string s;
	explicit noisy(int n) : s(n, 'x') {}
	~noisy() { sink = sink + s.size(); }
};

struct base { virtual ~base() {} virtual int f(int) = 0; };
struct left : virtual base { int f(int n) override { if (n > 3) throw std::runtime_error("left " + std::to_string(n)); return n; } };
struct right : virtual base { int f(int n) override { return n * 2; } };
struct both : left, right { int f(int n) override { noisy k(n); return left::f(n) + right::f(n); } };

__attribute__((noinline)) static int deep(base &b, int n) { noisy k(n); return n == 0 ? b.f(7) : deep(b, n - 1) + 1; }

__attribute__((noinline)) static void exceptions()
{
	both b;
	try { deep(b, 4); } catch (const std::exception &e) { sink = sink + std::string(e.what()).size(); }
	try {
		try { std::vector<int>().at(3); } catch (std::out_of_range &) { noisy k(40); throw; }
	} catch (std::logic_error &e) { sink = sink + 1; }
	try { throw 5; } catch (int i) { sink = sink + i; }
	try { std::stoi("none"); } catch (...) { sink = sink + 2; }
	base *p = &b;
	if (dynamic_cast<right *>(p)) sink = sink + 1;
}

__attribute__((noinline)) static void containers(int round)
{
	std::mt19937 r(round);
	std::vector<int> v(80);
	for (auto &x : v) x = r() % 1000;
	std::sort(v.begin(), v.end());
	std::stable_sort(v.begin(), v.end(), std::greater<int>());
	std::shuffle(v.begin(), v.end(), r);
	std::partial_sort(v.begin(), v.begin() + 10, v.end());
	std::nth_element(v.begin(), v.begin() + 40, v.end());
	std::map<std::string, int> m;
	std::unordered_map<std::string, std::vector<int>> u;
	for (int i = 0; i < 25; i++) {
		std::string k = "key" + std::to_string(r() % 40);
		m[k] += i;
		u[k].push_back(i);
	}
	for (auto &[k, n] : m) sink = sink + k.size() + n;
	m.erase(m.begin());
	std::list<int> l(v.begin(), v.end());
	l.sort();
	l.reverse();
	std::deque<int> d(v.begin(), v.end());
	for (int i = 0; i < 20; i++) { d.push_front(i); d.pop_back(); }
	std::set<int> s(v.begin(), v.end());
	sink = sink + s.count(5) + std::accumulate(d.begin(), d.end(), 0);
	auto sp = std::make_shared<noisy>(5);
	std::function<int(int)> f = [sp, round](int n) { return n + round; };
	sink = sink + f(5);
}

__attribute__((noinline)) static void text(int round)
{
	std::string s = "some text", t;
	for (int i = 0; i < 15; i++) { t += s.substr(i % 5); t.insert(t.size() / 2, "mid"); t.replace(0, 2, "ab"); }
	sink = sink + t.find("mid", 7) + t.rfind("te") + t.compare(s) + std::hash<std::string>()(t);
	std::ostringstream o;
	o << round << ' ' << 3.25 << ' ' << std::hex << 255 << std::setw(10) << std::setfill('*') << "right" << std::setprecision(3) << 1.0 / 3 << std::boolalpha << true << std::endl;
	std::istringstream i(o.str() + " 17 2.5 word\nline two\n");
	int a; double d; std::string w;
	i >> a >> d >> w;
	while (std::getline(i, w)) sink = sink + w.size();
	sink = sink + (long)(std::stod("2.718e3") + std::stol("12345"));
	std::wstring ws(L"wide");
	ws += L" more";
	o << std::put_time(std::localtime(&(const time_t &)*new time_t(round * 100000)), "%c");
}

int main()
{
	for (int round = 0;; round++) {
		MARK("containers"); containers(round);
		MARK("exceptions"); exceptions();
		MARK("text"); text(round);
	}
}
