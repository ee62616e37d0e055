#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts releases of CPython that this system lacks into a directory each, for the tests that look at every one that is
# there: setup-pythons.sh [DIRECTORY [RELEASE...]]. About 40 MB each. A release is 3.14, or 3.14-dbg for the
# interpreter that is built for debugging.
#
# They are Debian's packages of its development release, unpacked, not installed. They come with that release's C
# library, which the program is made to use (patchelf). Needs root for apt's signing keys only, and Debian.
# A release that is not available is left out, with a message.
#
# For a new release (CONTRIBUTING.md) see "To add a release" of internal/walk/runtimes/cpython/doc.go, and add a recorded
# image (internal/testtargets/pythonimages).
set -eu

dir=${1:-/usr/local/lib/python-releases}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- 3.13 3.14 3.15 3.14-dbg
for tool in apt-get dpkg-deb patchelf; do
	if ! command -v $tool >/dev/null 2>&1; then
		echo "setup-pythons: $tool is missing; on Debian: apt-get install patchelf" >&2
		exit 1
	fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/debs" "$dir"

# A state of its own: what this system installs is not touched. The mirror is the one that it has.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -v security | grep /debian | head -n 1)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} sid main" >"$work/sources.list"
own() {
	apt-get -qq -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" -o Dir::Etc::SourceList="$work/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
		-o APT::Sandbox::User=root -o Acquire::Languages=none "$@" </dev/null >&2
}

# unpack PACKAGE DIRECTORY: what the package holds. Non-zero if there is none.
unpack() {
	(cd "$work/debs" && rm -f ./*.deb && own download "$1/sid") || return 1
	dpkg-deb -x "$work"/debs/*.deb "$2"
}

missing=
for release in "$@"; do
	[ -x "$dir/$release/bin/python3" ] || missing="$missing $release"
done
[ -n "$missing" ] || exit 0
own update
libs=$dir/lib-sid
if [ ! -d "$libs" ]; then
	for package in libc6 libgcc-s1 zlib1g libexpat1 libffi8 libssl3t64; do unpack $package "$work/libs" || true; done
	mkdir -p "$libs"
	find "$work/libs" -name '*.so*' -path '*lib/*' ! -path '*/gconv/*' ! -name '*-gdb.py' -exec cp -a {} "$libs" \;
fi
loader=$(cd "$libs" && ls ld-linux-*.so.* ld-*.so* 2>/dev/null | head -n 1)

for release in $missing; do
	version=${release%-dbg}
	to=$work/root-$release
	packages="python$version-minimal libpython$version-minimal libpython$version-stdlib"
	[ "$release" = "$version" ] || packages="$packages python$version-dbg libpython$version-dbg"
	had=yes
	for package in $packages; do
		unpack "$package" "$to" || had=
	done
	python=$to/usr/bin/python$version
	[ "$release" = "$version" ] || python=$to/usr/bin/python$version-dbg
	if [ -z "$had" ] || [ ! -x "$python" ]; then
		echo "setup-pythons: no python$release; it is left out" >&2
		continue
	fi
	mkdir -p "$to/home/bin"
	mv "$to/usr/lib" "$to/home/lib"
	cp "$python" "$to/home/bin/python$version"
	patchelf --force-rpath --set-interpreter "$libs/$loader" --set-rpath "$libs" "$to/home/bin/python$version"
	ln -s "python$version" "$to/home/bin/python3"
	if ! "$to/home/bin/python3" -c 'import threading, asyncio, ctypes' 2>"$work/log"; then
		echo "setup-pythons: python$release does not run here ($(tail -n 1 "$work/log")); it is left out" >&2
		continue
	fi
	rm -rf "${dir:?}/$release"
	mv "$to/home" "$dir/$release"
done
