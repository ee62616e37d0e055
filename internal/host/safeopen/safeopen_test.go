// SPDX-License-Identifier: Apache-2.0

package safeopen

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

const nobody = 65534

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func contents(r Request) (string, error) {
	f, err := new(Opener).Open(r)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(f.Reader())
	return string(b), errors.Join(err, f.Close())
}

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	must(t, os.Symlink(pipe, filepath.Join(dir, "link")))
	for _, name := range []string{pipe, filepath.Join(dir, "link"), "/dev/null", "/", "/proc/version",
		"/sys/kernel/mm/transparent_hugepage/enabled", "/nonexistent", dir} {
		for _, r := range []Request{{Path: name}, {Path: name, Kernel: true}, {Root: dir, Path: "pipe"}} {
			if _, err := contents(r); err == nil {
				t.Errorf("%+v was opened, want an error", r)
			}
		}
	}
}

func TestOpenNeverBlocksOnAFileThatBecomesAPipe(t *testing.T) {
	dir := t.TempDir()
	name, file, pipe := filepath.Join(dir, "perf-1.map"), filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	must(t, os.WriteFile(file, []byte("x"), 0o600))
	must(t, syscall.Mkfifo(pipe, 0o600))
	must(t, os.Link(file, name))
	var over atomic.Bool
	swapped := make(chan struct{})
	go func() {
		defer close(swapped)
		must := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		next := filepath.Join(dir, "next")
		for i := 0; !over.Load(); i++ {
			from := []string{pipe, file}[i%2]
			must(os.Link(from, next))
			must(os.Rename(next, name))
			_ = os.Remove(next)
		}
	}()
	opened, refused := 0, 0
	for opened < 200 || refused < 200 {
		f, err := new(Opener).Open(Request{Path: name, NoLink: true})
		switch {
		case err == nil:
			opened++
			must(t, f.Close())
		case errors.Is(err, errNotRegular):
			refused++
		default:
			t.Fatal(err)
		}
	}
	over.Store(true)
	bounded.Receive(t, "the files are swapped no more", swapped)
}

func TestFileOfAnotherUserIsNotTrusted(t *testing.T) {
	testtargets.NeedRoot(t, "make another user's files")
	name := filepath.Join(t.TempDir(), "perf-1.map")
	must(t, os.WriteFile(name, []byte("x"), 0o600))
	for _, c := range []struct {
		uid, gid int
		mode     uint32
		trust    *Trust
		ok       bool
	}{
		{0, 0, 0o644, &Trust{}, true},
		{nobody, nobody, 0o644, &Trust{}, false},
		{nobody, nobody, 0o644, nil, true},
		{nobody, nobody, 0o644, &Trust{UIDs: []uint32{nobody}}, true},
		{0, 0, 0o646, &Trust{}, false},
		{0, 0, 0o664, &Trust{}, true},
		{0, nobody, 0o664, &Trust{}, false},
		{nobody, nobody, 0o664, &Trust{UIDs: []uint32{nobody}, GIDs: []uint32{nobody}}, true},
		{nobody, 7, 0o664, &Trust{UIDs: []uint32{nobody}, GIDs: []uint32{nobody}}, false},
	} {
		must(t, errors.Join(os.Chown(name, c.uid, c.gid), unix.Chmod(name, c.mode)))
		_, err := contents(Request{Path: name, Trust: c.trust})
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, ErrNotTrusted) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}

func tree(t testing.TB) string {
	root := filepath.Join(t.TempDir(), "root")
	for _, d := range []string{"a/b/c", "usr/lib"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"file": "root", "a/file": "a", "a/b/c/file": "c", "usr/lib/file": "lib",
		"../file": "outside"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"lib": "usr/lib", "abs": "/usr/lib", "out": "../file", "far": "../../../../../../file", "a/up": "../..",
		"a/b/abs": "/a/file", "loop": "loop", "a/b/c/chain": "../../../abs/file", "magic": "/proc/self/root",
		"dangling": "none", "a/b/self": ".", "slash": "a/",
	} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestPathsStayBelowTheirRoot(t *testing.T) {
	root := tree(t)
	for name, want := range map[string]string{
		"/file": "root", "../file": "root", "/../../a/../../file": "root", "/lib/file": "lib", "/abs/file": "lib",
		"/out": "root", "/far": "root", "/a/up/file": "root", "/a/b/abs": "a", "/a/b/c/chain": "lib", "/loop": "",
		"/dangling": "",
	} {
		got, err := contents(Request{Root: root, Path: name})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"file": "root", "lib/file": "lib", "a/../file": "root", "a/b/self/c/file": "c",
		"../file": "", "/file": "", "out": "", "abs/file": "", "a/up/file": "", "a/b/abs": "",
	} {
		got, err := contents(Request{Root: root, Path: name, Beneath: true})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("beneath %s: %q %v, want %q", name, got, err, want)
		}
	}
	if _, err := contents(Request{Root: root, Path: "/abs/file", NoLink: true}); err != nil {
		t.Error("NoLink refuses a link before the last component: ", err)
	}
	if _, err := contents(Request{Root: root, Path: "/out", NoLink: true}); !errors.Is(err, errNotRegular) {
		t.Error(err)
	}
}

func FuzzWalk(f *testing.F) {
	for _, s := range []string{"/file", "a/up/a/b/../file", "loop", "abs/../../x", "a/b/c/chain", "../../lib//./file",
		"magic/proc", "slash/b", "file/x", ""} {
		f.Add(s, false, false)
		f.Add(s, true, true)
	}
	root := tree(f)
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string, beneath, noLink bool) {
		if strings.ContainsRune(name, 0) || len(name) > 200 || name == "" || strings.HasSuffix(name, "/") ||
			strings.HasSuffix(name, ".") {
			t.Skip("not the name of a file")
		}
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
		if beneath {
			how.Resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS
		}
		if noLink {
			how.Flags |= unix.O_NOFOLLOW
		}
		want, wantErr := unix.Openat2(dir, name, &how)
		if wantErr == unix.ENOSYS || wantErr == unix.EPERM {
			t.Skip("openat2 is not available")
		}
		got, err := walk(dir, &Request{Path: name, Beneath: beneath, NoLink: noLink}, nil)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: walk returns %v, openat2 %v", name, err, wantErr)
		}
		if err != nil {
			return
		}
		var a, b unix.Stat_t
		must(t, errors.Join(unix.Fstat(got, &a), unix.Fstat(want, &b)))
		if a.Ino != b.Ino || a.Dev != b.Dev {
			t.Errorf("%q: walk opens another file than openat2", name)
		}
		unix.Close(got)
		unix.Close(want)
	})
}

func TestOpenDoesNotBlockOnALeasedFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(name, nil, 0o600))
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
	testtargets.Need(t, err == nil, "leases", "a TMPDIR in a file system that has them, such as tmpfs")
	if _, err := contents(Request{Path: name}); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Error(err)
	}
}

// Waits for a silent file system become shorter; then it is not accessed any more.
func TestWaitsAreBounded(t *testing.T) {
	var a pendingCalls
	never, end := silent(t)
	calls := 0
	for range 3 * maxStuck {
		if _, err := wait(&a, func() (int, error) { return 1, never() }, nil); !errors.Is(err, ErrStuck) {
			t.Fatal(err)
		}
	}
	if n := a.stuck.Load(); n != maxStuck {
		t.Errorf("%d reads are outstanding, want %d", n, maxStuck)
	}
	if a.timeLimit() != 0 {
		t.Error("the stuck file system would be accessed again")
	}
	var other pendingCalls
	if v, err := wait(&other, func() (int, error) { calls++; return 7, nil }, nil); v != 7 || err != nil || calls != 1 {
		t.Errorf("another file system is not accessed: %d, %v", v, err)
	}
	end()
	testtargets.Eventually(t, "no read is outstanding", func() bool {
		return a.stuck.Load() == 0 && total.stuck.Load() == 0
	})
	if a.timeLimit() == 0 {
		t.Error("the file system is not accessed again after it has responded")
	}
}

func TestWastedTimeIsForgotten(t *testing.T) {
	var v wastedTime
	now := time.Unix(1_800_000_000, 0)
	for range 100 {
		v.add(firstLimit, now)
	}
	if sum := v.add(0, now); sum <= totalLimit {
		t.Errorf("%v after waits in vain", sum)
	}
	if sum := v.add(0, now.Add(recovery)); sum != totalLimit+firstLimit-time.Second {
		t.Errorf("%v after %v", sum, recovery)
	}
	if sum := v.add(0, now.Add(time.Hour)); sum != 0 {
		t.Errorf("%v after an hour", sum)
	}
}

func TestRunningThreadIsNotStuck(t *testing.T) {
	var a pendingCalls
	a.late.Store(1)
	v, err := wait(&a, func() (int, error) {
		for end := time.Now().Add(3 * nextLimit); time.Now().Before(end); {
		}
		return 5, nil
	}, nil)
	if v != 5 || err != nil {
		t.Errorf("result %d, %v; want 5", v, err)
	}
	if n := a.late.Load(); n != 1 {
		t.Errorf("%d late reads, want 1", n)
	}
}

// A thread that returns from the kernel waits for the Go runtime, which may wait for a CPU.
func TestThreadThatWaitsForAnotherThreadIsNotStuck(t *testing.T) {
	_, err := os.ReadFile("/proc/self/syscall")
	testtargets.Need(t, err == nil, "the system calls of threads in /proc", "a kernel with CONFIG_HAVE_ARCH_TRACEHOOK")
	var a pendingCalls
	a.late.Store(1)
	leave := make(chan struct{})
	time.AfterFunc(3*nextLimit, func() { close(leave) })
	v, err := wait(&a, func() (int, error) { <-leave; return 5, nil }, nil) // it is closed by the clock
	if v != 5 || err != nil {
		t.Errorf("result %d, %v; want 5", v, err)
	}
	if n := a.late.Load(); n != 1 {
		t.Errorf("%d late reads, want 1", n)
	}
}

func silent(t *testing.T) (read func() error, end func()) {
	t.Helper()
	var fds [2]int
	must(t, unix.Pipe2(fds[:], unix.O_CLOEXEC))
	t.Cleanup(func() { unix.Close(fds[0]) })
	read = func() error {
		var b [1]byte
		for {
			if _, err := unix.Read(fds[0], b[:]); err != unix.EINTR {
				return err
			}
		}
	}
	return read, func() { unix.Close(fds[1]) }
}

func TestSlowFileIsClosedWhileAnswersArePending(t *testing.T) {
	from, to, err := os.Pipe()
	must(t, err)
	defer from.Close()
	f := &File{f: to, slow: true, by: new(Opener)}
	f.by.calls.stuck.Store(maxStuck)
	if err := f.Close(); !errors.Is(err, ErrStuck) {
		t.Error(err)
	}
	_, err = io.ReadAll(from) // until to is closed
	must(t, err)
	runtime.KeepAlive(f)
}

func TestLateResultsAreDiscarded(t *testing.T) {
	var a pendingCalls
	gone := make(chan int, 1)
	late, end := silent(t)
	if _, err := wait(&a, func() (int, error) { return 5, late() }, func(v int) { gone <- v }); !errors.Is(err,
		ErrStuck) {
		t.Fatal(err)
	}
	end()
	if v := bounded.Receive(t, "the late result is discarded", gone); v != 5 {
		t.Errorf("discarded result %d, want 5", v)
	}
}

func TestSkippedFilesNameTheFirstFile(t *testing.T) {
	recordSkipped("/mnt/a\x1b]0;x", ErrStuck)
	recordSkipped("/tmp/perf-1.map", ErrNotTrusted)
	recordSkipped("/tmp/perf-2.map", ErrOutdated)
	for _, line := range SkippedFiles() {
		if _, remedy, ok := strings.Cut(line, "; "); !ok || remedy == "" {
			t.Errorf("%q does not say what to do", line)
		}
	}
	if got := strings.Join(SkippedFiles(), "\n"); !strings.Contains(got, "did not answer") ||
		!strings.Contains(got, "other users") || !strings.Contains(got, `first "/tmp/perf-2.map"`) ||
		strings.ContainsRune(got, 0x1b) {
		t.Errorf("skipped files %q, want a file system that did not answer, files of other users, and the first file", got)
	}
}
