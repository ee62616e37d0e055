package layers

import "testing"

// mostFiles is how many files a package has at most, tests not counted: what a stranger can look through.
const mostFiles = 25

func TestPackagesAreSmallEnoughToLookThrough(t *testing.T) {
	files := map[string]int{}
	for _, s := range sources(t) {
		files[s.pkg]++
	}
	for pkg, n := range files {
		if n > mostFiles {
			t.Errorf("%s has %d files, more than %d: has it two jobs?", pkg, n, mostFiles)
		}
	}
}
