// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/command/console"
	"prywalk/internal/testtargets"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"
)

func begun(t *testing.T, args ...string) (p *started, file string) {
	t.Helper()
	p = start(t, t.TempDir(), nil, append([]string{"record", "-p", burner(t)}, args...)...)
	file = filepath.Join(p.Dir, "prywalk.pb.gz")
	awaitSamples(t, p)
	checkpoint(t, p, file)
	return p, file
}

func send(t *testing.T, p *started, sig syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

func TestBurstOfSignalsLosesNothing(t *testing.T) {
	t.Parallel()
	for _, burst := range [][]syscall.Signal{
		{unix.SIGINT, unix.SIGTERM}, {unix.SIGHUP, unix.SIGINT}, {unix.SIGTERM, unix.SIGINT, unix.SIGHUP},
	} {
		p, file := begun(t)
		// A stopped process gets its pending signals together.
		send(t, p, unix.SIGSTOP)
		for _, sig := range burst {
			send(t, p, sig)
		}
		send(t, p, unix.SIGCONT)
		if code := p.code(t); code != errs.ExitOK {
			t.Errorf("%v: exit code %d, want 0: %s", burst, code, &p.err)
		}
		checkComments(t, testtargets.ReadRecording(t, file))
	}
}

func TestAbortReportsTheRecordingOnDisk(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), nil, "record", "--", "sh", "-c", "trap '' INT; echo ready; while :; do :; done")
	testtargets.Says(t, &p.out, "ready")
	send(t, p, unix.SIGINT)
	testtargets.Says(t, &p.err, "waiting for sh")
	time.Sleep(sameInterrupt) // the subject: a later one is another interrupt
	send(t, p, unix.SIGINT)
	if code := p.code(t); code != 128+int(unix.SIGINT) ||
		!strings.Contains(p.err.String(), "aborted: the whole recording is in prywalk.pb.gz\n") {
		t.Errorf("exit code %d, want 130 and \"aborted\" with the file's name: %s", code, &p.err)
	}
}

func TestPreviousRecordingIsKeptAsOld(t *testing.T) {
	t.Parallel()
	dir, pid := t.TempDir(), burner(t)
	file := filepath.Join(dir, "prywalk.pb.gz")
	var last []byte
	for range 3 {
		p := start(t, dir, nil, "record", "-p", pid)
		awaitSamples(t, p)
		for i := 0; i < 2; i++ {
			if old, err := os.ReadFile(file); err == nil && i == 0 {
				last = old
			}
			awaitNew(t, p, file)
		}
		send(t, p, unix.SIGINT)
		if code := p.code(t); code != errs.ExitOK {
			t.Fatalf("exit code %d, want 0: %s", code, &p.err)
		}
		if old, err := os.ReadFile(file + ".old"); string(old) != string(last) || err != nil && last != nil {
			t.Errorf("prywalk.pb.gz.old has %d bytes (%v), want the previous recording, %d bytes", len(old), err, len(last))
		}
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 2 {
		t.Errorf("files are %v, want the recording and the previous one: %v", list, err)
	}
}

func awaitNew(t *testing.T, p *started, file string) {
	t.Helper()
	before, _ := os.Stat(file)
	if !testtargets.Comes(func() bool {
		now, err := os.Stat(file)
		if err == nil && (before == nil || !os.SameFile(before, now)) && hasSamples(t, file) {
			return true
		}
		_ = p.Process.Signal(unix.SIGUSR1)
		return false
	}) {
		t.Fatalf("no new checkpoint: %s", &p.err)
	}
}

func startWith(t *testing.T, stdout *os.File, args ...string) *started {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &started{Cmd: exec.Command(self, args...)}
	p.Dir, p.Stdout, p.Stderr, p.Env = t.TempDir(), stdout, &p.err, append(os.Environ(), asCommand+"=1")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

// awaitSamples waits until prywalk has opened another process's memory, which it does after it handles signals: other
// files it reads before.
func awaitSamples(t *testing.T, p *started) {
	t.Helper()
	samples := func() bool {
		dir := fmt.Sprintf("/proc/%d/", p.Process.Pid)
		list, _ := os.ReadDir(dir + "fd")
		return slices.ContainsFunc(list, func(e os.DirEntry) bool {
			to, _ := os.Readlink(dir + "fd/" + e.Name())
			return strings.HasPrefix(to, "/proc/") && !strings.HasPrefix(to, dir) && strings.HasSuffix(to, "/mem")
		})
	}
	if !testtargets.Comes(samples) {
		t.Fatalf("prywalk has opened no memory of another process: %s", &p.err)
	}
}

// checkComments demands one account, of a whole recording. Notes depend on the host, such as that samples were lost.
func checkComments(t *testing.T, p *pprof.Profile) {
	t.Helper()
	accounts := slices.DeleteFunc(slices.Clone(p.Comments), func(c string) bool { return strings.HasPrefix(c, "note: ") })
	if len(accounts) != 1 || strings.Contains(accounts[0], "checkpoint") {
		t.Errorf("the profile's comments are %q, want one besides notes, and no checkpoint", p.Comments)
	}
}

func checkOneProfile(t *testing.T, r io.Reader) {
	t.Helper()
	buf := bufio.NewReader(r)
	zip, err := gzip.NewReader(buf)
	if err != nil {
		t.Fatal(err)
	}
	zip.Multistream(false)
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pprof.ParseData(text)
	if err != nil {
		t.Fatal(err)
	}
	checkComments(t, p)
	if more, _ := io.ReadAll(buf); len(more) > 0 {
		t.Errorf("%d bytes follow the profile, want none", len(more))
	}
}

// sleeper starts a process that the first tick can sample, however busy the machine is: it is not stopped.
func sleeper(t *testing.T) string {
	t.Helper()
	return strconv.Itoa(testtargets.Child(t, exec.Command("sleep", "600")).Process.Pid)
}

func TestPipesGetOneRecordingAndNoCheckpoints(t *testing.T) {
	t.Parallel()
	for _, path := range []string{testtargets.Fifo(t), "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1",
		"/proc/thread-self/fd/1"} {
		stats := filepath.Join(t.TempDir(), "stats")
		args := []string{"record", "-p", sleeper(t), "-o", path, "--stats", stats}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p := startWith(t, w, args...)
		w.Close()
		awaitSamples(t, p)
		for range 3 {
			send(t, p, unix.SIGUSR1)
			testtargets.Eventually(t, "the signal is delivered", func() bool { return !pending(t, p.Process.Pid) })
		}
		send(t, p, unix.SIGINT)
		if strings.HasSuffix(path, "/fifo") {
			r.Close()
			if r, err = os.Open(path); err != nil {
				t.Fatal(err)
			}
		}
		checkOneProfile(t, r)
		r.Close()
		if code := p.code(t); code != errs.ExitOK {
			t.Errorf("%s: exit code %d, want 0: %s", path, code, &p.err)
		}
	}
}

func TestCtrlCEndsTheWaitForAPipesReader(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), nil, "record", "-d", "1", "-p", burner(t), "-o", testtargets.Fifo(t))
	testtargets.Says(t, &p.err, "waiting for a reader of")
	send(t, p, unix.SIGINT)
	if code := p.code(t); code != errs.ExitFailed || !strings.Contains(p.err.String(), console.ErrNoReader.Error()) {
		t.Errorf("exit code %d, want 1 and the cause: %s", code, &p.err)
	}
}

func stateOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(text), ") ")
	state, _, _ := strings.Cut(after, " ")
	return state
}

func become(t *testing.T, stopped bool, pids ...int) {
	t.Helper()
	other := func(pid int) bool { return (stateOf(pid) == "T") != stopped }
	if !testtargets.Comes(func() bool { return !slices.ContainsFunc(pids, other) }) {
		t.Fatalf("states are %q and %q, want stopped: %v", stateOf(pids[0]), stateOf(pids[len(pids)-1]), stopped)
	}
}

// awaitCatching reads SigCgt of status.
func awaitCatching(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	testtargets.Eventually(t, fmt.Sprintf("process %d catches %v", pid, sig), func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, after, _ := strings.Cut(string(text), "SigCgt:")
		var mask uint64
		_, err := fmt.Sscanf(after, "%x", &mask)
		return err == nil && mask>>(sig-1)&1 != 0
	})
}

func TestCtrlZStopsTheCommandToo(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), nil, "record", "--", "sh", "-c", "echo $$; while :; do :; done")
	testtargets.Says(t, &p.out, "\n")
	awaitSamples(t, p)
	self, command := p.Process.Pid, 0
	if _, err := fmt.Sscan(p.out.String(), &command); err != nil {
		t.Fatal(err)
	}
	for _, to := range []int{-self, self, -self} {
		for _, step := range []struct {
			sig     syscall.Signal
			stopped bool
		}{{unix.SIGTSTP, true}, {unix.SIGCONT, false}} {
			if err := unix.Kill(to, step.sig); err != nil {
				t.Fatal(err)
			}
			become(t, step.stopped, self, command)
			if !step.stopped {
				awaitCatching(t, self, unix.SIGTSTP) // before, SIGTSTP would stop prywalk only
			}
		}
	}
	send(t, p, unix.SIGTERM)
	if code := p.code(t); code != 128+int(unix.SIGTERM) {
		t.Errorf("exit code %d, want 143: %s", code, &p.err)
	}
	testtargets.ReadRecording(t, filepath.Join(p.Dir, "prywalk.pb.gz"))
}
