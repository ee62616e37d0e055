package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"prywalk/internal/testtargets"
)

// TestAProgramStartedThroughALinkIsKnown: by its own name, through a link, and a script's interpreter.
func TestAProgramStartedThroughALinkIsKnown(t *testing.T) {
	program, err := exec.LookPath("sh")
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	link, script := filepath.Join(dir, "other"), filepath.Join(dir, "script")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte("#!"+program+"\nread line\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]bool{program: false, link: true, script: false} {
		cmd := exec.Command(file)
		if _, err := cmd.StdinPipe(); err != nil { // it waits for a line
			t.Fatal(err)
		}
		testtargets.Child(t, cmd)
		p, err := Open(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.StartedByLink(); got != want {
			t.Errorf("%s: %v", file, got)
		}
		_ = p.Close()
	}
}
