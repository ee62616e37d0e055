#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches what benchmarks/java measures with, from Maven's central repository, into a directory:
#
#   scripts/setup-java-load.sh DIR
#
# Jackson, H2 and Lucene are libraries of the load; async-profiler is a peer. Needs mvn, a JDK and python3.
set -eu

[ $# -eq 1 ] || {
	echo "usage: setup-java-load.sh DIR" >&2
	exit 2
}
mkdir -p "$1"
dir=$(cd "$1" && pwd)
jackson=com.fasterxml.jackson.core
for artifact in $jackson:jackson-databind:2.17.2 $jackson:jackson-core:2.17.2 $jackson:jackson-annotations:2.17.2 \
	com.h2database:h2:2.2.224 org.apache.lucene:lucene-core:9.11.1; do
	mvn -q dependency:copy -Dartifact=$artifact -DoutputDirectory="$dir"
done
case $(uname -m) in
x86_64) arch=linux-x64 ;;
*) arch=linux-arm64 ;;
esac
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mvn -q dependency:copy -Dartifact=tools.profiler:async-profiler:4.0 -DoutputDirectory="$tmp"
python3 -m zipfile -e "$tmp"/async-profiler-*.jar "$tmp/all"
cp "$tmp/all/$arch/libasyncProfiler.so" "$dir/"
