#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup-tests.sh [all|kernels]: installs the programs that the tests need and that are missing, on Debian and its relatives.
#
# Without "all" these are the programs of make test, 280 MB to download: one release of each language, and what else is
# small. As root, or by sudo where it asks for no password, it installs them. As an ordinary user, without apt-get or
# without a network it names in one line what is missing, and ends with status 0: the tests skip what they lack, and the
# summary of make test lists it.
#
# With "all" these are the programs of make test-all, 700 MB to download, further releases of Node and Python, and web
# servers, 60 MB; with "kernels" the few of make test-kernels. Status 1 if one of them cannot be installed.
#
# When nothing is missing it looks at commands only and ends in milliseconds. No service is started:
# the tests run instances of their own, on free loopback ports and in temporary directories.
set -eu

# One line for each need: a command, or a file pattern with a slash; the package; the reason.
needs() {
	if [ "$1" = kernels ]; then
		cat <<'LIST'
gcc                                 gcc                  compiles the test programs in C
/usr/lib/*/libc.a                   libc6-dev            links them
qemu-system-x86_64                  qemu-system-x86      the machine of make test-kernels
python3                             python3              a program in the machine
node                                nodejs               a program in the machine
javac                               default-jdk-headless a program in the machine
LIST
		return 0
	fi
	cat <<'LIST'
gcc                                 gcc                  compiles the test programs in C
g++                                 g++                  compiles the test program in C++
/usr/lib/*/libc.a                   libc6-dev            links the static position-independent test program
strip                               binutils             strips test programs; readelf is a reference for unwinding
redis-server                        redis-server         test target: an event loop
redis-benchmark                     redis-tools          load for redis-server
nginx                               nginx-light          test target: several worker processes
wrk                                 wrk                  load for nginx
python3                             python3              test target: an interpreter with native threads
node                                nodejs               test target: JavaScript with a perf map
javac                               default-jdk-headless test target: a JVM; jcmd writes its perf map
rustc                               rustc                test target: Rust names and inlining
gdb                                 gdb                  reference for stacks; a tracer that is there already
strace                              strace               a tracer that stays
eu-stack                            elfutils             second reference for stacks
timeout                             coreutils            bounds every test program
ip                                  iproute2             networks of their own for the agent and its receiver
tmux                                tmux                 the terminal in which prywalk top is looked at
musl-gcc                            musl-tools           compiles test programs with another C library
luajit                              luajit               test target: code made at run time that does not describe itself
/usr/lib/*/libboost_context.so.*    libboost-context1.74.0 test target: fibers of Boost.Context; the library alone
/usr/include/st.h                   libst-dev            the same of State Threads
/usr/include/pth.h                  libpth-dev           the same of GNU Pth
php                                 php-cli              test target: an interpreter
/usr/lib/python3/dist-packages/greenlet python3-greenlet test target: stacks that Python switches
ruby                                ruby                 test target: an interpreter
LIST
	[ "$1" = all ] || return 0
	cat <<'LIST'
/usr/lib/postgresql/*/bin/initdb    postgresql           test target: a process tree with shared memory
pgbench                             postgresql-contrib   load for PostgreSQL
perf                                linux-perf           reference for the distribution of samples
systemd-analyze                     systemd              checks the agent's unit
aarch64-linux-gnu-gcc               gcc-aarch64-linux-gnu compiles test programs for arm64
aarch64-linux-gnu-g++               g++-aarch64-linux-gnu compiles the one in C++
/usr/aarch64-linux-gnu/lib/libc.a   libc6-dev-arm64-cross links them; its libc.so.6 is test data too
qemu-system-aarch64                 qemu-system-arm      the machine of make test-arm64
qemu-system-x86_64                  qemu-system-x86      the machine of make test-kernels
podman                              podman               containers with names
runc                                runc                 runs them
crun                                crun                 runs them, too
catatonit                           catatonit            the first process of a pod
dockerd                             docker.io            containers of another engine, which the tests start
ctr                                 containerd           containers of that engine's part alone
rootlesskit                         rootlesskit          starts Docker as an ordinary user
newuidmap                           uidmap               gives that user's containers further ids
slirp4netns                         slirp4netns          gives that user's engine a network
qemu-aarch64                        qemu-user            test target: code made at run time that describes itself
valgrind                            valgrind             test target: a program that runs translations of another one
mvn                                 maven                fetches web servers in Java
npm                                 npm                  fetches web servers in JavaScript, and releases of Node
/usr/lib/python3/dist-packages/pip  python3-pip          installs PyPI's package that reads Perfetto traces
/usr/include/absl/synchronization/mutex.h libabsl-dev    test target: locks of C++ that store no owner
/usr/share/cargo/registry/parking_lot-* librust-parking-lot-dev test target: locks of Rust that store no owner
mariadbd                            mariadb-server       test target: threads that wait for one row
mariadb-slap                        mariadb-client       load for MariaDB
patchelf                            patchelf             makes releases of Python use their C library
/usr/sbin/php-fpm*                  php-fpm              test target: workers that wait for requests
/usr/share/rubygems-integration/all/specifications/async-http-* ruby-async-http test target: a web server of fibers
dwz                                 dwz                  compresses DWARF, in the test programs of symbols
pypy3                               pypy3                test target: a Python whose compiled code describes nothing
rpm                                 rpm                  installs the rpm package of make dist
debootstrap                         debootstrap          a fresh Debian, in which the deb package is installed
chromium                            chromium             opens the HTML report; a large process to start on
/usr/lib/go-1.19/bin/go              golang-1.19-go       compiles test programs as Debian 12 does
/usr/share/i18n/locales/tr_TR       locales              the source of a locale of make test-hard
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

set=${1:-small}
missing=''
while read -r probe package reason; do
	if ! present "$probe"; then
		missing="$missing $package"
		[ "$set" = small ] || echo "missing: $probe, of the package $package ($reason)" >&2
	fi
done <<LIST
$(needs "$set")
LIST

# incomplete REASON: ends without an installation: a failure, unless it is the small set.
incomplete() {
	if [ "$set" != small ]; then
		echo "setup-tests: $1:$missing" >&2
		exit 1
	fi
	echo "setup-tests: $1; left out are the tests that need:$missing" >&2
	exit 0
}

root=''
if [ "$(id -u)" -ne 0 ]; then
	[ -z "$missing" ] || { sudo -n true 2>/dev/null && root=sudo; } ||
		incomplete "not root, and no sudo without a password"
fi

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

# turkish makes the locale of make test-hard, as root. It is a directory: Debian's locale-gen, which packages run, makes
# the archive of locales anew from a list of its own.
turkish() {
	if locale -a 2>/dev/null | grep -qi '^tr_TR\.utf-\{0,1\}8$' || [ "$(id -u)" -ne 0 ]; then
		return 0
	fi
	localedef --no-archive -i tr_TR -f UTF-8 tr_TR.UTF-8 >&2 ||
		echo "setup-tests: localedef failed; make test-hard lacks the locale tr_TR.UTF-8" >&2
}

all_releases() {
	turkish
	# the oldest and the newest release of Node besides the system's, of npm's packages: where npm is there
	releases setup-nodes.sh /usr/local/lib/node-releases node 16.20.2 26.10.0
	# the newest release of Python whose RLocks have a semaphore, and one whose RLocks have none
	releases setup-pythons.sh /usr/local/lib/python-releases python3 3.13 3.14
	# web servers whose requests are tasks; those that a registry did not give are tried again on another day
	if [ "$(id -u)" -eq 0 ] && [ -z "$(find /usr/local/lib/webservers/.tried -mtime -1 2>/dev/null)" ]; then
		timeout 600 sh "${0%/*}/setup-webservers.sh" ||
			echo "setup-tests: setup-webservers.sh failed; only the web servers that are there are tested" >&2
	fi
	# Google's messages of a Perfetto trace, PyPI's package
	if [ -d /usr/local/lib/perfetto-python ] || [ "$(id -u)" -ne 0 ]; then
		return 0
	fi
	timeout 300 python3 -m pip install --quiet --target /usr/local/lib/perfetto-python perfetto==0.59.1 >&2 ||
		echo "setup-tests: pip failed; traces are not read by Perfetto's package" >&2
}

if [ -z "$missing" ]; then
	[ "$set" != all ] || all_releases
	exit 0
fi
command -v apt-get >/dev/null 2>&1 || incomplete "no apt-get here"
if [ -n "$root" ]; then
	exec sudo -n sh "$0" "$set"
fi

# policy-rc.d answers 101, "not allowed", to every package that wants to start its service. One that
# is there already stays: it is the administrator's.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
	trap 'rm -f "$policy" "$log"' EXIT
	trap 'exit 1' HUP INT TERM
fi

# Another apt may be at work: wait for the lock of dpkg, and try again for the lock of the lists.
try() {
	for pause in $pauses; do
		"$@" </dev/null >"$log" 2>&1 && return 0
		echo "setup-tests: $(tail -n 1 "$log"); trying again in $pause s" >&2
		sleep "$pause"
	done
	"$@" </dev/null >"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		return 1
	}
}
pauses='2 10'
[ "$set" != all ] || pauses='2 10 30 60'
export DEBIAN_FRONTEND=noninteractive
echo "setup-tests: installing$missing" >&2
try apt-get -qq -o Acquire::Retries=2 update || incomplete "apt-get update failed"
# Other releases of Debian name some otherwise.
available='' unavailable=''
for package in $missing; do
	if apt-cache show "$package" >/dev/null 2>&1; then
		available="$available $package"
	else
		unavailable="$unavailable $package"
	fi
done
# shellcheck disable=SC2086 # the list is meant to be split
[ -z "$available" ] ||
	try apt-get -qq -o DPkg::Lock::Timeout=600 -o Acquire::Retries=2 install -y --no-install-recommends $available ||
	incomplete "apt-get install failed"
[ "$set" != all ] || all_releases
missing=$unavailable
[ -z "$missing" ] || incomplete "apt-get knows no such packages"
