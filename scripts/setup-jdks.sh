#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts Java runtimes of many releases into a directory each, beside those of this system, for the tests and
# benchmarks that look at every one that is there: setup-jdks.sh [DIRECTORY [RELEASE...]]. About 200 MB each.
#
# They are Debian's packages of its development release, unpacked, not installed. They come with that release's C
# library, which the program java is made to use (patchelf). Needs root for apt's signing keys only, and Debian.
# A release that cannot be had is told, and left out.
#
# For a new release (CONTRIBUTING.md) compare what its sources changed with the table of releases in
# internal/walk/runtimes/hotspot/doc.go, which has the file for each: frame_x86.inline.hpp with interpreted.go, stubGenerator
# with rules_x86.go; the order of waiters, objectMonitor.cpp, with internal/show/dump/confirmations.go. gHotSpotVMStructs
# describes the rest: an error of detection names a missing field. Run TestJavaStacksMatchTheSourceByName of integration/oracle with C1, C2 and
# the interpreter.
set -eu

dir=${1:-/usr/local/lib/jvm}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- 8 11 17 21 25 26 27 28
for tool in apt-get dpkg-deb patchelf; do
	if ! command -v $tool >/dev/null 2>&1; then
		echo "setup-jdks: $tool is missing; on Debian: apt-get install patchelf" >&2
		exit 1
	fi
done
arch=$(dpkg --print-architecture)
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

own update
libs=$dir/lib-sid
if [ ! -d "$libs" ]; then
	for package in libc6 libgcc-s1 libstdc++6 zlib1g; do unpack $package "$work/libs"; done
	mkdir -p "$libs"
	find "$work/libs" -name '*.so*' -path '*lib/*' ! -path '*/gconv/*' ! -name '*-gdb.py' -exec cp -a {} "$libs" \;
fi
loader=$(cd "$libs" && ls ld-linux-*.so.* ld-*.so* 2>/dev/null | head -n 1)

for release in "$@"; do
	to=$dir/java-$release
	[ ! -x "$to/bin/java" ] || continue
	if ! unpack "openjdk-$release-jre-headless" "$work/$release"; then
		echo "setup-jdks: no openjdk-$release-jre-headless for $arch; it is left out" >&2
		continue
	fi
	home=$work/$release/usr/lib/jvm/java-$release-openjdk-$arch
	# The packages' settings lie in /etc, which the runtime leads to by absolute links.
	find "$home" -type l -lname '/etc/*' | while read -r link; do
		settings=$work/$release$(readlink "$link")
		rm "$link"
		[ ! -e "$settings" ] || cp -r "$settings" "$link"
	done
	find "$home" -type l ! -exec test -e {} \; -delete
	java=$home/bin/java
	[ ! -x "$home/jre/bin/java" ] || java=$home/jre/bin/java
	patchelf --force-rpath --set-interpreter "$libs/$loader" \
		--set-rpath "\$ORIGIN/../lib:\$ORIGIN/../lib/jli:\$ORIGIN/../lib/$arch/jli:$libs" "$java"
	if ! "$java" -version >/dev/null 2>&1; then
		echo "setup-jdks: java of release $release does not run here; it is left out" >&2
		continue
	fi
	rm -rf "$to"
	mv "$home" "$to"
done
