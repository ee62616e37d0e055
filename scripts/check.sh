#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh [BASE]: the developer's loop. Formatting and static checks of the packages that were changed since BASE (the
# branch that this one follows, else the last commit), and the fast tests: those of the changed packages, and those of
# all others that start no program and take a few seconds. The long ones are those of make test.
set -u
cd "$(dirname "$0")/.." || exit 1
base=${1:-$(git merge-base HEAD '@{upstream}' 2>/dev/null || git rev-parse HEAD)} || exit 1
files=$({ git diff --name-only --diff-filter=d "$base" -- '*.go'; git ls-files --others --exclude-standard -- '*.go'; } |
	grep -v /testdata/)
status=0

# slow are the packages whose tests record real programs, or build large ones.
slow='^prywalk/\(cmd\|docs\|integration\|heuristics\|ptrace\|report\|internal/\(bench\|code\|doctor\|dump\|look\|'
slow=$slow'mcpserver\|process\|procmem\|recording\|runtimes\|sampler\|symbols\|testtargets\|top\|tracer\|waits\)\)\(/\|$\)'

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
# shellcheck disable=SC2046
run go test -short -timeout 5m $({
	go list ./... | grep -v "$slow"
	packages . | grep -v '^\./integration\|^\./docs' | xargs -r go list
} | sort -u)
[ -z "$(packages benchmarks)" ] || run go -C benchmarks vet ./...
exit "$status"
