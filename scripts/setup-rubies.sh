#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts releases of Ruby that this system lacks into a directory each, for the tests that look at every one that is
# there: setup-rubies.sh [DIRECTORY [RELEASE...]]. About 40 MB each. A release is 2.7, 3.3 or 3.4.
#
# They are Debian's packages of other releases, unpacked, not installed. Those that are newer than this system come with
# their C library, which the program is made to use (patchelf). Needs root for apt's signing keys only, and Debian.
# A release that cannot be had is reported, and left out. 4.0, which Debian lacks, is built from its source:
# ./configure --prefix=DIRECTORY/4.0 --disable-install-doc --enable-shared --enable-yjit && make && make install
#
# For a new release (CONTRIBUTING.md) compare vm_core.h, ractor_core.h, thread_pthread.h and iseq.h (gdb prints offsets:
# gdb -ex 'ptype /o struct rb_thread_struct' vm.o), and for labels vm_backtrace.c, with
# internal/walk/runtimes/ruby/layout.go, which has a row for each release; doc.go there lists what else differs.
set -eu

dir=${1:-/usr/local/lib/ruby-releases}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- 2.7 3.3 3.4
missing=
for release in "$@"; do
	[ -x "$dir/$release/bin/ruby" ] || missing="$missing $release"
done
[ -n "$missing" ] || exit 0
for tool in apt-get dpkg-deb patchelf; do
	if ! command -v $tool >/dev/null 2>&1; then
		echo "setup-rubies: $tool is missing; on Debian: apt-get install patchelf" >&2
		exit 1
	fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/debs" "$dir"

# A state of its own: what this system installs is not touched. The mirror is the one that it has.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -v security | grep /debian | head -n 1)
for suite in bullseye sid experimental; do
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} $suite main"
done >"$work/sources.list"
own() {
	apt-get -qq -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" -o Dir::Etc::SourceList="$work/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
		-o APT::Sandbox::User=root -o Acquire::Languages=none "$@" </dev/null >&2
}

# unpack PACKAGE/SUITE DIRECTORY: what the package holds. Non-zero if there is none.
unpack() {
	(cd "$work/debs" && rm -f ./*.deb && own download "$1") || return 1
	dpkg-deb -x "$work"/debs/*.deb "$2"
}

# libraries SUITE PACKAGE...: puts their shared libraries into the directory lib-SUITE.
libraries() {
	to=$dir/lib-$1 suite=$1
	[ ! -d "$to" ] || return 0
	shift
	for package in "$@"; do unpack "$package/$suite" "$work/libs-$suite" || true; done
	mkdir -p "$to"
	find "$work/libs-$suite" -name '*.so*' -path '*lib/*' ! -path '*/gconv/*' ! -name '*-gdb.py' -exec cp -a {} "$to" \;
}

own update
for release in $missing; do
	suite=sid
	case $release in
	2.7) suite=bullseye ;;
	3.4) suite=experimental ;;
	esac
	root=$work/root-$release home=$work/home-$release
	if ! unpack "ruby$release/$suite" "$root" || ! unpack "libruby$release/$suite" "$root"; then
		echo "setup-rubies: no ruby$release; it is left out" >&2
		continue
	fi
	mkdir -p "$home/bin"
	mv "$root/usr/lib" "$home/lib"
	mv "$root/usr/bin/ruby$release" "$home/bin/ruby$release"
	arch=$(basename "$(dirname "$(find "$home/lib" -name 'libruby-*.so.*' -type l | head -n 1)")")
	if [ $suite = bullseye ]; then
		libraries bullseye libgmp10 libcrypt1 libffi7 libyaml-0-2 libssl1.1
		libs=$dir/lib-bullseye
	else
		libraries sid libc6 libgcc-s1 zlib1g libcrypt1 libgmp10 libyaml-0-2 libffi8 libssl3t64 libreadline8t64 libtinfo6
		libs=$dir/lib-sid
		patchelf --set-interpreter "$(find "$libs" -name 'ld-linux-*.so.*' | head -n 1)" "$home/bin/ruby$release"
	fi
	here=$dir/$release
	patchelf --force-rpath --set-rpath "$here/lib/$arch:$libs" "$home/bin/ruby$release"
	path=$here/lib/ruby/$release.0
	cat >"$home/bin/ruby" <<WRAPPER
#!/bin/sh
RUBYLIB=$path:$here/lib/$arch/ruby/$release.0:$here/lib/$arch/ruby/vendor_ruby/$release.0
export RUBYLIB
exec $here/bin/ruby$release --disable-gems "\$@"
WRAPPER
	chmod 755 "$home/bin/ruby"
	rm -rf "${dir:?}/$release"
	mv "$home" "$here"
	if ! "$here/bin/ruby" -e 'require "etc"; require "socket"; Thread.new { 1 }.join' 2>"$work/log"; then
		echo "setup-rubies: ruby$release does not run here ($(tail -n 1 "$work/log")); it is left out" >&2
		rm -rf "$here"
	fi
done
