#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the programs that benchmarks/atwork measures and that are missing, on Debian and its relatives (about 1 GB).
#
# As root it installs; as anyone else it names the missing packages and exits with status 1. A package that this
# release does not have is told, and left out: its program has a row that says so. With -n it only lists what is missing.
set -eu

# One line for each need: a command, or a file pattern with a slash; the package.
needs() {
	cat <<'LIST'
gcc                                         gcc
/usr/lib/*/libc.a                           libc6-dev
g++                                         g++
xz                                          xz-utils
openssl                                     openssl
gawk                                        gawk
sqlite3                                     sqlite3
redis-server                                redis-server
redis-benchmark                             redis-tools
/usr/lib/postgresql/*/bin/postgres          postgresql
rustc                                       rustc
go                                          golang-go
ffmpeg                                      ffmpeg
cmake                                       cmake
ninja                                       ninja-build
gfortran                                    gfortran
gnatmake                                    gnat
fpc                                         fp-compiler
ocamlopt                                    ocaml-nox
/usr/lib/python3/dist-packages/numpy        python3-numpy
/usr/lib/*/openblas-pthread/libblas.so.3    libopenblas0-pthread
javac                                       default-jdk-headless
clang++                                     clang
zstd                                        zstd
git                                         git
mariadb-install-db                          mariadb-server
nim                                         nim
ghc                                         ghc
gm                                          graphicsmagick
z3                                          z3
7z                                          p7zip-full
povray                                      povray
crystal                                     crystal
ldc2                                        ldc
gplc                                        gprolog
pdflatex                                    texlive-latex-base
python3                                     python3
ruby                                        ruby
php                                         php-cli
perl                                        perl
Rscript                                     r-base-core
node                                        nodejs
lua5.4                                      lua5.4
octave-cli                                  octave
swipl                                       swi-prolog-nox
gforth                                      gforth
emacs                                       emacs-nox
vim                                         vim
luajit                                      luajit
/usr/bin/qemu-x86_64                        qemu-user
mono                                        mono-runtime
mcs                                         mono-mcs
guile                                       guile-3.0
sbcl                                        sbcl
chezscheme                                  chezscheme
racket                                      racket
pypy3                                       pypy3
/usr/lib/python3/dist-packages/numba        python3-numba
erlc                                        erlang-base
LIST
}

present() {
	case $1 in
	*/*)
		for file in $1; do [ -e "$file" ] && return 0; done
		return 1
		;;
	esac
	command -v "$1" >/dev/null 2>&1
}

missing=''
while read -r probe package; do
	present "$probe" || missing="$missing $package"
done <<LIST
$(needs)
LIST

[ -n "$missing" ] || exit 0
echo "missing:$missing" >&2
[ "${1:-}" != -n ] || exit 1

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	echo "setup-atwork: as root, run: apt-get install --no-install-recommends$missing (or its equivalent)" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update </dev/null >&2
known=''
for package in $missing; do
	if apt-cache show "$package" >/dev/null 2>&1; then
		known="$known $package"
	else
		echo "setup-atwork: this release has no package $package; its program is left out" >&2
	fi
done
[ -n "$known" ] || exit 0
# shellcheck disable=SC2086 # the list is meant to be split
apt-get -qq -o DPkg::Lock::Timeout=600 install -y --no-install-recommends $known </dev/null >&2
