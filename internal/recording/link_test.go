package recording

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
)

// TestAProgramStartedThroughALinkIsRemarked: in the recording's comments; one that has its file's name is not.
func TestAProgramStartedThroughALinkIsRemarked(t *testing.T) {
	program, err := testtargets.Compile("threads.c")
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "other")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]bool{program: false, link: true} {
		cmd := exec.Command(file, "busy", "1")
		testtargets.Ready(t, cmd)
		lines := comments(t, cmd.Process.Pid)
		if got := slices.ContainsFunc(lines, func(s string) bool {
			return strings.HasPrefix(s, "other was started through a link to /")
		}); got != want {
			t.Errorf("%s: %q", file, lines)
		}
	}
}
