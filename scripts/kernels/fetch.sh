#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fetch.sh [RELEASE...]: fetches Debian's kernels that the emulated machines of make test-kernels boot (with ARCH=arm64
# in the environment those of make test-arm64), and a static busybox. It prints the directory that then holds busybox
# and, for each RELEASE (5.10 6.1 6.1-rt 6.12 newest; all without arguments), RELEASE/vmlinuz and RELEASE/version. It
# installs nothing, needs no root, and leaves this machine's
# package lists and sources alone: apt works in directories of its own. What was fetched once is used again; remove the
# directory to fetch anew.
#
# Status 3, with a line that says why, after apt's last ones: a kernel cannot be had here; the directory holds the others.
# Any other status but 0 is a fault.
set -eu

arch=${ARCH:-amd64}
dir=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/prywalk/kernels
[ "$arch" = amd64 ] || dir=$dir-$arch
[ $# -gt 0 ] || set -- 5.10 6.1 6.1-rt 6.12 newest

wanted='' suites=''
for release in "$@"; do
	[ ! -s "$dir/$release/version" ] || continue
	wanted="$wanted $release"
	case $release in
	5.10) suites="$suites bullseye" ;;
	6.1 | 6.1-rt) suites="$suites bookworm" ;;
	6.12) suites="$suites trixie" ;;
	newest) suites="$suites trixie-backports" ;;
	*)
		echo "fetch.sh: $release is none of 5.10 6.1 6.1-rt 6.12 newest" >&2
		exit 2
		;;
	esac
done
if [ -z "$wanted" ] && [ -s "$dir/busybox" ]; then
	echo "$dir"
	exit 0
fi
lacking() {
	echo "kernels: $1 (by hand: RELEASE/vmlinuz and RELEASE/version, its name, in $dir, and a static busybox)" >&2
	[ ! -s "$dir/busybox" ] || echo "$dir"
	exit 3
}
command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 ||
	lacking "no apt-get and dpkg-deb here to fetch them with"

mkdir -p "$dir"
tmp=$(mktemp -d "$dir/fetch.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial"

# The archive is the one that this machine's sources name. A keyring of an older release lacks the keys of newer ones:
# what is fetched runs in an emulated machine only, which has no network and none of this machine's files.
archive=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep '/debian/*$' | head -n 1)
archive=${archive:-http://deb.debian.org/debian}
# busybox is in any suite but that of the newest kernel.
[ -s "$dir/busybox" ] || [ "$suites" != ' trixie-backports' ] || suites="bookworm$suites"
for suite in $(printf '%s\n' $suites | sort -u); do
	echo "deb [trusted=yes] $archive $suite main"
done >"$tmp/sources.list"

# A server that does not answer is given up. The sandbox user could not write into a directory of ours.
apt() {
	tool=$1
	shift
	timeout 300 "$tool" -q -o APT::Architecture="$arch" -o APT::Architectures="$arch" \
		-o Dir::Etc::sourcelist="$tmp/sources.list" -o Dir::Etc::sourceparts=- -o Acquire::Languages=none \
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
		-o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
		-o Dir::State::Lists="$tmp/lists" -o Dir::Cache="$tmp/cache" -o Dir::State::status=/dev/null \
		-o APT::Sandbox::User="$(id -un)" "$@" </dev/null
}
apt apt-get update >"$tmp/log" 2>&1 || true # whether a suite that does not answer matters shows below

# image PACKAGE VERSION: the kernel's package that the newest metapackage of that version depends on.
image() {
	apt apt-cache show "$1" 2>/dev/null | sed -n 's/^Version: /V /p; s/^Depends:.* \(linux-image-[^ ,]*\).*/D \1/p' |
		awk -v want="$2" '$1 == "V" { v = $2 } $1 == "D" && index(v, want) == 1 { print v, $2 }' |
		sort -V | tail -n 1 | cut -d ' ' -f 2
}

# unpack PACKAGE: into $tmp/root. Returns 1 if it cannot be downloaded.
unpack() {
	rm -rf "$tmp/debs" "$tmp/root"
	mkdir "$tmp/debs"
	(cd "$tmp/debs" && apt apt-get download "$1" >"$tmp/log" 2>&1) || {
		tail -n 1 "$tmp/log" >&2
		return 1
	}
	dpkg-deb -x "$tmp"/debs/*.deb "$tmp/root"
}

if [ ! -s "$dir/busybox" ]; then
	unpack busybox-static || lacking "busybox-static could not be downloaded"
	mv "$tmp/root/bin/busybox" "$dir/busybox" 2>/dev/null || mv "$tmp/root/usr/bin/busybox" "$dir/busybox"
fi
lacks=''
for release in $wanted; do
	meta=linux-image-cloud-$arch version=$release
	case $release in
	*-rt) meta=linux-image-rt-$arch version=${release%-rt} ;;
	newest) version='' ;;
	esac
	package=$(image "$meta" "${version:+$version.}")
	# Newer ones have the kernel in a package of its own.
	if [ -z "$package" ] || ! unpack "$package" ||
		{ ! ls "$tmp"/root/boot/vmlinuz-* >/dev/null 2>&1 && ! unpack "linux-binary-${package#linux-image-}"; }; then
		lacks="$lacks $release"
		continue
	fi
	# Each is put there whole, or not at all: version comes last.
	mkdir -p "$dir/$release"
	mv "$(find "$tmp/root" -name 'vmlinuz*' -type f | head -n 1)" "$dir/$release/vmlinuz"
	echo "${package#linux-image-}" >"$tmp/version"
	mv "$tmp/version" "$dir/$release/version"
	echo "kernels: $release is ${package#linux-image-}" >&2
done
[ -z "$lacks" ] || lacking "$archive gives no$lacks"
echo "$dir"
