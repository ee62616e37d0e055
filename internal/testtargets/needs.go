// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// A skipped test says "needs WHAT: REMEDY" or "left to make test-all: REASON". The summary of make test lists the first
// by remedy and counts the second. Where everything is installed, as in CI, a skip with [SetUp] is a failure.
const (
	// SetUp is the command that installs every program that tests need.
	SetUp = "sudo make setup-all"
	// AsRoot is the command that runs the tests with the rights that some need.
	AsRoot = "sudo make test"
)

// Skipper is the part of testing.TB that skips.
type Skipper interface {
	Helper()
	Skip(args ...any)
}

// All reports whether the tests of make test-all are to run: all releases, long runs, statistics.
func All() bool { return os.Getenv("PRYWALK_TESTS") == "all" }

// OnlyInAll skips a test that make test leaves out for its time.
func OnlyInAll(tb Skipper, reason string) {
	tb.Helper()
	if !All() {
		tb.Skip("left to make test-all: " + reason)
	}
}

// First returns only the first of several releases or variants, unless make test-all runs.
func First[T any](all []T) []T {
	if All() {
		return all
	}
	return all[:min(1, len(all))]
}

// EachNth returns each n-th of several cases, from the first on, unless make test-all runs.
func EachNth[T any](n int, all []T) (some []T) {
	if All() {
		return all
	}
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// Times returns how often a test repeats something: few times, in make test-all many.
func Times[T any](few, many T) T {
	if All() {
		return many
	}
	return few
}

// Need skips a test for which something is missing. remedy is the command, or the setting, that brings it. what has no
// line's end and no ": ", behind which the summary would look for the remedy: an error is to be logged before.
func Need(tb Skipper, have bool, what, remedy string) {
	tb.Helper()
	if strings.Contains(what, "\n") || strings.Contains(what, ": ") {
		panic(fmt.Sprintf("what a test needs is not one line without a colon and space: %q", what))
	}
	if !have {
		tb.Skip("needs " + what + ": " + remedy)
	}
}

// NeedRoot skips a test unless it runs as root; why completes "needs root to".
func NeedRoot(tb Skipper, why string) {
	tb.Helper()
	Need(tb, os.Geteuid() == 0, "root to "+why, AsRoot)
}

// NeedProgram returns the path of an installed program.
func NeedProgram(tb Skipper, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	Need(tb, err == nil, name, SetUp)
	return path
}

// notInstalledError is the error of a target that cannot start because a program is not installed.
type notInstalledError struct {
	program string
	err     error
}

func (e *notInstalledError) Error() string {
	return fmt.Sprintf("%s is not installed: %s: %v", e.program, SetUp, e.err)
}

func (e *notInstalledError) Unwrap() error { return e.err }

func notInstalled(program string, err error) error { return &notInstalledError{program, err} }

// skipMissing skips a test whose target is not installed.
func skipMissing(tb Skipper, err error) {
	tb.Helper()
	if missing := (*notInstalledError)(nil); errors.As(err, &missing) {
		Need(tb, false, missing.program, SetUp)
	}
}
