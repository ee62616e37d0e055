// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"prywalk/internal/testtargets"
)

// As dot and redis-server.
func TestProgramHasTheNameThatStartedIt(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config-update5.2")
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(shell)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "draw")
	for _, name := range []string{link, filepath.Join(dir, "config-update")} {
		if err := os.Symlink("config-update5.2", name); err != nil {
			t.Fatal(err)
		}
	}
	hard := filepath.Join(dir, "hard")
	if err := os.Link(file, hard); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!"+link+"\nread x\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what string
		args []string
		want string
	}{
		{"the file", []string{file, "-c", "read x"}, file},
		{"a link", []string{link, "-c", "read x"}, link},
		{"a link below the current directory", []string{"./draw", "-c", "read x"}, link},
		{"a link with a less specific name than the file's", []string{dir + "/config-update", "-c", "read x"}, file},
		{"another name of the file", []string{hard, "-c", "read x"}, hard},
		{"a script", []string{script}, file},
	} {
		c := exec.Command(test.args[0], test.args[1:]...)
		c.Dir = dir
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		testtargets.Child(t, c)
		testtargets.Asleep(t, c.Process.Pid)
		p := open(t, c.Process.Pid)
		if m := p.Main(); m == nil || DisplayName(m) != test.want {
			t.Errorf("started as %s: name of %v, want %s", test.what, m, test.want)
		}
	}
}

func TestCutAuxiliaryVectorIsRead(t *testing.T) {
	vector := make([]byte, 40)
	vector[0], vector[8], vector[16], vector[24], vector[32] = 6, 7, atExecFn, 9, atExecFn
	if got := auxEntry(vector, atExecFn); got != 9 {
		t.Errorf("entry %d, want 9", got)
	}
	if got := auxEntry(vector[:31], atExecFn); got != 0 {
		t.Errorf("half an entry is read as %d, want 0", got)
	}
}

func FuzzAuxEntry(f *testing.F) {
	f.Add([]byte{atExecFn, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0})
	f.Fuzz(func(_ *testing.T, vector []byte) { auxEntry(vector, atExecFn) })
}
