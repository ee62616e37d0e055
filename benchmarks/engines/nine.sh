#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts nine programs one after the other, and prints a table of where their processor time goes by both engines and
# by perf record: "Nine programs" in benchmarks/results/shares.md.
#
#   sh benchmarks/engines/nine.sh [PRYWALK [PROGRAM…]]
#
# It takes root, and gcc, g++, go, python3, java, redis, PostgreSQL and perf: what is missing is said and left out.
# N recordings of each tool in turn (default 3) of D seconds (default 4).
set -u

here=$(cd "$(dirname "$0")" && pwd)
prywalk=$(realpath "$(command -v "${1:-prywalk}")") || exit 2
[ $# -gt 0 ] && shift
chosen=${*:-bursts requests locks cpp redis go python java postgres}
work=$(mktemp -d)
chmod 0755 "$work"
pids=''
end() {
	for p in $pids; do kill "$p" 2>/dev/null; done
	for p in $pids; do wait "$p" 2>/dev/null; done
	pids=''
}
trap 'end; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkfifo "$work/in" && exec 3<>"$work/in"
(cd "$here/.." && go build -o "$work/" ./engines ./overhead) || exit 2

# begin COMMAND…: starts it in the background; its number is in $pid. Its input stays open.
begin() {
	"$@" <&3 >"$work/out" 2>&1 &
	pid=$!
	pids="$pids $pid"
}
nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'

# Each starts a program, whose number is then in pid, and names it in title.
start_bursts() {
	title='C, bursts of some 100 µs in three threads'
	cc -O1 -g -pthread -o "$work/bursts" "$here/programs/bursts.c" && begin "$work/bursts"
}
start_requests() {
	title='`requests` of `benchmarks/overhead`, 4 clients'
	begin "$work/overhead" workload -kind requests -running 4
}
start_locks() {
	title='`locks` of `benchmarks/overhead`, 8 threads'
	begin "$work/overhead" workload -kind locks -running 8
}
start_cpp() {
	title='C++, a thread for each request'
	g++ -O1 -g -pthread -o "$work/server" "$here/programs/requests.cc" && begin "$work/server"
}
start_redis() {
	title='redis under redis-benchmark'
	begin redis-server --port 17813 --save '' --appendonly no
	server=$pid
	sleep 1
	begin redis-benchmark -q -p 17813 -c 20 -n 1000000000 -t get,set
	pid=$server
}
start_go() {
	title='Go, HTTP server with its 16 clients'
	(cd "$here/programs/goserver" && go build -o "$work/goserver" .) && begin "$work/goserver"
}
start_python() {
	title='Python, a thread for each request'
	begin python3 "$here/programs/threaded.py"
}
start_java() {
	title='a JVM'
	javac -d "$work" "$here/../../internal/testtargets/src/Load.java" || return
	begin java -XX:+UseSerialGC -cp "$work" Load 600
	sleep 10
	jcmd "$pid" Compiler.perfmap >/dev/null # perf record cannot name compiled code else
}
start_postgres() {
	title='a PostgreSQL backend under pgbench -S'
	bin=$(dirname "$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -1)")
	mkdir "$work/pg" && chmod 0777 "$work/pg"
	$nobody "$bin/initdb" -A trust -U own -D "$work/pg/data" >"$work/out" 2>&1 || return
	begin $nobody "$bin/postgres" -D "$work/pg/data" -k "$work/pg" -c listen_addresses=
	for _ in 1 2 3 4 5 6 7 8 9 10; do [ -S "$work/pg/.s.PGSQL.5432" ] && break; sleep 1; done
	"$bin/pgbench" -h "$work/pg" -U own -i -s 5 postgres >"$work/out" 2>&1 || return
	begin "$bin/pgbench" -h "$work/pg" -U own -S -c 1 -T 3600 postgres
	sleep 2
	pid=$(psql -h "$work/pg" -U own -At -c "select pid from pg_stat_activity where query like 'SELECT abalance%'" postgres | head -1)
}

echo '| program | function | perf engine: less `perf record` | ptrace engine: less `perf record` | `perf record` |'
echo '| --- | --- | --- | --- | --- |'
for program in $chosen; do
	title='' pid=''
	if "start_$program" && [ -n "$pid" ]; then
		sleep 2
		"$work/engines" -prywalk "$prywalk" -p "$pid" -n "${N:-3}" -d "${D:-4}" -program "$title" ||
			echo "$program: not recorded" >&2
	else
		echo "$program: did not start: $(tail -3 "$work/out" 2>/dev/null)" >&2
	fi
	end
done
