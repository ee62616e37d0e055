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

	"prywalk/integration/checkpoint"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// The library and /tmp are on a FUSE file system whose server no longer answers.
func startMute(t *testing.T, args ...string) *target {
	t.Helper()
	testtargets.NeedRoot(t, "mount")
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		t.Log(err)
		testtargets.Need(t, false, "FUSE", "modprobe fuse, or a container with /dev/fuse")
	} else {
		f.Close()
	}
	dir := t.TempDir()
	lib := filepath.Join(dir, "lib.so")
	source := filepath.Join(dir, "lib.c")
	if err := os.WriteFile(source, []byte("void spin(volatile long *n) { for (;;) ++*n; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := bounded.AllOutput(exec.Command("gcc", "-O1", "-shared", "-fPIC", "-o", lib, source)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return start(t, "mute", append(args, lib)...)
}

func awaitEnd(t *testing.T, cmd *exec.Cmd) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		t.Fatalf("prywalk has not ended after %v: %s", patience, describeThreads(cmd.Process.Pid))
		return nil
	}
}

func TestFileSystemThatDoesNotAnswerHoldsNothingUp(t *testing.T) {
	t.Parallel()
	p := startMute(t)
	for _, how := range []string{"duration", "signal"} {
		t.Run(how, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "r.pb.gz")
			args := []string{"record", "-p", strconv.Itoa(p.pid), "-F", "200", "-o", file}
			if how == "duration" {
				args = append(args, "-d", "2")
			}
			cmd := exec.Command(binary, args...)
			var messages strings.Builder
			cmd.Stderr = &messages
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if how == "signal" {
				follower := checkpoint.Follow(cmd.Process, file)
				await(t, "the library has samples", func() bool { return follower.New() && librarySampled(t, file) })
				_ = cmd.Process.Signal(syscall.SIGINT)
			}
			if err := awaitEnd(t, cmd); err != nil {
				t.Fatalf("%v: %s", err, messages.String())
			}
			if !strings.Contains(messages.String(), "did not answer in time") {
				t.Errorf("no \"did not answer in time\" on standard error: %s", messages.String())
			}
			checkLibrarySampled(t, file)
		})
	}
	p.awaitProgress(5)
	out, err := bounded.AllOutput(exec.Command(binary, "dump", "-p", strconv.Itoa(p.pid)))
	if err != nil || !strings.Contains(string(out), "lib.so") || !strings.Contains(string(out), "did not answer in time") {
		t.Errorf("dump: %v, want no error, \"lib.so\" and \"did not answer in time\": %s", err, out)
	}
}

func TestFilesOnFUSEAreRead(t *testing.T) {
	p := startMute(t, "answer")
	out, err := bounded.AllOutput(exec.Command(binary, "dump", "-p", strconv.Itoa(p.pid)))
	if err != nil || !strings.Contains(string(out), "spin in /tmp/lib.so") || strings.Contains(string(out), "prywalk:") {
		t.Errorf("dump: %v, want no error, \"spin in /tmp/lib.so\" and no message: %s", err, out)
	}
}

func checkLibrarySampled(t *testing.T, file string) {
	t.Helper()
	if !librarySampled(t, file) {
		t.Error("no sample in lib.so")
	}
}

func librarySampled(t *testing.T, file string) bool {
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
			return true
		}
	}
	return false
}
