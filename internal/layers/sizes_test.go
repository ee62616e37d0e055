package layers

import "testing"

// mostFiles is how many files a package has at most, tests not counted: what a stranger can look through.
const mostFiles = 25

// larger are packages with more, and how many at most.
var larger = map[string]int{"cmd/prywalk": 40, "report": 40}

func TestPackagesAreSmallEnoughToLookThrough(t *testing.T) {
	files := map[string]int{}
	for _, s := range sources(t) {
		files[s.pkg]++
	}
	for pkg, n := range files {
		if most := max(mostFiles, larger[pkg]); n > most {
			t.Errorf("%s has %d files, more than %d: has it two jobs?", pkg, n, most)
		}
	}
}
