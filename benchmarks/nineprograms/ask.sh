#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Asks eleven programs "where does the CPU go, and what do the sleepers wait for?", and checks that a function of the
# program's own author stands in the first five lines of the default answer.
#
#   sh benchmarks/nineprograms/ask.sh [PRYWALK [PROGRAM…]]
#
# As root it installs what is missing (Debian); else it names what is missing, and leaves those programs out. Servers
# run in a temporary directory, on local ports or sockets. Exit status 1 if a program that has names is not answered, or
# does not start. "no names: install X" is said of one that has none as it runs: that is no answer, and none is claimed.
set -u

here=$(cd "$(dirname "$0")" && pwd)
prywalk=$(command -v "${1:-prywalk}") || { echo "there is no ${1:-prywalk}" >&2; exit 2; }
prywalk=$(realpath "$prywalk")
[ $# -gt 0 ] && shift
chosen=${*:-cpp memcached memcached_symbols mariadb postgres go java node python ruby php}
seconds=${SECONDS_EACH:-5}
before=${SECONDS_BEFORE:-3} # for a program to get under way
work=$(mktemp -d)
pids='' quit=''
# end ends what runs. A server that ends its own children is asked to, with SIGQUIT.
end() {
	[ -n "$quit" ] && kill -QUIT "$quit" 2>/dev/null && sleep 1
	for p in $pids; do kill -9 "$p" 2>/dev/null && wait "$p" 2>/dev/null; done
	pids='' quit=''
}
trap 'end; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# install WHAT PACKAGE: gets the package that has it, if that can be. Status 2: it is not there.
install() {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null &&
		DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y --no-install-recommends "$2" >"$work/apt" 2>&1 && return 0
	echo "$program: left out: there is no $1 (install $2)"
	return 2
}

# need COMMAND PACKAGE, need_file FILE PACKAGE: whether it is there, installed if that can be. Status 2: it is not.
need() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || install "$1" "$2"; }
need_file() { [ -e "$1" ] || install "$1" "$2"; }

# fetch_source PACKAGE: its source, unpacked below $work, from where apt has the machine's own packages. Apt's lists are
# left as they are. Status 2: it cannot be had.
fetch_source() {
	mkdir -p "$work/lists/partial"
	apt-get indextargets --format 'deb-src $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
		sort -u >"$work/sources.list"
	set -- "$1" -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/lists"
	name=$1
	shift
	(cd "$work" && apt-get "$@" update >apt 2>&1 && apt-get "$@" source "$name" >apt 2>&1) && return 0
	echo "$program: left out: no source of $name: $(tail -1 "$work/apt" 2>/dev/null)"
	return 2
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

# awaits SOCKET: whether a server listens there within half a minute.
awaits() {
	for _ in $(seq 60); do [ -S "$1" ] && return 0; sleep 0.5; done
	return 1
}

# Each starts a program, whose number is then in pid, and sets
#   own      a whole name of one of its author's functions, or of the query's, as an extended regular expression
#   sleeper  the same for what its sleepers are in, '' if it has none
#   unnamed  what gives names, if it can have none as it runs; lacks: if its file turns out to be stripped
#   exported what its file exports all the same, of which a function has to be in the first five rows then
start_cpp() {
	need g++ g++ || return
	g++ -O1 -g -pthread -o "$work/own" "$here/programs/own.cpp" || return
	own='shop::Invoice::total(\(.*)?' sleeper='shop::wait_for_cache(\(.*)?'
	begin "$work/own"
}
memcached_own='drive_machine|event_handler|(process|proxy)_[a-z_]*|try_read_[a-z_]*|conn_[a-z_]*|transmit|resp_[a-z_]*|complete_[a-z_]*|(do_)?item_[a-z_]*|assoc_[a-z_]*|(do_)?store_item|tokenize_command'
memcached_sleeper='worker_libevent|assoc_maintenance_thread|lru_maintainer_thread|item_crawler_thread|slab_rebalance_thread|logger_thread'
start_memcached() {
	need memcached memcached || return
	need python3 python3 || return
	own=$memcached_own sleeper=$memcached_sleeper
	lacks=memcached-dbgsym
	serve_memcached memcached
}
# The same, from the same source, as its makefile leaves it: Debian's has no name that could be found.
start_memcached_symbols() {
	need gcc gcc && need make make && need python3 python3 && need dpkg-source dpkg-dev || return
	need_file /usr/include/event2/event.h libevent-dev || return
	fetch_source memcached || return
	(cd "$work"/memcached-* && ./configure --disable-docs >"$work/out" 2>&1 && make memcached >"$work/out" 2>&1) || return
	own=$memcached_own sleeper=$memcached_sleeper
	serve_memcached "$work"/memcached-*/memcached
}
# serve_memcached BINARY: starts it, and clients that load it.
serve_memcached() {
	"$1" -V >/dev/null || return
	begin "$1" -u nobody -l 127.0.0.1 -p 17811
	server=$pid
	begin python3 "$here/programs/memload.py" 17811
	pid=$server
}
start_mariadb() {
	need mariadbd mariadb-server || return
	need mariadb mariadb-client || return
	own='Item_func_(md5|concat|benchmark)::[a-z_]*|my_md5|md5_[a-z_]*'
	sleeper='handle_manager|slave_deadlock_handler|buf_flush_page_cleaner|signal_hand|handle_connections_sockets|poll_connections|timer_handler|ma_service_thread_control|(tpool|buf|srv|log|btr|my|ma)_[a-z_:]*'
	lacks=mariadb-server-core-dbgsym
	mkdir "$work/db" && chmod 0777 "$work/db"
	mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$work/db" >"$work/out" 2>&1 || return
	begin mariadbd --no-defaults --user="$(id -un)" --datadir="$work/db" --socket="$work/db/s" --skip-networking
	server=$pid
	awaits "$work/db/s" || return
	begin mariadb --no-defaults --socket="$work/db/s" -e "SELECT BENCHMARK(100000000000, MD5(CONCAT('a', 1+1)))"
	pid=$server
}
start_postgres() {
	need pg_config postgresql || need psql postgresql || return
	bin=$(dirname "$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -1)")
	own='hash_bytes|hash_any|hashtext|repeat'
	sleeper='ServerLoop|PostmasterMain|WaitEventSet[A-Za-z]*|WaitLatch[A-Za-z]*|BackgroundWriterMain|CheckpointerMain|WalWriterMain|AutoVacLauncherMain|PostgresMain'
	lacks=postgresql-$(basename "$(dirname "$bin")")-dbgsym
	mkdir "$work/pg" && chmod 0777 "$work/pg"
	as_other "$bin/initdb" -A trust -U own -D "$work/pg/data" >"$work/out" 2>&1 || return
	as_other "$bin/postgres" -D "$work/pg/data" -k "$work/pg" -c listen_addresses= >"$work/out" 2>&1 &
	pids="$pids $!"
	awaits "$work/pg/.s.PGSQL.5432" || return
	server=$(head -1 "$work/pg/data/postmaster.pid") # not the shell that began it
	pids="$pids $server" quit=$server
	begin psql -h "$work/pg" -U own -d postgres -c "SELECT sum(hashtext(repeat('invoice', 1000 + k % 7)))
		FROM generate_series(1, 10000) i, generate_series(1, 10000) j, generate_series(1, 10000) k"
	pid=$server children=--children
}
start_go() {
	need go golang-go || return
	(cd "$here/goprogram" && go build -o "$work/own" own.go) || return
	own='main\.invoiceTotal' sleeper='main\.waitForOrders'
	begin "$work/own"
}
start_java() {
	need javac default-jdk-headless || return
	javac -d "$work" "$here/programs/Own.java" || return
	own='.*Own[.:]+invoiceTotal(\(.*)?' sleeper='.*Own[.:]+waitForCache(\(.*)?'
	begin java -cp "$work" Own
}
start_node() {
	need node nodejs || return
	own='(JS:)?[*~^+]?invoiceTotal( .*)?'
	begin node --perf-basic-prof "$here/programs/own.js"
}
start_python() {
	need python3 python3 || return
	own='invoice_total' sleeper='wait_for_cache'
	begin python3 "$here/programs/own.py"
}
start_ruby() {
	need ruby ruby || return
	own='(.*[#:. ])?invoice_total( .*)?' exported='(rb|ruby)_[a-z0-9_]*'
	if ruby --yjit --yjit-perf -e '' >/dev/null 2>&1; then
		begin ruby --yjit --yjit-perf "$here/programs/own.rb"
		for _ in $(seq 60); do grep -q invoice_total "/tmp/perf-$pid.map" 2>/dev/null && break; sleep 0.5; done # compiled at call 30
	else
		unnamed="Ruby 3.3 or later with YJIT, and start it with --yjit --yjit-perf (this is $(ruby -e 'print RUBY_VERSION'))"
		begin ruby "$here/programs/own.rb"
	fi
}
start_php() {
	need php php-cli || return
	own='(TRACE-[0-9]+|JIT)?\$?(.*::)?invoice_total(\$[0-9]+)?'
	if php -m | grep -q OPcache && php -r 'exit(PHP_VERSION_ID < 80000 ? 1 : 0);'; then
		begin php -d opcache.enable_cli=1 -d opcache.jit=tracing -d opcache.jit_buffer_size=64M -d opcache.jit_debug=0x10 "$here/programs/own.php"
	else
		unnamed='PHP 8.0 or later with OPcache (php-opcache), and start it with opcache.jit_debug=0x10'
		begin php "$here/programs/own.php"
	fi
}

# functions gives the column "function" of a table's rows; the kernel's (process_backlog) are nobody's own: empty.
functions() { sed -E 's/.* \[kernel\]$//; s/^ *([^ ]+ +){4}//; s/  .*$//'; }

# callers prints the functions of the stacks that groups by wait show.
callers() { sed -E 's/^ +//; s/  .*$//; s/ \([^ ()]+\.py\)$//'; }

# ask records the program, and checks the answers. Status 1: one is missing.
ask() {
	if ! "$prywalk" record -p "$pid" $children -d "$seconds" -o "$work/$program.pb.gz" 2>"$work/err"; then
		echo "$program: not recorded: $(cat "$work/err")"
		return 1
	fi
	"$prywalk" report "$work/$program.pb.gz" >"$work/report" || return
	"$prywalk" report -n -1 "$work/$program.pb.gz" | sed -n '/self% /,$p' | functions >"$work/all"
	"$prywalk" report --by wait -n -1 "$work/$program.pb.gz" >"$work/waits" || return
	rows=$(sed -n '/self% /,$p' "$work/report" | sed -n 2,6p) # the first five below the heads of the columns
	row=$(printf '%s\n' "$rows" | functions | grep -nxE "$own" | head -1)
	exe=$(basename "$(readlink "/proc/$pid/exe")")
	failed=0
	if [ -n "$row" ]; then
		echo "$program: row ${row%%:*}: $(printf '%s\n' "$rows" | sed -n "${row%%:*}p" | tr -s ' ')"
	elif [ -n "$unnamed$lacks" ] && ! grep -qxE "$own" "$work/all" && grep -q '(unnamed)' "$work/all"; then
		echo "$program: no names: install ${unnamed:-$lacks}"
		echo "  the report says: $(grep 'For names' "$work/report" | head -1)"
		if [ -n "$exported" ]; then
			known=$(printf '%s\n' "$rows" | functions | grep -xE "$exported" | paste -sd' ')
			echo "  exported functions: ${known:-none}"
			[ -n "$known" ] || failed=1
		fi
	else
		echo "$program: no function of its own is in the first five rows:"
		printf '%s\n' "$rows"
		failed=1
	fi
	[ -n "$sleeper" ] || return $failed
	asleep=$(awk '/^[^ ]/ { shown = !/\[running\]/ } shown' "$work/waits" | callers | grep -xE "$sleeper" | sort | uniq | head -3 | paste -sd' ')
	if [ -n "$asleep" ]; then
		echo "  sleepers: $asleep"
	elif [ -n "$lacks" ] && grep -q "\[$exe\] (unnamed)" "$work/waits"; then
		echo "  sleepers: no names: install $lacks"
	else
		echo "  sleepers: no function of its own"
		failed=1
	fi
	return $failed
}

status=0
cd "$work" || exit
for program in $chosen; do
	unnamed='' lacks='' exported='' children='' sleeper='' pid=''
	"start_$program"
	case $? in
	0) sleep "$before"; ask || status=1 ;;
	2) ;; # left out
	*)
		echo "$program: did not start: $(tail -3 "$work/out" 2>/dev/null)"
		status=1
		;;
	esac
	end
done
exit $status
