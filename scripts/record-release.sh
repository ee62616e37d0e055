#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record-release.sh VERSION makes the small recordings of a release in integration/testdata/releases/VERSION, which every
# later version opens (TestRecordingsOfEachReleaseOpen). It is run once, at the release, as root; they are never made
# again.
set -eu
cd "$(dirname "$0")/.."
version=$1
out=$PWD/integration/testdata/releases/$version
[ ! -e "$out" ] || { echo "$out is there already: the recordings of a release stay as they are" >&2; exit 1; }
work=/tmp/prywalk-release
rm -rf "$work"
mkdir -m 755 "$work"
CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.built=$version" -o "$work/prywalk" ./cmd/prywalk
cd "$work"
PATH=$work:$PATH
prywalk demo-workload &
pid=$!
trap 'kill -9 $pid' EXIT
sleep 0.5
prywalk record -q -d 1 --engine ptrace -o ptrace.pb.gz --stats stats.json -p $pid
prywalk record -q -d 1 -o perf.pb.gz -p $pid
prywalk record -q -d 1 --engine ptrace --aggregate -o aggregate.pb.gz -p $pid
prywalk dump --json --max-depth 4 -p $pid >dump.json
for name in ptrace perf aggregate; do
	prywalk report --json -n 10 $name.pb.gz >$name.json
done
mkdir -p "$out"
mv ./*.pb.gz ./*.json "$out"
rm -rf "$work"
du -sh "$out"
