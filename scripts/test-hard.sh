#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test-hard.sh [ENVIRONMENT...]: make test in each of the environments below, one after the other, and a table of the
# results, bench/hard.md. The output of each is kept in bench/hard. Status 1 if one of them failed.
#
# PACKAGES limits the tests, as PACKAGES="./report ./ptrace"; LIMIT is the most minutes of an environment (60), of which
# busy has twice as many.
set -u
cd "$(dirname "$0")/.." || exit 1
kept=$PWD/bench/hard
table=$PWD/bench/hard.md
all='nohup background no-terminal narrow umask descriptors no-home locale long-tmp shuffled no-ptrace three-times busy'

minutes=${LIMIT:-60}
limit=${minutes}m

few_descriptors() {
	# shellcheck disable=SC3045 # POSIX has no -n; dash, bash and busybox have it
	ulimit -n 256 && "$@"
}

# in_environment NAME: runs make test in an environment.
in_environment() {
	name=$1
	set -- timeout -k 30 "$limit" make test
	case $name in
	# SIGHUP is ignored, and everything that is started inherits that.
	nohup) nohup "$@" </dev/null ;;
	# A shell without job control ignores SIGINT and SIGQUIT in what it starts in the background (POSIX, 2.11).
	background) sh -c '"$@" & wait $!' sh "$@" ;;
	# A new session has no controlling terminal.
	no-terminal) setsid --wait "$@" </dev/null ;;
	# script gives it a terminal of its own, of which it is the foreground job.
	narrow) timeout -k 30 "$limit" script -qefc "stty columns 60 rows 20; exec make test" /dev/null </dev/null ;;
	umask) (umask 077 && "$@") ;;
	descriptors) few_descriptors "$@" ;;
	no-home) env -u HOME "$@" ;;
	# A locale that is not there is taken for C.
	locale)
		if ! locale -a | grep -qi '^tr_TR\.utf-\{0,1\}8$'; then
			echo "test-hard: no locale tr_TR.UTF-8: sudo make setup-all"
			return 2
		fi
		env TZ=Pacific/Chatham LANG=tr_TR.UTF-8 LC_ALL=tr_TR.UTF-8 "$@"
		;;
	long-tmp)
		top=$(mktemp -d)
		dir="$top/a directory with a ü/$(printf '%060d' 0)"
		# Tests run programs as other users.
		chmod 755 "$top" && mkdir -p "$dir" && env TMPDIR="$dir" "$@"
		;;
	shuffled) env GOFLAGS="$GOFLAGS -shuffle=on" "$@" ;;
	# Docker's and Kubernetes' containers lack CAP_SYS_PTRACE: no program that is started has it. Ordinary users have it
	# nowhere.
	no-ptrace)
		[ "$(id -u)" -ne 0 ] || set -- setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace -- "$@"
		"$@"
		;;
	three-times) env GOFLAGS="$GOFLAGS -count=3" "$@" ;;
	# Beside eight, the tests get a third of two processors or less: go test's own limit is longer, too.
	busy)
		set -- timeout -k 30 "$((2 * minutes))m" make test TESTFLAGS="${TESTFLAGS:--timeout 60m -p 4 -parallel 4}"
		computing=''
		for _ in 1 2 3 4 5 6 7 8; do
			sh -c 'while :; do :; done' &
			computing="$computing $!"
		done
		# shellcheck disable=SC2064,SC2086 # these numbers
		trap "kill $computing 2>/dev/null" EXIT
		"$@"
		;;
	*)
		echo "test-hard: no environment $name; there are: $all" >&2
		return 2
		;;
	esac
}

# go test keeps results, and does not see that another environment is another test.
export GOFLAGS="${GOFLAGS:-} -count=1"
mkdir -p "$kept" || exit 1
printf '| environment | result | tests | minutes |\n| --- | --- | --- | --- |\n' >"$table"
failed=0
[ $# -gt 0 ] || {
	# shellcheck disable=SC2086 # the names are words
	set -- $all
}
for name in "$@"; do
	echo "== $name"
	begin=$(date +%s)
	(in_environment "$name") >"$kept/$name.txt" 2>&1
	status=$?
	case $status in
	0) result=passed ;;
	124 | 137) result='**not ended**' ;;
	*) result="**failed** ($status)" ;;
	esac
	[ "$status" -eq 0 ] || failed=1
	numbers=$(tr -d '\r' <"$kept/$name.txt" | grep '^[0-9]* passed, [0-9]* failed, [0-9]* skipped$' | tail -n 1)
	flaky=$(tr -d '\r' <"$kept/$name.txt" | sed -n 's/^DONE [0-9]* tests, \([0-9]* flaky\), .*/, \1/p' | tail -n 1)
	seconds=$(($(date +%s) - begin))
	printf '| %s | %s | %s | %d:%02d |\n' "$name" "$result" "$numbers$flaky" $((seconds / 60)) $((seconds % 60)) |
		tee -a "$table"
done
exit "$failed"
