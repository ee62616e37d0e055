// SPDX-License-Identifier: Apache-2.0

package main

import "os"

type program struct {
	name, what, language string
	waits                bool
	source               bool
	// prepare is a shell's command before each run, not measured; may be nil.
	prepare func(b *bench) string
	args    func(dir string) []string
}

var programs = []program{
	{name: "shell", what: "a script of 100 pipelines of two commands", args: func(string) []string {
		return []string{"bash", "-c", "for i in $(seq 100); do ls -l /usr/bin | sort -k5 -n > /dev/null; done"}
	}},
	{name: "build", what: "`go build -a` of five packages", args: func(dir string) []string {
		return []string{"env", "GOFLAGS=", "GO111MODULE=off", "GOCACHE=" + dir + "/cache", "go", "build", "-a",
			"unicode", "unicode/utf8", "math/bits", "container/ring", "internal/cpu"}
	}},
	{name: "module", what: "`go build` of prywalk, empty cache", prepare: emptyCache, args: func(dir string) []string {
		return []string{"env", "GOFLAGS=", "GOCACHE=" + dir + "/cache", "go", "build", "-C", here(), "-o", dir + "/built",
			"./cmd/prywalk"}
	}},
	{name: "cargo", what: "`cargo build` of six crates", prepare: crates, args: func(dir string) []string {
		return []string{"cargo", "build", "-q", "--offline", "--manifest-path", dir + "/crates/Cargo.toml"}
	}},
	{name: "make", what: "`make -j2` of a C program", source: true, prepare: configured, args: func(dir string) []string {
		return []string{"make", "-s", "-j2", "-C", dir + "/source"}
	}},
	{name: "configure", what: "`./configure` of it", source: true, prepare: unpacked, args: func(dir string) []string {
		return []string{"sh", "-c", "cd " + dir + "/source && exec ./configure"}
	}},
	{name: "pgbench", what: "`pgbench -C`, 400 connections", prepare: database, args: func(dir string) []string {
		return []string{"sh", "-c", connections, "shortlives", dir}
	}},
	{name: "threads", what: "Python, a thread of 5 ms for each of 200 requests", language: "python", waits: true,
		args: func(string) []string {
			return []string{"python3", "-c", pythonWork + `
for i in range(200):
    t = threading.Thread(target=request)
    t.start()
    t.join()
`}
		}},
	{name: "cxx", what: "C++, a thread of 5 ms for each of 200 requests", waits: true, prepare: cxxServer,
		args: func(dir string) []string { return []string{dir + "/server"} }},
	{name: "forks", what: "Python, a process of 5 ms for each of 200 requests", language: "python", waits: true,
		args: func(string) []string {
			return []string{"python3", "-c", pythonWork + `
for i in range(200):
    pid = os.fork()
    if pid == 0:
        request()
        os._exit(0)
    os.waitpid(pid, 0)
`}
		}},
}

func here() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	return dir
}

func emptyCache(b *bench) string { return "rm -rf '" + b.dir + "/cache'" }

func crates(b *bench) string {
	return "rm -rf '" + b.dir + "/crates' && mkdir '" + b.dir + "/crates' && cd '" + b.dir + `/crates' && ` +
		`printf '[workspace]\nmembers = ["k*"]\nresolver = "2"\n' >Cargo.toml && ` +
		`for k in 1 2 3 4 5 6; do mkdir -p k$k/src; printf '[package]\nname = "k%d"\nversion = "0.1.0"\n` +
		`edition = "2021"\n[dependencies]\n' $k >k$k/Cargo.toml; ` +
		`for d in 1 2 3 4 5; do [ $k = 6 ] && printf 'k%d = { path = "../k%d" }\n' $d $d; done >>k$k/Cargo.toml; ` +
		`for i in $(seq 150); do printf 'pub fn f%d(v: &mut Vec<String>) -> usize { v.push(format!("{:?}", ` +
		`(%d, v.len()))); v.sort(); v.iter().map(|s| s.len()).sum() }\n' $i $i; done >k$k/src/lib.rs; done`
}

func unpacked(b *bench) string {
	return "rm -rf '" + b.dir + "/source' && cp -Rp '" + b.source + "' '" + b.dir + "/source'"
}

func configured(b *bench) string {
	return unpacked(b) + " && cd '" + b.dir + "/source' && ./configure >/dev/null"
}

// database runs as the user of PostgreSQL's package if started by root, which PostgreSQL refuses.
func database(b *bench) string {
	return "cd '" + b.dir + "' || exit; " + postgresUser + `rm -rf data; mkdir data; [ -z "$as" ] || ` +
		`{ chmod 711 .; chown postgres data; }; $as initdb -D data -A trust -U postgres --no-sync && ` + serve +
		`$as pgbench -h "$PWD/data" -U postgres -i -q postgres && kill -INT $!; wait $!`
}

const connections = `cd "$1" || exit; ` + postgresUser + serve +
	`$as pgbench -h "$PWD/data" -U postgres -C -S -n -c 2 -t 200 postgres && kill -INT $!; wait $!`

const (
	postgresUser = `PATH="$(ls -d /usr/lib/postgresql/*/bin | tail -n 1):$PATH"; as=; if [ "$(id -u)" -eq 0 ]; then ` +
		`as="setpriv --reuid postgres --regid postgres --clear-groups"; fi; `
	serve = `$as postgres -D data -h "" -k "$PWD/data" -c fsync=off >data/log 2>&1 & ` +
		`until $as psql -h "$PWD/data" -U postgres -qc "" 2>/dev/null; do kill -0 $! || exit; sleep 0.2; done; `
)

func cxxServer(b *bench) string {
	return "cd '" + b.dir + `' && cat >server.cc <<'END' && g++ -O1 -g -o server server.cc -pthread
#include <ctime>
#include <iostream>
#include <map>
#include <string>
#include <thread>
static double used() {
	timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
static void request() {
	for (double end = used() + 0.005; used() < end;) {
		std::map<std::string, int> words;
		for (int i = 0; i < 100; i++)
			words[std::to_string(i * 7919 % 101)] += i;
	}
}
int main() {
	std::cout << "ready" << std::endl;
	std::cin.get();
	for (int i = 0; i < 200; i++)
		std::thread(request).join();
}
END`
}

const pythonWork = `
import os, threading, time
print("ready", flush=True)
input()
def request():
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        sum(range(200))
`
