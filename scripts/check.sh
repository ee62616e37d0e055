#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh [BASE]: the developer's loop, less than 90 seconds on two processors. Formatting and static checks of the
# packages that were changed since BASE (the branch that this one follows, else the last commit), and the fast tests:
# those of internal/layers, and of all packages whose tests start no program. Tests of changed packages that start
# programs are compiled, and listed: make test PACKAGES=… runs them.
set -u
cd "$(dirname "$0")/.." || exit 1
base=${1:-$(git merge-base HEAD '@{upstream}' 2>/dev/null || git rev-parse HEAD)} || exit 1
files=$({ git diff --name-only --diff-filter=d "$base" -- '*.go'; git ls-files --others --exclude-standard -- '*.go'; } |
	grep -v /testdata/)
status=0

# As make build and make test: what they have compiled is not compiled again.
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath"

# fast lists the packages that have tests, of which none imports what starts programs.
fast() {
	go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}} {{end}}' \
		./... | grep -v ' os/exec \| [a-z]*/internal/testtargets ' | cut -d ' ' -f 1
}

# packages MODULE_DIRECTORY: those of its packages that have a changed file.
packages() {
	for file in $files; do
		case $1,$file in
		benchmarks,benchmarks/*) dirname "./${file#benchmarks/}" ;;
		benchmarks,* | .,benchmarks/* | *,tools/*) ;;
		*) dirname "./$file" ;;
		esac
	done | sort -u
}

# run COMMAND...: says what failed.
run() {
	"$@" || {
		echo "== failed: $*" >&2
		status=1
	}
}

if [ -n "$files" ]; then
	# shellcheck disable=SC2086 # names of Go files have no blanks
	unformatted=$(gofmt -l $files)
	[ -z "$unformatted" ] || {
		echo "not formatted, run make fmt: $unformatted" >&2
		status=1
	}
fi
for module in . benchmarks; do
	changed=$(packages "$module")
	[ -n "$changed" ] || continue
	# shellcheck disable=SC2086
	(
		cd "$module" || exit 1
		tools=$(git rev-parse --show-toplevel)/tools/go.mod
		run go vet $changed
		run env GOARCH=arm64 go vet $changed
		run go tool -modfile="$tools" staticcheck $changed
		exit "$status"
	) || status=1
done
tested=$(fast) module=$(go list -m) || status=1
# shellcheck disable=SC2086
run go test -vet=off -short -timeout 5m ./internal/layers $tested
# go vet has compiled these.
left=$(packages . | while read -r package; do
	ls "$package"/*_test.go >/dev/null 2>&1 || continue
	[ "$package" = ./internal/layers ] || echo "$tested" | grep -Fqx "$module/${package#./}" || echo "$package"
done)
[ -z "$(packages benchmarks)" ] || run go -C benchmarks vet ./...
[ -z "$left" ] || echo "not run, as they start programs: make test PACKAGES=\"$(echo "$left" | tr '\n' ' ' | sed 's/ $//')\""
exit "$status"
