#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts releases of PHP that this system lacks into a directory each, for the tests that look at every one that is
# there: setup-phps.sh [DIRECTORY [RELEASE...]]. About 60 MB each. A release is 8.4, or what else has a package
# php8.4-cli, or 8.2-zts, a thread-safe build, which is made on request only: that takes some minutes, and cc and make.
#
# They are Debian's packages of other releases, with the libraries that they need, and npm's of builds for other systems,
# unpacked, not installed. The programs are made to use those libraries (patchelf). Needs root for apt's signing keys
# only, Debian, and npm for 8.3 and 8.5. DIRECTORY/RELEASE then has php, php-fpm and, where it is a file, opcache.so. A
# release that cannot be had is reported, and left out.
#
# For a new release (CONTRIBUTING.md) compare _zend_executor_globals, _zend_op_array, _zend_generator and _zend_fiber
# with "layouts" in internal/walk/runtimes/php/layout.go. A new way to make fibers' stacks: heuristics/stackend.go.
set -eu

dir=${1:-/usr/local/lib/php-releases}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- 7.4 8.3 8.4 8.5
for tool in apt-get dpkg-deb patchelf; do
	if ! command -v $tool >/dev/null 2>&1; then
		echo "setup-phps: $tool is missing; on Debian: apt-get install patchelf" >&2
		exit 1
	fi
done
missing=
for release in "$@"; do
	[ -x "$dir/$release/php" ] || missing="$missing $release"
done
[ -n "$missing" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dir"

# A state of its own, in which nothing is installed. The mirror is the one that this system has.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -v security | grep /debian | head -n 1)
own() {
	apt-get -qq -o Dir::State::Lists="$state/lists" -o Dir::State::status="$state/status" -o Dir::Cache="$state/cache" \
		-o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null -o Dir::Etc::Parts=/dev/null \
		-o APT::Sandbox::User=root -o Acquire::Languages=none -o Debug::NoLocking=1 "$@" </dev/null >&2
}

# from RELEASE: Debian's release that has it.
from() {
	case $1 in
	7.4) echo bullseye ;;
	8.2) echo bookworm ;;
	8.4) echo trixie ;;
	*) echo sid ;;
	esac
}

# packed RELEASE: the package of npm that has it, which is made for another system, with its libraries.
packed() {
	case $1 in
	8.3) echo @libphp/amazon-linux-2-v83 ;;
	8.5) echo @libphp/almalinux-9-v85 ;;
	esac
}

# runs RELEASE: reports and removes it if it does not start.
runs() {
	"$dir/$1/php" -n -r 'exit(0);' 2>"$work/log" && return 0
	echo "setup-phps: PHP $1 does not run here ($(tail -n 1 "$work/log")); it is left out" >&2
	rm -rf "${dir:?}/$1"
}

# build RELEASE: makes a thread-safe build of the source package, as FrankenPHP wants it, with PHP's library and headers.
build() {
	number=${1%-zts}
	state=$work/$1
	mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/made"
	: >"$state/status"
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} $(from "$number") main" \
		>"$state/sources.list"
	(
		cd "$state/made"
		own update && own source --download-only "php$number" && tar xJf "php${number}_"*.orig.tar.xz && cd php-*/ &&
			./configure --prefix="$dir/$1" --mandir="$dir/$1/man" --disable-all --disable-cgi --disable-phpdbg \
				--disable-zend-signals --enable-zts --enable-cli --enable-embed=shared --enable-opcache \
				--enable-zend-max-execution-timers CFLAGS='-O2 -g' && make -j"$(nproc)" && rm -rf "${dir:?}/$1" && make install &&
			ln -s bin/php "$dir/$1/php" && find "$dir/$1/lib" -name opcache.so -exec ln -s {} "$dir/$1/opcache.so" \;
	) >"$work/log" 2>&1
}

for release in $missing; do
	if [ "$release" != "${release%-zts}" ]; then
		if ! build "$release"; then
			echo "setup-phps: PHP $release cannot be made here ($(tail -n 1 "$work/log")); it is left out" >&2
			rm -rf "${dir:?}/$release"
			continue
		fi
		runs "$release"
		continue
	fi
	if [ -n "$(packed "$release")" ]; then
		mkdir "$work/npm-$release"
		if ! (cd "$work/npm-$release" && npm pack --silent "$(packed "$release")" && tar xzf ./*.tgz) >&2; then
			echo "setup-phps: no PHP $release; it is left out" >&2
			continue
		fi
		rm -rf "${dir:?}/$release"
		mkdir "$dir/$release"
		mv "$work/npm-$release/package/native/lib" "$dir/$release/lib"
		for program in php php-fpm; do
			mv "$work/npm-$release/package/native/php/$program" "$dir/$release/$program"
			patchelf --force-rpath --set-rpath "$dir/$release/lib" "$dir/$release/$program"
		done
		runs "$release"
		continue
	fi
	state=$work/$release
	mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/root"
	: >"$state/status"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} $(from "$release") main" \
		>"$state/sources.list"
	packages="php$release-cli php$release-fpm php$release-opcache"
	# shellcheck disable=SC2086 # the list is meant to be split
	if ! own update || ! own install -y --no-install-recommends --download-only $packages; then
		echo "setup-phps: no PHP $release; it is left out" >&2
		continue
	fi
	for deb in "$state"/cache/archives/*.deb; do
		dpkg-deb -x "$deb" "$state/root"
	done
	to=$state/home
	mkdir -p "$to/lib"
	find "$state/root" -name '*.so*' -path '*lib/*' ! -path '*/gconv/*' ! -path '*/php/*' ! -path '*/systemd/*' \
		! -name '*-gdb.py' \
		-exec cp -a {} "$to/lib" \;
	cp "$state/root/usr/bin/php$release" "$to/php"
	cp "$state/root/usr/sbin/php-fpm$release" "$to/php-fpm"
	find "$state/root" -path '*/php/*' -name opcache.so -exec cp {} "$to" \;
	# The loader is looked for where it will lie.
	loader=$(cd "$to/lib" && ls ld-linux-*.so.* 2>/dev/null | head -n 1)
	rm -rf "${dir:?}/$release"
	mv "$to" "$dir/$release"
	for program in php php-fpm; do
		patchelf --force-rpath --set-interpreter "$dir/$release/lib/$loader" --set-rpath "$dir/$release/lib" \
			"$dir/$release/$program"
	done
	runs "$release"
done
