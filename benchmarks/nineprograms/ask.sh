#!/bin/sh
# Asks ten programs "where does the CPU go, and what do the sleepers wait for?", and checks that a function of the
# program's own author stands in the first five lines of the default answer.
#
#   sh benchmarks/nineprograms/ask.sh [PRYWALK [PROGRAM…]]
#
# As root it installs what is missing (Debian); else it names what is missing, and leaves those programs out. Servers
# run in a temporary directory, on local ports or sockets. Exit status 1 if a program's answer lacks the function.
# "no names" is said of languages whose functions this build cannot name: that is no answer, and none is claimed.
set -u

here=$(cd "$(dirname "$0")" && pwd)
prywalk=${1:-prywalk}
[ $# -gt 0 ] && shift
chosen=${*:-cpp memcached mariadb postgres go java node python ruby php}
seconds=${SECONDS_EACH:-5}
work=$(mktemp -d)
pids=''
trap 'for p in $pids; do kill -9 "$p" 2>/dev/null; done; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# need COMMAND PACKAGE: whether it is there, installed if that can be.
need() {
	command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] && return 0
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null &&
		DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y --no-install-recommends "$2" >"$work/apt" 2>&1 && return 0
	echo "$program: missing: $1 (package $2)"
	return 1
}

# begin COMMAND…: starts it in the background; its number is in $pid.
begin() {
	"$@" >"$work/out" 2>&1 &
	pid=$!
	pids="$pids $pid"
}

# as_other COMMAND…: as nobody where this is root, which servers refuse to be.
as_other() {
	if [ "$(id -u)" = 0 ]; then chmod 0777 "$work" && setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi
}

# Each starts a program, and sets own: what its author's functions are like.
start_cpp() {
	need g++ g++ && g++ -O1 -g -pthread -o "$work/own" "$here/programs/own.cpp" || return 1
	own='shop::Invoice::total' sleeper='shop::wait_for_cache'
	begin "$work/own"
}
start_memcached() {
	need memcached memcached && need python3 python3 || return 1
	own='process_|conn_|drive_machine|try_read_|complete_nread|assoc_find|event_handler|transmit|item_' sleeper='worker_libevent|memcached'
	begin memcached -u nobody -l 127.0.0.1 -p 17811
	server=$pid
	begin python3 "$here/programs/memload.py" 17811
	pid=$server
}
start_mariadb() {
	need mariadbd mariadb-server && need mariadb mariadb-client || return 1
	own='^ *[0-9.]+%.*(Item_|evaluate_|JOIN|mysql_|do_select|sub_select|Arg_|my_|row_|MYSQL)' sleeper='srv_|tpool|handle_connections|aio'
	mkdir "$work/db" && chmod 0777 "$work/db"
	mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$work/db" >"$work/out" 2>&1 || return 1
	begin mariadbd --no-defaults --user="$(id -un)" --datadir="$work/db" --socket="$work/db/s" --skip-networking
	server=$pid
	for _ in 1 2 3 4 5 6 7 8 9 10; do [ -S "$work/db/s" ] && break; sleep 1; done
	begin mariadb --no-defaults --socket="$work/db/s" -e "SELECT BENCHMARK(100000000000, MD5(CONCAT('a', 1+1)))"
	pid=$server
}
start_postgres() {
	need psql postgresql || return 1
	bin=$(dirname "$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -1)")
	own='Exec|exec|int4|generate_series|tuplestore|heap|eval|agg|transition' sleeper='ServerLoop|WaitEventSet|BackgroundWriter'
	mkdir "$work/pg" && chmod 0777 "$work/pg"
	as_other "$bin/initdb" -A trust -U own -D "$work/pg/data" >"$work/out" 2>&1 || return 1
	as_other "$bin/postgres" -D "$work/pg/data" -k "$work/pg" -c listen_addresses= >"$work/out" 2>&1 &
	server=$!
	pids="$pids $server"
	for _ in 1 2 3 4 5 6 7 8 9 10; do [ -S "$work/pg/.s.PGSQL.5432" ] && break; sleep 1; done
	begin psql -h "$work/pg" -U own -d postgres -c 'SELECT sum(i*i%7) FROM generate_series(1,2000000000) i'
	pid=$server children=--children
}
start_go() {
	need go golang-go && (cd "$here/goprogram" && go build -o "$work/own" own.go) || return 1
	own='main.invoiceTotal' sleeper='main.waitForOrders|runtime'
	begin "$work/own"
}
start_java() {
	need javac default-jdk-headless && javac -d "$work" "$here/programs/Own.java" || return 1
	own='invoiceTotal' sleeper='waitForCache|Monitor|java'
	begin java -cp "$work" Own
	map='jcmd PID Compiler.perfmap'
}
start_node() {
	need node nodejs || return 1
	own='invoiceTotal' sleeper='uv_|epoll|node'
	begin node --perf-basic-prof "$here/programs/own.js"
}
start_python() {
	need python3 python3 || return 1
	own='invoice_total' sleeper='wait_for_cache|lock'
	python3 -X perf -c '' 2>/dev/null && python3 -c 'import sys; sys.exit(sys.version_info < (3, 12))' && flags='-X perf' || flags=
	# shellcheck disable=SC2086
	begin python3 $flags "$here/programs/own.py"
}
start_ruby() {
	need ruby ruby || return 1
	own='invoice_total' sleeper='rb_|ruby'
	ruby --yjit-perf -e '' 2>/dev/null && flags='--yjit --yjit-perf' || { flags=; unnamed='this build names no Ruby methods, and this ruby has no --yjit-perf'; }
	# shellcheck disable=SC2086
	begin ruby $flags "$here/programs/own.rb"
}
start_php() {
	need php php-cli || return 1
	own='invoice_total' sleeper='php|zend' unnamed='this build names no PHP functions'
	begin php "$here/programs/own.php"
}

status=0
for program in $chosen; do
	unnamed='' map='' children=''
	"start_$program" || continue
	sleep 3
	[ -n "$map" ] && $(echo "$map" | sed "s/PID/$pid/") >"$work/map" 2>&1
	if ! "$prywalk" record -p "$pid" $children -d "$seconds" -o "$work/$program.pb.gz" 2>"$work/err"; then
		echo "$program: $(cat "$work/err")"
		status=1
		continue
	fi
	"$prywalk" report "$work/$program.pb.gz" >"$work/report"
	"$prywalk" report --by wait -n 5 "$work/$program.pb.gz" >"$work/waits"
	# The first five rows below the heads of the columns.
	rows=$(sed -n '/self% /,$p' "$work/report" | sed -n 2,6p)
	line=$(printf '%s\n' "$rows" | grep -nE "$own" | head -1)
	sleeps=$(sed -n '/\[running\]/,/^$/!p' "$work/waits" | grep -cE "$sleeper")
	if [ -n "$line" ]; then
		echo "$program: row ${line%%:*}: $(printf '%s' "${line#*:}" | tr -s ' ')"
	elif [ -z "$unnamed" ] && printf '%s\n' "$rows" | grep -q "(unnamed) *$(basename "$(readlink "/proc/$pid/exe")")"; then
		echo "$program: no names: its package is stripped; the report says: $(grep -A1 'For names' "$work/report" | tr '\n' ' ')"
	elif [ -n "$unnamed" ]; then
		echo "$program: no names: $unnamed; the report says: $(grep -A1 'For names' "$work/report" | tr '\n' ' ')"
	else
		echo "$program: its own function is not in the first five rows:"
		printf '%s\n' "$rows"
		status=1
	fi
	[ "$sleeps" -gt 0 ] && echo "  sleepers: named" || echo "  sleepers: none of the program's own, or there are none"
	kill -9 "$pid" 2>/dev/null
done
exit $status
