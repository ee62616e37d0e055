#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test.sh [PACKAGE...]: what make test runs and, with PRYWALK_TESTS=all, make test-all. A package is a directory, as
# ./integration; without any, all are tested. gotestsum runs the tests and prints what failed, tools/testsummary runs
# that twice more, and judges. The events of all tests are kept in bench/test.json.
set -u
cd "$(dirname "$0")/.." || exit 1
kept=$PWD/bench
summary=$kept/testsummary
# sudo has a PATH of its own, without the place where Go is unpacked as its page says.
command -v go >/dev/null 2>&1 || PATH=$PATH:/usr/local/go/bin
# Without HOME, Go knows no directory for what it compiles and downloads. The tests run without it, too.
if [ -z "${HOME:-}" ]; then
	home=$(getent passwd "$(id -u)" | cut -d: -f6)
	export GOCACHE="${GOCACHE:-${home:-/tmp}/.cache/go-build}" GOPATH="${GOPATH:-${home:-/tmp}/go}"
fi

# The program as make build compiles it, the tests, and what these compile, share the standard library: hence no cgo, and
# below -trimpath for every Go command. Packages of tests run side by side, and so do the tests within one that may: most
# of their time they wait for programs that they record. What counts system calls or judges contended servers runs by
# itself: on a busy machine threads are queued and births wait, which takes more system calls, and contended servers
# would take processors from others.
export CGO_ENABLED=0
flags="-vet=off ${TESTFLAGS:--timeout 30m -p 4 -parallel 4}"
# The integration tests build the program themselves: Go does not see that a result that it has kept is of another one,
# hence -count=1. A count of the user's own takes its place.
case " ${GOFLAGS:-}" in
*' -count='*) fresh='' ;;
*) fresh=-count=1 ;;
esac
export GOFLAGS="${GOFLAGS:-} -trimpath"
# The long ones begin first: go test starts packages, and prints their results, in the order that it is given.
long='./integration ./internal/show/dump ./internal/watch/sampler ./cmd/prywalk ./integration/torture
	./internal/store/profile ./docs ./report ./internal/code/symbols ./internal/walk/runtimes/php/live
	./internal/walk/runtimes/ruby/live ./integration/oracle ./internal/walk/runtimes/hotspot/live
	./internal/walk/runtimes/v8/live ./internal/walk/runtimes/cpython/live ./internal/command/recording'
alone='./counts ./deadlocks'

# tests MODULE PACKAGES_AND_FLAGS: the events of some tests.
tests() {
	# shellcheck disable=SC2086 # flags are words
	go -C "$1" test -json $flags ${skip:+"$skip"} $2 || status=1
}

# machine_limit: the flag of what is left for the emulated machines. CI_END is the time when CI ends this; what failed is
# printed before.
machine_limit() {
	[ -z "${TESTFLAGS:-}" ] || return 0
	minutes=50
	if [ -n "${CI_END:-}" ]; then
		left=$(((CI_END - $(date +%s)) / 60 - 4))
		[ "$left" -ge "$minutes" ] || minutes=$left
		[ "$minutes" -ge 1 ] || minutes=1
	fi
	echo "-timeout ${minutes}m"
}

# events PACKAGE...: the events of all tests, or of these packages, for gotestsum.
events() {
	status=0
	skip=''
	[ "${PRYWALK_TESTS:-}" = all ] || skip='-skip=^TestStatistical'
	if [ $# -gt 0 ]; then
		tests . "$fresh $*"
	else
		# The emulated machines take a processor for minutes, each one.
		arm64=${PRYWALK_ARM64:-} kernels=${PRYWALK_KERNELS:-}
		unset PRYWALK_ARM64 PRYWALK_KERNELS
		others=$(go -C benchmarks list ./... | grep -v '/counts$\|/deadlocks$' | tr '\n' ' ')
		tests . "$fresh $long ./..."
		tests benchmarks "-p 2 ./nineprograms $others"
		tests benchmarks "$fresh -p 1 $alone"
		tests tools ./testsummary
		if [ -n "$arm64$kernels" ]; then
			export PRYWALK_ARM64="$arm64" PRYWALK_KERNELS="$kernels"
			# A third of the steps of make test-arm64: an emulated machine takes minutes for those.
			export ORACLE_STEPS="${ORACLE_STEPS:-40000}"
			tests . "$fresh $(machine_limit) ./integration/arm64 ./integration/kernels"
		fi
	fi
	echo "$status" >"$kept/test.status"
}
if [ "${1:-}" = events ]; then
	shift
	events "$@"
	exit "$status"
fi

mkdir -p "$kept" && go -C tools build -trimpath -o "$summary" ./testsummary || exit 1
# The packages that run prywalk copy this one: each would take a second to find that its own is up to date.
export PRYWALK_BUILT="$kept/prywalk"
go build -o "$PRYWALK_BUILT" ./cmd/prywalk || exit 1
# Status 3 of fetch.sh, after a line that says why: the emulated machine cannot be had here.
if [ "${PRYWALK_TESTS:-}" = all ] && [ -z "${PRYWALK_ARM64:-}" ]; then
	PRYWALK_ARM64=$(sh scripts/arm64/fetch.sh)
	case $? in
	0) export PRYWALK_ARM64 ;;
	3) unset PRYWALK_ARM64 ;;
	*) exit 1 ;;
	esac
fi
# Of Debian's kernels the oldest and the newest, without what make test-kernels judges besides: times, stacks that depend
# on the compiler alone, slow programs a second time, and most of package torture. One that cannot be had is skipped by
# its test.
export KERNELS="${KERNELS:-5.10 newest}"
minutes='NoBlockingCall|ShortCounts|RareInterfaces|NoSignalOf|Setuid|ForkAndVfork|NonLeader|ShortLived|KilledTargets'
export KERNELS_SKIP="${KERNELS_SKIP-ClocksAddUp|StacksOfCPrograms/chain-(O0|nocfi)|ManagedLanguages/(node|java)/root|$minutes}"
fetched=0
case " $* " in
'  ' | *' ./... '* | *' ./integration/... '* | *' ./integration/kernels '*)
	if [ "${PRYWALK_TESTS:-}" = all ] && [ -z "${PRYWALK_KERNELS:-}" ] && [ "$(uname -m)" = x86_64 ]; then
		# shellcheck disable=SC2086 # releases are words
		PRYWALK_KERNELS=$(sh scripts/kernels/fetch.sh $KERNELS) || fetched=$?
		export PRYWALK_KERNELS
	fi
	;;
esac
rm -f "$kept/test.status" "$kept/test.json"
complete=''
if [ "${CI:-}" = true ] && [ "$(id -u)" -eq 0 ] && [ "${PRYWALK_TESTS:-}" = all ]; then
	complete=-complete # make test-all has installed all, or failed
fi
go tool -modfile=tools/go.mod gotestsum --format "${TESTFORMAT:-pkgname}" --hide-summary=skipped \
	--jsonfile "$kept/test.json" --raw-command -- sh scripts/test.sh events "$@"
# shellcheck disable=SC2086 # flags are words
"$summary" $complete -modules .,benchmarks,tools -kept bench -status "$(cat "$kept/test.status" || echo 1)" \
	"$kept/test.json" $flags
status=$?
if [ "$fetched" -ne 0 ] && [ "$fetched" -ne 3 ]; then
	echo "FAILED: scripts/kernels/fetch.sh $KERNELS: status $fetched; what it wrote comes before the tests"
	status=1
fi
# The next run may be the user's.
[ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$kept"
exit "$status"
