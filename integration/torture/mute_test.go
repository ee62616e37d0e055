// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
)

// mute starts a program whose library and /tmp lie on a file system that does not answer any more.
func mute(t *testing.T, args ...string) *target {
	t.Helper()
	needRoot(t)
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		t.Skip("no FUSE here: ", err)
	} else {
		f.Close()
	}
	dir := t.TempDir()
	lib := filepath.Join(dir, "lib.so")
	source := filepath.Join(dir, "lib.c")
	if err := os.WriteFile(source, []byte("void spin(volatile long *n) { for (;;) ++*n; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O1", "-shared", "-fPIC", "-o", lib, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return start(t, "mute", append(args, lib)...)
}

func ends(t *testing.T, cmd *exec.Cmd) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		t.Fatalf("it does not end: %s", describe(cmd.Process.Pid))
		return nil
	}
}

func TestFileSystemThatDoesNotAnswerHoldsNothingUp(t *testing.T) {
	p := mute(t)
	for _, how := range []string{"duration", "signal"} {
		t.Run(how, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "r.pb.gz")
			args := []string{"record", "-p", strconv.Itoa(p.pid), "-F", "200", "-o", file}
			if how == "duration" {
				args = append(args, "-d", "2")
			}
			cmd := exec.Command(binary, args...)
			var said strings.Builder
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if how == "signal" {
				time.Sleep(3 * time.Second)
				_ = cmd.Process.Signal(syscall.SIGINT)
			}
			if err := ends(t, cmd); err != nil {
				t.Fatalf("%v: %s", err, said.String())
			}
			if !strings.Contains(said.String(), "did not answer in time") {
				t.Errorf("it does not say what it gave up: %s", said.String())
			}
			spins(t, file)
		})
	}
	p.works(5)
	out, err := exec.Command(binary, "dump", "-p", strconv.Itoa(p.pid)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "lib.so") || !strings.Contains(string(out), "did not answer in time") {
		t.Errorf("dump: %v: %s", err, out)
	}
}

func TestFilesOnFUSEAreRead(t *testing.T) {
	p := mute(t, "answer")
	out, err := exec.Command(binary, "dump", "-p", strconv.Itoa(p.pid)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "spin in /tmp/lib.so") || strings.Contains(string(out), "prywalk:") {
		t.Errorf("dump: %v: %s", err, out)
	}
}

func spins(t *testing.T, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := pprof.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range rec.Sample {
		if m := s.Location[0].Mapping; m != nil && strings.HasSuffix(m.File, "lib.so") {
			return
		}
	}
	t.Errorf("the recording does not show the library: %v", rec)
}
