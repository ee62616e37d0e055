// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/account/attribute"
	"prywalk/internal/base/monotonic"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

func TestAPollOrSelectOfOneDescriptorNamesIt(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	const sp, array = 0x7000, 0x7010
	pollfd := func(fd int32) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(fd)) }
	stack := append(make([]byte, array-sp), pollfd(int32(read.Fd()))...)
	stack = append(append(append(stack, 1, 0, 0, 0), pollfd(-1)...), 1, 0, 0, 0)
	stack = append(append(stack, pollfd(int32(write.Fd()))...), 1, 0, 0, 0)
	const set = array + 3*8
	stack = binary.LittleEndian.AppendUint64(stack, 1<<read.Fd())
	link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", read.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	_, inode, _ := strings.Cut(link, ":")
	link += fmt.Sprintf(" = %s %s (pid %d)", inode, strings.TrimSpace(string(comm)), os.Getpid())
	var e waitExplainer
	defer e.close()
	polled := []unix.PollFd{{Fd: int32(read.Fd()), Events: unix.POLLIN}}
	tid, runs := sleepInPoll(t, polled, write)
	self, err := loadedcode.Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	p := &processState{process: &target.Process{Code: self}}
	th := &target.Thread{Proc: p.process, TID: tid}
	e.add(p, th)
	heap := uint64(uintptr(unsafe.Pointer(&polled[0])))
	for _, c := range []struct {
		what  string
		addr  uint64
		count uint64
		runs  uint64
		want  string
	}{
		{"one in the copied stack", array, 1, 0, link},
		{"one that poll ignores", array + 8, 1, 0, ""},
		{"one beside one that poll ignores", array, 2, 0, link},
		{"two", array, 3, 0, ""},
		{"none", array, 0, 0, "sleep"},
		{"one that was not copied", heap, 1, runs, link},
		{"one that was not copied, of a thread that ran since", heap, 1, runs - 1, ""},
		{"one that cannot be read", 0x10, 1, runs, ""},
	} {
		s := &observe.RawSample{State: sample.Sleeping}
		s.Regs.Arch, s.Sched.Runs = frames.X86_64, c.runs
		s.Call = procmem.SyscallInfo{Nr: 7, Args: [6]uint64{c.addr, c.count}}
		s.Mem.Stack = frames.Region{Addr: sp, Bytes: stack}
		if got, owner := e.explain(p, th, s, 0); got != c.want || owner != 0 {
			t.Errorf("%s: %q, owner %d, want %q", c.what, got, owner, c.want)
		}
	}
	s := &observe.RawSample{State: sample.Sleeping}
	s.Regs.Arch, s.Mem.Stack = frames.X86_64, frames.Region{Addr: sp, Bytes: stack}
	s.Call = procmem.SyscallInfo{Nr: 23, Args: [6]uint64{uint64(read.Fd()) + 1, set}}
	if got, _ := e.explain(p, th, s, 0); got != link {
		t.Errorf("select of one: %q, want %q", got, link)
	}
}

// newerThanLists describes a file that open opens after the lists of sockets and descriptors were read.
func newerThanLists(t *testing.T, w *waitState, open func() *os.File) (text string) {
	t.Helper()
	testtargets.Eventually(t, "a file is opened before the lists may be read again", func() bool {
		f := open()
		text = w.describe(int(f.Fd()), w.files.Link(int(f.Fd())), true)
		return w.unnamed[text] != unnamedFile{}
	})
	return text
}

func TestAnOtherEndThatTheListsLackedIsSearchedInNewerOnes(t *testing.T) {
	p, e := ofPID(os.Getpid()), &waitExplainer{}
	e.add(p, &target.Thread{Proc: p.process})
	keep := func(f *os.File, err error) *os.File {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		return keep(r, err), keep(w, err)
	}
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	connect := func() (client, server *os.File) {
		c, err := net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s, err := l.AcceptTCP()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return keep(c.File()), keep(s.File())
	}
	w, self := p.waitState, fmt.Sprintf("(pid %d)", os.Getpid())
	cases := map[string]struct {
		open  func() *os.File
		named bool
	}{
		"a pipe": {func() *os.File { r, _ := pipe(); return r }, true},
		"a pipe without another end": {func() *os.File {
			r, w := pipe()
			_ = w.Close()
			return r
		}, false},
		"a connection to a server": {func() *os.File { c, _ := connect(); return c }, true},
		"one from a client":        {func() *os.File { _, s := connect(); return s }, false},
	}
	texts, due := map[string]string{}, monotonic.Moment(math.MaxInt64)
	for what, c := range cases {
		texts[what] = newerThanLists(t, w, c.open)
		due = min(due, w.unnamed[texts[what]].due)
	}
	p.nameLater(due - 1)
	if len(w.unnamed) != len(cases) || len(p.named) > 0 {
		t.Errorf("searched in the same lists: left %v, found %v", w.unnamed, p.named)
	}
	testtargets.Eventually(t, "the lists may be read again", func() bool {
		p.nameLater(ptrace.Now())
		return len(w.unnamed) == 0
	})
	for what, c := range cases {
		text := texts[what]
		span := attribute.Span{Place: attribute.Place{WaitsFor: text}}
		got := (&intervalSink{}).interval(p, nil, &span).WaitsFor
		if !strings.HasPrefix(got, text) || strings.HasSuffix(got, self) != c.named || c.named == (got == text) {
			t.Errorf("%s: %q, then %q", what, text, got)
		}
	}
}

// sleepInPoll returns a thread in poll(2), and its run count.
func sleepInPoll(t *testing.T, polled []unix.PollFd, wake *os.File) (tid int, runs uint64) {
	ids := make(chan int)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		ids <- unix.Gettid()
		for _, err := unix.Poll(polled, -1); err == unix.EINTR; _, err = unix.Poll(polled, -1) {
		}
	}()
	tid = bounded.Receive(t, "the thread begins", ids)
	t.Cleanup(func() {
		wake.Close()
		bounded.Receive(t, "the thread ends", ended)
	})
	f := procmem.OpenThread(os.Getpid(), tid, procmem.NewFDBudget(0))
	defer f.Close()
	inPoll := fmt.Sprintf("%d ", unix.SYS_PPOLL)
	for {
		stat, err := f.SchedStat()
		if err != nil {
			t.Fatal(err)
		}
		call, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", tid))
		if err != nil {
			t.Skipf("needs /proc/PID/task/TID/syscall: a kernel with CONFIG_HAVE_ARCH_TRACEHOOK (%v)", err)
		}
		if again, _ := f.SchedStat(); strings.HasPrefix(string(call), inPoll) && again.Runs == stat.Runs {
			return tid, stat.Runs
		}
		runtime.Gosched()
	}
}
