// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets/bounded"
)

func TestThreadWithAPathOpenerOpensNoPathOfAProcess(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, pid := unix.Gettid(), os.Getpid()
	w := NewPathOpener()
	defer w.Close()
	var stat Stat
	var status Status
	var comm Comm
	budget := NewFDBudget(0)
	loose, held := OpenThread(pid, own, nil), OpenThread(pid, own, budget)
	path := "/proc/" + strconv.Itoa(pid)
	ways := []struct {
		name  string
		walks int
		do    func() error
	}{
		{"stat", 1, func() error { return ReadStat(pid, &stat) }},
		{"status", 1, func() error { return ReadStatus(pid, &status) }},
		{"comm", 1, func() error { return ReadComm(pid, &comm) }},
		{"maps", 1, func() error { _, err := ReadMaps(pid, nil); return err }},
		{"link", 1, func() error { _, err := Readlink(path+"/exe", make([]byte, 64)); return err }},
		{"small file", 1, func() error { _, err := ReadSmall(path+"/loginuid", make([]byte, 64)); return err }},
		{"list of threads", 1, func() error { _, err := ListTasks(pid, nil); return err }},
		{"memory", 4, func() error { OpenMemory(pid).Close(); return nil }},
		{"file of a thread", 1, func() error { return loose.Stat(&stat) }},
		{"directory of a thread, by that of all", 1, func() error { return openDir(held) }},
		{"files in that directory", 0, func() error {
			if _, err := held.SchedStat(); err != nil {
				return err
			}
			if _, err := held.Wchan(make([]byte, 64)); err != nil {
				return err
			}
			return held.Status(&status)
		}},
		{"file outside /proc/PID", 0, func() error { _, err := ReadSmall("/proc/loadavg", make([]byte, 64)); return err }},
	}
	for _, way := range ways {
		before := w.lookups
		if err := way.do(); err != nil {
			t.Errorf("%s: %v", way.name, err)
		}
		if n := w.lookups - before; n != way.walks {
			t.Errorf("%s: the path opener opened %d paths, want %d", way.name, n, way.walks)
		}
	}
	if w.thread.tid == own {
		t.Error("the path opener is this thread")
	}
	if held.Close(); held.dir != 0 || stat.PID == 0 || status.Tgid != pid {
		t.Errorf("held: %v; read: %+v, process %d", held.dir != 0, stat, status.Tgid)
	}
}

// openDir opens a thread's directory, and reads stat.
func openDir(f *ThreadFiles) error {
	tasks, err := OpenTasks(f.PID(), nil)
	if err != nil {
		return err
	}
	defer tasks.Close()
	f.OpenDirIn(tasks)
	return f.Stat(new(Stat))
}

func TestPathOpenerHasNoRealTimePriority(t *testing.T) {
	runtime.LockOSThread() // the thread ends
	fifo := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
	if err := unix.SchedSetAttr(0, &fifo, 0); err != nil {
		t.Skipf("needs a real-time priority: sudo make test (%v)", err)
	}
	w := NewPathOpener()
	defer w.Close()
	if attr, err := unix.SchedGetAttr(w.thread.tid, 0); err != nil || attr.Policy != unix.SCHED_NORMAL || attr.Nice >= 0 {
		t.Errorf("the thread has %+v (%v), want no real-time priority", attr, err)
	}
}

func TestThreadOpensPathsItselfAfterThePathOpenerIsClosed(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w := NewPathOpener()
	w.Close()
	var s Stat
	if err := ReadStat(os.Getpid(), &s); err != nil || pathOpener([]byte("/proc/1/stat\x00")) != nil {
		t.Errorf("error %v; the thread still has a path opener: %v", err, pathOpener([]byte("/proc/1/stat\x00")) != nil)
	}
}

func TestHeldDirectoryOfAnEndedThreadHasNoFiles(t *testing.T) {
	tids, end := make(chan int), make(chan struct{})
	tid := os.Getpid() // of the main thread, which does not end
	for tid == os.Getpid() {
		go func() {
			runtime.LockOSThread()
			tids <- unix.Gettid()
			<-end
		}()
		tid = bounded.Receive(t, "a thread begins", tids)
	}
	f := OpenThread(os.Getpid(), tid, NewFDBudget(0))
	defer f.Close()
	if err := openDir(f); err != nil {
		t.Fatal(err)
	}
	close(end)
	for unix.Tgkill(os.Getpid(), tid, 0) == nil {
		runtime.Gosched()
	}
	if _, err := f.SchedStat(); err == nil {
		t.Error("schedstat of an ended thread was read")
	}
	if err := f.Status(new(Status)); err == nil {
		t.Error("status of an ended thread was read")
	}
}
