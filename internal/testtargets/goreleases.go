// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"os"
	"testing"
)

const allGoReleases = "PRYWALK_GO_RELEASES" // set by make go-releases

// # A new release of Go
//
// Raise go.mod and tools/go.mod. Compare cmd/link/internal/ld/pcln.go, runtime/symtab.go and runtime/traceback.go of
// both releases with package golang: a new magic number belongs into header.go, special functions into kinds.go,
// waiting goroutines (runtime.g, sudog, hchan) into waiting.go. Add the release before to the lists below if its tables
// or its systemstack differ. Then run make go-releases, and go test ./internal/show/dump.

// GoReleases returns older releases with other tables and systemstack; one more with make go-releases, a download of
// 100 MB.
func GoReleases(t testing.TB) []string {
	if os.Getenv(allGoReleases) != "" {
		return []string{"1.18.10", "1.19", "1.20.14"}
	}
	t.Logf("of Go until 1.20 only 1.19 and 1.20: make go-releases (%s=1) tests 1.18, too", allGoReleases)
	return []string{"1.19", "1.20.14"}
}

// LaterGoReleases returns 1.27 with its other moduledata; more with make go-releases.
func LaterGoReleases(t testing.TB) []string {
	if os.Getenv(allGoReleases) != "" {
		return []string{"1.21.13", "1.22.12", "1.23.12", "1.24.13", "1.25.14", "1.27.4"}
	}
	t.Logf("of Go from 1.21 on only 1.27 and that of the tests: make go-releases (%s=1) tests all", allGoReleases)
	return []string{"1.27.4"}
}

// GoRelease returns the Go command's environment for a release; 1.19 is Debian's.
func GoRelease(release string, more ...string) []string {
	if release == "1.19" {
		return append([]string{"GOROOT=/usr/lib/go-1.19", "GOTOOLCHAIN=local", "GOFLAGS=-trimpath"}, more...)
	}
	return append([]string{"GOTOOLCHAIN=go" + release, "GOFLAGS=-trimpath"}, more...)
}

// GoCommand returns the Go command for a release, and its language version; "": the current one.
func GoCommand(release string) (command, language string) {
	switch release {
	case "":
		return "go", "1.22"
	case "1.19":
		return "/usr/lib/go-1.19/bin/go", release
	}
	return "go", release[:len("1.18")]
}
