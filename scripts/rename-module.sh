#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename-module.sh PATH gives the module another path: in go.mod, in imports, and where a test, a linker's symbol or a
# configuration names a package. It changes the files of git's index, in the directory that it is started in.
set -eu
new=$1
old=$(sed -n 's/^module //p' go.mod)
case $new in
*[!A-Za-z0-9._~/-]* | /* | */ | "" | *//*) echo "$new: not a module path" >&2; exit 2 ;;
esac
[ "$new" != "$old" ] || exit 0
was=$(printf '%s' "$old" | sed 's/[.]/\\./g')
packages='benchmarks|cmd|docs|dwarfunwind|frames|heuristics|integration|internal|ptrace|report|tools'
name="s#(^|[^[:alnum:]_./-])$was/($packages)([^[:alnum:]_-]|\$)#\\1$new/\\2\\3#g"
git ls-files -z -- '*.go' '*.s' go.mod tools/go.mod benchmarks/go.mod integration/collector/go.mod integration/kubernetes/go.mod .golangci.yml Makefile |
	xargs -0 sed -E -i -e "$name" -e "$name" -e "s#\"$was/\"#\"$new/\"#g" -e "s#^(	|require |replace )$was (v|=>)#\\1$new \\2#" \
		-e "s#^(const )?module( =)? (\"?)$was(\"?)\$#\\1module\\2 \\3$new\\4#"
git ls-files -z -- '*.go' ':!:*/testdata/*' | xargs -0 gofmt -w # imports are in the order of their paths
