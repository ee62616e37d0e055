#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches what an emulated arm64 machine needs and no cross compiler brings: Debian's kernel for it, a static
# busybox, the libraries that the single-step oracle runs, and a Java runtime. It prints the directory that then
# holds vmlinuz, busybox, lib and, if it can be had, java. It installs nothing, needs no root, and leaves this
# machine's package lists and architectures alone: apt works in directories of its own. What was fetched once is
# used again; remove the directory to fetch anew.
#
# Status 3, with one line that says why: these packages cannot be had here. Any other status but 0 is
# a fault.
set -eu

dir=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/prywalk/arm64
# What make test-arm64 wants; a directory that an older version of this script filled lacks some.
libs='libz.so.1 libcrypto.so.3 libsqlite3.so.0'
complete() {
	[ -s "$dir/vmlinuz" ] && [ -s "$dir/busybox" ] || return 1
	for lib in $libs; do [ -s "$dir/lib/$lib" ] || return 1; done
}
if complete && [ -x "$dir/java/bin/java" ]; then
	echo "$dir"
	exit 0
fi
lacking() {
	echo "arm64 machine: $1 (by hand: $dir/vmlinuz, $dir/busybox, static, and $libs in $dir/lib)" >&2
	exit 3
}
command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 ||
	lacking "no apt-get and dpkg-deb here to fetch its kernel with"

mkdir -p "$dir"
tmp=$(mktemp -d "$dir/fetch.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial" "$tmp/debs"

# The first options make apt see a machine of the other architecture on which nothing is installed. The
# sandbox user could not write into a directory of ours. A server that does not answer is given up.
apt() {
	tool=$1
	shift
	timeout 240 "$tool" -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
		-o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
		-o Dir::State::Lists="$tmp/lists" -o Dir::Cache="$tmp/cache" -o Dir::State::status=/dev/null \
		-o APT::Sandbox::User="$(id -un)" "$@" </dev/null
}

# first NAME... gives the first of several packages that there is: releases name some differently.
first() {
	for name in "$@"; do
		if apt apt-cache show "$name" 2>/dev/null | grep -q '^Filename:'; then
			echo "$name"
			return
		fi
	done
	lacking "no package $1 for arm64 in the sources of apt (Debian's main archive has it)"
}

# A source that has nothing for arm64 makes update fail; whether that matters shows below.
apt apt-get update >"$tmp/log" 2>&1 || true

# java fetches a runtime, with the settings that its package keeps in /etc. Without one its test is left out.
java() {
	[ ! -x "$dir/java/bin/java" ] || return 0
	package=$(first openjdk-17-jre-headless openjdk-21-jre-headless openjdk-25-jre-headless 2>/dev/null) &&
		mkdir -p "$tmp/java/debs" && cd "$tmp/java/debs" && apt apt-get download "$package" >"$tmp/log" 2>&1 &&
		dpkg-deb -x ./*.deb ../root && home=$(find "$tmp/java/root" -path '*/bin/java' -type f | head -n 1) &&
		[ -n "$home" ] || {
		echo "arm64 machine: no Java runtime for arm64; its test is left out (by hand: one in $dir/java)" >&2
		return 0
	}
	home=${home%/bin/java}
	find "$home" -type l -lname '/etc/*' | while read -r link; do
		settings=$tmp/java/root$(readlink "$link")
		rm "$link"
		[ ! -e "$settings" ] || cp -r "$settings" "$link"
	done
	find "$home" -type l -delete
	rm -rf "$home/legal" "$home/man" "$home/lib/ct.sym" "$dir/java"
	mv "$home" "$dir/java"
}
if complete; then
	java
	echo "$dir"
	exit 0
fi
kernel=$(apt apt-cache depends linux-image-cloud-arm64 2>/dev/null |
	sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
[ -n "$kernel" ] || lacking "no package linux-image-cloud-arm64 in the sources of apt (Debian's main archive has it)"
packages=
for names in busybox-static zlib1g 'libssl3 libssl3t64' 'libsqlite3-0 libsqlite3-0t64'; do
	# shellcheck disable=SC2086 # the alternatives are meant to be split
	packages="$packages $(first $names)" || exit 3
done
cd "$tmp/debs"
# shellcheck disable=SC2086 # the list is meant to be split
apt apt-get download "$kernel" $packages >"$tmp/log" 2>&1 || {
	tail -n 3 "$tmp/log" >&2
	lacking "its packages could not be downloaded"
}
for deb in *.deb; do
	dpkg-deb -x "$deb" ../root
done
cd ..
mkdir -p lib
for lib in $libs; do
	find root -name "$lib" -exec cp -L {} lib/ \;
done
# Each part is put there whole, or not at all.
rm -rf "$dir/lib"
mv lib "$dir/lib"
mv root/boot/vmlinuz-* "$dir/vmlinuz"
mv root/bin/busybox "$dir/busybox" 2>/dev/null || mv root/usr/bin/busybox "$dir/busybox"
complete || {
	echo "arm64 machine: the packages did not hold all that was expected in them: see $dir" >&2
	exit 1
}
java
echo "$dir"
