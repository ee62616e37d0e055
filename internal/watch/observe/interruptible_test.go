// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"os"
	"reflect"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets/bounded"
)

func numberOf(t *testing.T, name string) int64 {
	t.Helper()
	for nr := range int64(600) {
		if process.HostSyscallName(nr) == name {
			return nr
		}
	}
	t.Fatalf("no system call %s", name)
	return 0
}

type callOf struct {
	name string
	args [6]uint64
	want bool
}

func hold(t *testing.T, thread ThreadID, sp uint64, calls []callOf) {
	t.Helper()
	for _, c := range calls {
		call := procmem.SyscallInfo{Nr: numberOf(t, c.name), Args: c.args, SP: sp}
		if got := Interruptible(thread, &call, nil); got != c.want {
			t.Errorf("%s%#x: %v", c.name, c.args, got)
		}
	}
}

const (
	stack   = 0x7ffd_0000_1000
	frame   = stack + 64
	beyond  = stack + ownFrames
	heap    = 0x5555_0000_0000
	forever = ^uint64(0)
)

func TestCallsWhoseArgumentsAStopWouldWriteAreNotInterrupted(t *testing.T) {
	x86 := process.HostArch() == frames.X86_64 // where calls that give EINTR restart
	hold(t, ThreadID{os.Getpid(), os.Getpid()}, stack, []callOf{
		{"nanosleep", [6]uint64{frame, 0}, true},
		{"nanosleep", [6]uint64{heap, 0}, true},
		{"nanosleep", [6]uint64{frame, frame}, false}, // the remaining time would be written
		{"nanosleep", [6]uint64{frame, frame + 16}, false},
		{"clock_nanosleep", [6]uint64{1, 0, frame, 0}, true},
		{"clock_nanosleep", [6]uint64{0, 0, frame, frame}, false},
		{"clock_nanosleep", [6]uint64{1, 1, frame, frame}, true}, // absolute: nothing is written
		{"clock_nanosleep", [6]uint64{1, 1, heap, 0}, false},
		{"clock_nanosleep", [6]uint64{2, 0, frame, 0}, false}, // CPU time
		{"clock_nanosleep", [6]uint64{8, 0, frame, 0}, false}, // CLOCK_REALTIME_ALARM
		{"poll", [6]uint64{frame, 2, 50}, true},
		{"poll", [6]uint64{0, 0, 50}, true},
		{"poll", [6]uint64{heap, 1, 50}, false},
		{"poll", [6]uint64{stack - 8, 1, 50}, false},
		{"poll", [6]uint64{beyond - 8, 1, 50}, true},
		{"poll", [6]uint64{beyond - 8, 2, 50}, false},
		{"poll", [6]uint64{frame, 1 << 31, 50}, false},
		{"ppoll", [6]uint64{frame, 1, 0, 0, 8}, true},
		{"ppoll", [6]uint64{frame, 1, frame + 8, 0, 8}, false}, // a time-out
		{"ppoll", [6]uint64{frame, 1, 0, frame + 8, 8}, false},
		{"ppoll", [6]uint64{heap, 1, 0, 0, 8}, false},
		{"pselect6", [6]uint64{1, heap, 0, 0, 0, 0}, true},
		{"pselect6", [6]uint64{1, heap, 0, 0, frame, 0}, false},
		{"pselect6", [6]uint64{1, heap, 0, 0, 0, heap}, false},
		{"waitid", [6]uint64{1, 100, frame, 4}, true},
		{"waitid", [6]uint64{1, 100, 0, 4}, true},
		{"waitid", [6]uint64{1, 100, heap, 4}, false},
		{"waitid", [6]uint64{2, 0, frame, 4}, false},
		{"wait4", [6]uint64{forever, heap}, true},
		{"wait4", [6]uint64{0, heap}, false}, // the group may change
		{"futex", [6]uint64{heap, 0}, true},
		{"futex", [6]uint64{heap, 9 | 128 | 256}, true},
		{"futex", [6]uint64{heap, 11}, false}, // FUTEX_WAIT_REQUEUE_PI returns EAGAIN
		{"futex", [6]uint64{heap, 6 | 128}, false},
		{"msgrcv", [6]uint64{}, true},
		{"pause", [6]uint64{}, true},
		{"epoll_pwait", [6]uint64{3: forever}, x86},
		{"epoll_pwait", [6]uint64{3: uint64(uint32(0xffffffff))}, x86},
		{"epoll_pwait", [6]uint64{3: 50}, false}, // its time-out would begin again
		{"epoll_pwait", [6]uint64{3: forever, 4: frame}, false},
		{"epoll_pwait2", [6]uint64{3: 0}, x86},
		{"epoll_pwait2", [6]uint64{3: frame}, false},
		{"semop", [6]uint64{}, false},
		{"semtimedop", [6]uint64{}, false},
		{"rt_sigtimedwait", [6]uint64{}, false},
		{"rt_sigsuspend", [6]uint64{}, false},
		{"mq_timedreceive", [6]uint64{}, false},
		{"flock", [6]uint64{}, false},
		{"recvfrom", [6]uint64{}, false},
		{"connect", [6]uint64{}, false},
		{"io_uring_enter", [6]uint64{}, false},
	})
	if Interruptible(ThreadID{PID: os.Getpid()}, &procmem.SyscallInfo{Nr: -1}, nil) {
		t.Error("a page fault is taken for a call")
	}
}

func TestMaskOfPselectIsLookedUpInTheThreadsFrames(t *testing.T) {
	var packs [2]struct{ mask, size uint64 }
	packs[0].size, packs[1].mask, packs[1].size = 8, frame, 8
	sp := uint64(reflect.ValueOf(&packs).Pointer())
	self := ThreadID{os.Getpid(), os.Getpid()}
	hold(t, self, sp, []callOf{
		{"pselect6", [6]uint64{5: sp}, true},
		{"pselect6", [6]uint64{5: sp + 16}, false},
	})
	runtime.KeepAlive(&packs)
}

// A read could wait for a page.
func TestMaskOfPselectIsTakenFromACopy(t *testing.T) {
	var pack [2]uint64 // in memory there is no mask
	sp := uint64(reflect.ValueOf(&pack).Pointer())
	call := procmem.SyscallInfo{Nr: numberOf(t, "pselect6"), Args: [6]uint64{5: sp}, SP: sp}
	self := ThreadID{os.Getpid(), os.Getpid()}
	for name, c := range map[string]struct {
		copied []byte
		want   bool
	}{
		"no mask": {make([]byte, 16), true}, "a mask": {[]byte{7: 1, 15: 0}, false}, "no copy": {nil, false},
	} {
		mem := frames.Snapshot{Stack: frames.Region{Addr: sp, Bytes: c.copied}}
		if got := Interruptible(self, &call, &mem); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	runtime.KeepAlive(&pack)
}

func TestOnlyReadsOfPlainFilesAreInterrupted(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	file, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	event, err := unix.Eventfd(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(event)
	tty, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(tty)
	epoll, err := unix.EpollCreate1(0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(epoll)
	fd := func(fd int) [6]uint64 { return [6]uint64{uint64(fd)} }
	hold(t, ThreadID{os.Getpid(), os.Getpid()}, stack, []callOf{
		{"read", fd(int(r.Fd())), true},
		{"readv", fd(int(r.Fd())), true},
		{"read", fd(event), true},
		{"read", fd(pair[0]), false}, // may have SO_RCVTIMEO
		{"read", fd(tty), false},
		{"read", fd(epoll), false},
		{"read", fd(99999), false},
		{"read", fd(int(file.Fd())), false},
		{"write", fd(int(w.Fd())), false},
	})
}

// With unshare(2), CLONE_FILES, a thread has a table of its own.
func TestDescriptorsAreLookedUpInTheThreadsOwnTable(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	tid, done, quit := make(chan int), make(chan error), make(chan bool)
	// The process's first thread would not end, and /proc/self/fd would stay that table.
	go procmem.OnOSThread(func() {
		err := unix.Unshare(unix.CLONE_FILES)
		if err == nil {
			err = unix.Close(int(r.Fd()))
		}
		tid <- unix.Gettid()
		done <- err
		<-quit // the test closes it at its end
	})
	thread := ThreadID{os.Getpid(), bounded.Receive(t, "the thread begins", tid)}
	defer close(quit)
	if err := bounded.Receive(t, "the thread opens its file", done); err != nil {
		t.Fatal(err)
	}
	args := [6]uint64{uint64(r.Fd())}
	hold(t, thread, stack, []callOf{{"read", args, false}})
	hold(t, ThreadID{os.Getpid(), unix.Gettid()}, stack, []callOf{{"read", args, true}})
}
