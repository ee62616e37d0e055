// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"os"
	"testing"
)

// allGoReleases is the environment variable that make go-releases sets.
const allGoReleases = "PRYWALK_GO_RELEASES"

// GoReleases gives the older releases of Go whose programs the tests build. Three are always built: 1.15 and 1.20 have
// their own formats of the tables and of systemstack, and 1.19 is Debian 12's. The Go command fetches a release once,
// some 100 MB, so the other five are built only by make go-releases, and the test's log says so.
func GoReleases(t testing.TB) []string {
	if os.Getenv(allGoReleases) != "" {
		return []string{"1.13.15", "1.14.15", "1.15.15", "1.16.15", "1.17.13", "1.18.10", "1.19", "1.20.14"}
	}
	t.Logf("of Go until 1.20 only 1.15, 1.19 and 1.20: make go-releases (%s=1) tests all from 1.13 on", allGoReleases)
	return []string{"1.15.15", "1.19", "1.20.14"}
}

// GoRelease gives the environment of the Go command for a release, before other settings. 1.19 is Debian's package: as
// a module it does not run.
func GoRelease(release string, more ...string) []string {
	if release == "1.19" {
		return append([]string{"GOROOT=/usr/lib/go-1.19", "GOTOOLCHAIN=local", "GOFLAGS=-trimpath"}, more...)
	}
	return append([]string{"GOTOOLCHAIN=go" + release, "GOFLAGS=-trimpath"}, more...)
}

// GoCommand gives the Go command that obeys such an environment, and the version of the language that it knows.
func GoCommand(release string) (command, language string) {
	switch release {
	case "":
		return "go", "1.22"
	case "1.19":
		return "/usr/lib/go-1.19/bin/go", release
	}
	return "go", release[:len("1.13")]
}
