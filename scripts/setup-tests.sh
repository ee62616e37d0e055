#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the programs that the tests need and that are missing, on Debian and its relatives.
#
# As root it installs; as anyone else it names the missing packages and exits with status 1.
# When nothing is missing it looks at commands only and ends in milliseconds. No service is started:
# the tests run instances of their own, on free loopback ports and in temporary directories.
set -eu

# One line for each need: a command, or a file pattern with a slash; the package; the reason.
needs() {
	cat <<'LIST'
gcc                                 gcc                  compiles the test programs in C
g++                                 g++                  compiles the test program in C++
/usr/lib/*/libc.a                   libc6-dev            links the static position-independent test program
strip                               binutils             strips test programs; readelf is a reference for unwinding
redis-server                        redis-server         test target: an event loop
redis-benchmark                     redis-tools          load for redis-server
nginx                               nginx-light          test target: several worker processes
wrk                                 wrk                  load for nginx
/usr/lib/postgresql/*/bin/initdb    postgresql           test target: a process tree with shared memory
pgbench                             postgresql-contrib   load for PostgreSQL
python3                             python3              test target: an interpreter with native threads
node                                nodejs               test target: JavaScript with a perf map
javac                               default-jdk-headless test target: a JVM; jcmd writes its perf map
rustc                               rustc                test target: Rust names and inlining
gdb                                 gdb                  reference for stacks; a tracer that is there already
strace                              strace               a tracer that stays
eu-stack                            elfutils             second reference for stacks
perf                                linux-perf           reference for the distribution of samples
timeout                             coreutils            bounds every test program
ip                                  iproute2             networks of their own for the agent and its receiver
systemd-analyze                     systemd              checks the agent's unit
zsh                                 zsh                  completes commands of prywalk on a terminal
fish                                fish                 the same
/usr/share/bash-completion/bash_completion bash-completion what bash needs for the same
tmux                                tmux                 the terminal in which prywalk top is looked at
aarch64-linux-gnu-gcc               gcc-aarch64-linux-gnu compiles test programs for arm64
aarch64-linux-gnu-g++               g++-aarch64-linux-gnu compiles the one in C++
/usr/aarch64-linux-gnu/lib/libc.a   libc6-dev-arm64-cross links them; its libc.so.6 is test data too
qemu-system-aarch64                 qemu-system-arm      the machine of make test-arm64
qemu-aarch64                        qemu-user            test target: code made at run time that describes itself
musl-gcc                            musl-tools           compiles test programs with another C library
/usr/include/absl/synchronization/mutex.h libabsl-dev    test target: locks of C++ that store no owner
/usr/share/cargo/registry/parking_lot-* librust-parking-lot-dev test target: locks of Rust that store no owner
mariadbd                            mariadb-server       test target: threads that wait for one row
mariadb-slap                        mariadb-client       load for MariaDB
patchelf                            patchelf             makes releases of Python use their C library
luajit                              luajit               test target: code made at run time that does not describe itself
guile                               guile-3.0            another, with frames of its own
sbcl                                sbcl                 a third, with frame pointers
/usr/lib/*/libboost_context.so.*    libboost-context1.74.0 test target: fibers of Boost.Context; the library alone
/usr/include/st.h                   libst-dev            the same of State Threads
/usr/include/pth.h                  libpth-dev           the same of GNU Pth
php                                 php-cli              the same of PHP
/usr/sbin/php-fpm*                  php-fpm              test target: workers that wait for requests
ruby                                ruby                 the same of Ruby
rpm                                 rpm                  installs the rpm package of make dist
debootstrap                         debootstrap          a fresh Debian, in which the deb package is installed
chromium                            chromium             opens the HTML report; a large process to start on
/usr/lib/go-1.19/bin/go              golang-1.19-go       compiles test programs as Debian 12 does
LIST
}

present() {
	case $1 in
	*/*)
		for file in $1; do [ -e "$file" ] && return 0; done
		return 1
		;;
	esac
	command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ]
}

missing=''
while read -r probe package reason; do
	if ! present "$probe"; then
		missing="$missing $package"
		echo "missing: $package ($reason)" >&2
	fi
done <<LIST
$(needs)
LIST

# releases SCRIPT DIRECTORY PROGRAM RELEASE RELEASE: adds two releases of a language, as root.
releases() {
	script=$1 dir=$2 program=$3
	shift 3
	if [ -x "$dir/$1/bin/$program" ] && [ -x "$dir/$2/bin/$program" ] || [ "$(id -u)" -ne 0 ]; then
		return 0
	fi
	timeout 300 sh "${0%/*}/$script" "$dir" "$@" >&2 ||
		echo "setup-tests: $script failed; only the releases of $program that are there are tested" >&2
}

all_releases() {
	# the oldest and the newest release of Node besides the system's, of npm's packages: where npm is there
	releases setup-nodes.sh /usr/local/lib/node-releases node 16.20.2 26.10.0
	# the newest release of Python whose RLocks have a semaphore, and one whose RLocks have none
	releases setup-pythons.sh /usr/local/lib/python-releases python3 3.13 3.14
}

if [ -z "$missing" ]; then
	all_releases
	exit 0
fi

if [ "$(id -u)" -ne 0 ]; then
	echo "setup-tests: as root, run: apt-get install --no-install-recommends$missing" >&2
	exit 1
fi
if ! command -v apt-get >/dev/null 2>&1; then
	echo "setup-tests: no apt-get here; install the equivalents of:$missing" >&2
	exit 1
fi

# policy-rc.d answers 101, "not allowed", to every package that wants to start its service. One that
# is there already stays: it is the administrator's.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
	trap 'rm -f "$policy"' EXIT
	trap 'exit 1' HUP INT TERM
fi

# Another apt may be at work: wait for the lock of dpkg, and try again for the lock of the lists.
try() {
	for pause in 2 10 30 60; do
		"$@" </dev/null >&2 && return 0
		echo "setup-tests: trying again in $pause s" >&2
		sleep "$pause"
	done
	"$@" </dev/null >&2
}
export DEBIAN_FRONTEND=noninteractive
try apt-get -qq update
# shellcheck disable=SC2086 # the list is meant to be split
try apt-get -qq -o DPkg::Lock::Timeout=600 install -y --no-install-recommends $missing
all_releases
