// SPDX-License-Identifier: Apache-2.0

package waits

import "testing"

func TestTheOwnerOfAFileLockIsTheOnlyOneThatItsWaitersFollow(t *testing.T) {
	const (
		held  = "3: FLOCK  ADVISORY  WRITE 4711 fe:00:9986111 0 EOF\n"
		other = "4: FLOCK  ADVISORY  WRITE 4999 fe:00:9986112 0 EOF\n"
		open  = "5: OFDLCK ADVISORY  WRITE -1 fe:00:9986113 0 EOF\n"
	)
	waits := func(number, class string) string {
		return number + ": -> " + class + " ADVISORY  WRITE 4712 fe:00:9986111 0 EOF\n"
	}
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"one":                   {other + held + waits("3", "FLOCK"), 4711},
		"two of its threads":    {held + waits("3", "FLOCK") + waits("3", "FLOCK"), 4711},
		"two holders":           {held + waits("3", "FLOCK") + other + waits("4", "FLOCK"), 0},
		"of another class":      {held + waits("3", "FLOCK") + other + waits("4", "POSIX"), 4711},
		"open file description": {open + waits("5", "FLOCK"), 0},
		"not waiting":           {held + other, 0},
		"cut":                   {held + "3: -> FLOCK", 0},
	} {
		if got := fileLockOwner(c.text, 4712, []string{"FLOCK"}); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
