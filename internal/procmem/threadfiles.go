// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"prywalk/internal/refusal"
)

// file is one of the files of a thread that may be kept open.
type file uint8

const (
	fileSchedStat file = iota
	fileSyscall
	fileStat
	fileStatus
	fileComm
	fileWchan
	fileSched
	fileStack
	numFiles
)

// fileNames are their names under /proc/PID/task/TID/.
var fileNames = [numFiles]string{"schedstat", "syscall", "stat", "status", "comm", "wchan", "sched", "stack"}

// ThreadFiles are the files of one thread under /proc/PID/task/TID, opened when
// first asked for and kept open as far as the budget goes. Not safe for
// concurrent use. All methods give [refusal.Gone] when the thread has ended, [refusal.Denied]
// where the kernel does not let this user look, and [ErrFormat].
type ThreadFiles struct {
	pid, tid int
	budget   *Budget
	dir      int32           // /proc/PID/task/TID: descriptor + 1, zero if it is not held
	tasks    *TaskDir        // /proc/PID/task, by which files are opened while dir is not held; nil: by their paths
	fd       [numFiles]int32 // descriptor + 1, zero if not open
	who      identity
	turns    turns
	// lent: schedstat is open beyond the budget, see LendClock.
	lent bool
	// stackRead: the kernel's functions were asked for.
	stackRead bool
}

// OpenThread gives the files of a thread. Nothing is opened yet; a thread that
// does not exist shows at the first read. With a nil budget nothing is kept open.
func OpenThread(pid, tid int, budget *Budget) *ThreadFiles {
	return &ThreadFiles{pid: pid, tid: tid, budget: budget}
}

// PID gives the process, TID the thread.
func (f *ThreadFiles) PID() int { return f.pid }

// TID gives the thread.
func (f *ThreadFiles) TID() int { return f.tid }

// Hold keeps the thread's directory open, as far as the budget goes, and its stat, which shows that it is there. No
// path is walked then to open a file of it ([Walker]). Errors: [refusal.Gone], [refusal.Denied].
func (f *ThreadFiles) Hold() error {
	if f.dir == 0 && f.budget.Take(1) {
		var p pathBuf
		fd, e := open(p.thread(f.pid, f.tid, ""), unix.O_DIRECTORY)
		if e != 0 {
			f.budget.Give(1)
			return classify(e)
		}
		f.dir = int32(fd) + 1
	}
	var buf [1024]byte
	_, err := f.read(fileStat, buf[:])
	return err
}

// HoldIn is [ThreadFiles.Hold] by the list of the process's threads: one name is looked up in a directory that is open,
// and no other thread has to make that call. Where the budget has none left, each file is opened in that list.
func (f *ThreadFiles) HoldIn(tasks *TaskDir) {
	f.tasks = tasks
	if f.dir != 0 || !f.budget.Take(1) {
		return
	}
	var p pathBuf
	fd, e := openAt(tasks.fd, append(strconv.AppendInt(p[:0], int64(f.tid), 10), 0), unix.O_DIRECTORY)
	if e != 0 {
		f.budget.Give(1) // it has ended, which its first read finds
		return
	}
	f.dir = int32(fd) + 1
}

// Held reports whether the thread's directory is kept open.
func (f *ThreadFiles) Held() bool { return f.dir != 0 }

// open opens a file of the thread.
func (f *ThreadFiles) open(which file) (int, syscall.Errno) {
	var p pathBuf
	if f.dir != 0 {
		return openAt(int(f.dir)-1, append(append(p[:0], fileNames[which]...), 0), 0)
	}
	if f.tasks != nil && f.tasks.fd >= 0 {
		name := append(append(strconv.AppendInt(p[:0], int64(f.tid), 10), '/'), fileNames[which]...)
		return openAt(f.tasks.fd, append(name, 0), 0)
	}
	return open(p.thread(f.pid, f.tid, fileNames[which]), 0)
}

// Close closes what is open and gives it back to the budget. A later read opens
// anew.
func (f *ThreadFiles) Close() {
	if f.dir != 0 {
		closeFD(int(f.dir) - 1)
		f.budget.Give(1)
		f.dir = 0
	}
	f.ReturnClock()
	for i, fd := range f.fd {
		if fd != 0 {
			closeFD(int(fd) - 1)
			f.budget.Give(1)
			f.fd[i] = 0
		}
	}
}

// read reads a file from its beginning into buf.
func (f *ThreadFiles) read(which file, buf []byte) ([]byte, error) {
	if fd := f.fd[which]; fd != 0 {
		n, e := pread(int(fd)-1, buf, 0)
		return ended(buf[:n], e)
	}
	fd, e := f.open(which)
	if e != 0 {
		return nil, classify(e)
	}
	kept := f.budget.Take(1)
	n := 0
	if which == fileSchedStat && f.dir == 0 && !(kept && f.who.inode == 0) && !f.who.same(fd, f) {
		e = syscall.ESRCH
	} else {
		n, e = pread(fd, buf, 0)
	}
	if kept && e == 0 {
		f.fd[which] = int32(fd) + 1
		return ended(buf[:n], e)
	}
	closeFD(fd)
	if kept {
		f.budget.Give(1)
	}
	return ended(buf[:n], e)
}

// ended gives the text that was read. Files of an ended thread are empty where
// they do not say ESRCH.
func ended(b []byte, e syscall.Errno) ([]byte, error) {
	if e == 0 && len(b) == 0 {
		return nil, refusal.Gone
	}
	return b, classify(e)
}

// SchedStat reads the scheduler's counts. 0.6 µs on a kept descriptor.
func (f *ThreadFiles) SchedStat() (SchedStat, error) {
	var buf [96]byte
	b, err := f.read(fileSchedStat, buf[:])
	if err != nil {
		return SchedStat{}, err
	}
	return ParseSchedStat(b)
}

// RawSchedStat reads the schedstat file into buf without entering the Go scheduler, for a caller that holds a thread
// stopped. It gives the number of bytes, negative if it failed or the file is not open. [ParseSchedStat] reads them.
// The file is opened by an earlier call of [ThreadFiles.SchedStat].
//
//go:nosplit
func (f *ThreadFiles) RawSchedStat(buf []byte) int {
	if f.fd[fileSchedStat] == 0 {
		return -1
	}
	return preadRaw(int(f.fd[fileSchedStat])-1, buf)
}

// LendClock keeps schedstat open although the budget has none left, so that [ThreadFiles.RawSchedStat] can read it: the
// clocks of a stop that are read after it may be those of a thread that runs again. The caller limits how many are lent
// and takes this one back by [ThreadFiles.ReturnClock].
// It is false if the file is open already, or cannot be opened: the thread has ended, or the kernel has no descriptor.
func (f *ThreadFiles) LendClock() bool {
	if f.fd[fileSchedStat] != 0 {
		return false
	}
	fd, e := f.open(fileSchedStat)
	if e != 0 {
		return false
	}
	if f.dir == 0 && !f.who.same(fd, f) {
		closeFD(fd)
		return false
	}
	f.fd[fileSchedStat], f.lent = int32(fd)+1, true
	return true
}

// ReturnClock closes what [ThreadFiles.LendClock] keeps open.
func (f *ThreadFiles) ReturnClock() {
	if f.lent {
		closeFD(int(f.fd[fileSchedStat]) - 1)
		f.fd[fileSchedStat], f.lent = 0, false
	}
}

// Syscall reads where the thread is if it sleeps. The kernel asks for the
// permission to trace ([refusal.Denied]).
func (f *ThreadFiles) Syscall() (SyscallInfo, error) {
	var buf [256]byte
	b, err := f.read(fileSyscall, buf[:])
	if err != nil {
		return SyscallInfo{}, err
	}
	return ParseSyscall(b)
}

// Stat reads the state, times, start and name of the thread into s.
func (f *ThreadFiles) Stat(s *Stat) error {
	var buf [1024]byte
	b, err := f.read(fileStat, buf[:])
	if err != nil {
		*s = Stat{}
		return err
	}
	return ParseStat(b, s)
}

// Status reads the status file into s; the dearest of these files.
func (f *ThreadFiles) Status(s *Status) error {
	var buf [4096]byte
	b, err := f.read(fileStatus, buf[:])
	if err != nil {
		*s = Status{}
		return err
	}
	return ParseStatus(b, s)
}

// Comm reads the thread's name into c.
func (f *ThreadFiles) Comm(c *Comm) error {
	var buf [72]byte
	b, err := f.read(fileComm, buf[:])
	if err != nil {
		*c = Comm{}
		return err
	}
	c.set(trimLine(b))
	return nil
}

// trimLine drops the line end that the kernel adds.
func trimLine(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		return b[:n-1]
	}
	return b
}

// Wchan reads the name of the kernel function that the thread sleeps in, into buf (64 bytes suffice). It gives the part
// used: empty if the thread does not sleep, or the kernel does not say.
func (f *ThreadFiles) Wchan(buf []byte) ([]byte, error) {
	b, err := f.read(fileWchan, buf)
	return wchan(b), err
}

// WchanOnce is [ThreadFiles.Wchan] with no descriptor kept.
func (f *ThreadFiles) WchanOnce(buf []byte) ([]byte, error) {
	b, err := f.readOnce(fileWchan, buf)
	return wchan(b), err
}

// wchan gives the name in what was read.
func wchan(b []byte) []byte {
	if b = trimLine(b); len(b) == 1 && b[0] == '0' {
		return b[:0]
	}
	return b
}

// LastRun reads when the scheduler last charged the thread for running, in nanoseconds of the scheduler's own clock for
// that processor. False where the kernel does not tell: it has no sched file before 6.15 without CONFIG_SCHED_DEBUG.
//
// For a thread that is off its processor it is the moment at which it was taken off. For one that has just been put on
// it, it is that very same moment. So two threads with the same value have replaced one another (kernel/sched/core.c,
// __schedule, which reads the clock once).
func (f *ThreadFiles) LastRun() (int64, bool) {
	var buf [256]byte
	b, err := f.read(fileSched, buf[:])
	if err != nil {
		return 0, false
	}
	return ParseLastRun(b)
}

// OnProcessor reports whether the thread is on a processor at this moment, as far as its arrivals and departures tell
// (the third field of schedstat, and nr_switches in sched). known: the kernel tells, as it does where it has a sched
// file ([ThreadFiles.LastRun]).
func (f *ThreadFiles) OnProcessor() (on, known bool) {
	before, err := f.SchedStat()
	if err != nil {
		return false, false
	}
	var buf [3072]byte // with CONFIG_SCHEDSTATS, many lines come first
	b, err := f.read(fileSched, buf[:])
	if err != nil {
		return false, false
	}
	left, ok := ParseSwitches(b)
	after, err := f.SchedStat()
	if !ok || err != nil {
		return false, false
	}
	return before.Runs == after.Runs && f.turns.on(after, left), true
}

// ReadStatus reads the status of a thread once, with no descriptor kept. For a
// process's first thread tid is the pid.
func ReadStatus(tid int, s *Status) error {
	var buf [4096]byte
	var p pathBuf
	b, err := readOnce(p.process(tid, "status"), buf[:])
	if err != nil {
		*s = Status{}
		return err
	}
	return ParseStatus(b, s)
}

// ReadStat reads the stat of a thread once, with no descriptor kept.
func ReadStat(tid int, s *Stat) error {
	var buf [1024]byte
	var p pathBuf
	b, err := readOnce(p.process(tid, "stat"), buf[:])
	if err != nil {
		*s = Stat{}
		return err
	}
	return ParseStat(b, s)
}

// ReadMaps reads the list of a process's mappings once, with no descriptor kept, into buf, which may grow.
func ReadMaps(pid int, buf []byte) ([]byte, error) {
	var p pathBuf
	fd, e := open(p.process(pid, "maps"), 0)
	if e != 0 {
		return buf[:0], classify(e)
	}
	defer closeFD(fd)
	for buf = buf[:0]; ; {
		buf = slices.Grow(buf, mapsStep)
		n, e := pread(fd, buf[len(buf):cap(buf)], uint64(len(buf)))
		if e != 0 {
			return buf[:0], classify(e)
		}
		if n == 0 {
			return buf, nil
		}
		buf = buf[:len(buf)+n]
	}
}

// mapsStep is how much of a list of mappings is read at once: the kernel gives a page.
const mapsStep = 4096

// ReadComm reads the name of a thread once, with no descriptor kept.
func ReadComm(tid int, c *Comm) error {
	var buf [72]byte
	var p pathBuf
	b, err := readOnce(p.process(tid, "comm"), buf[:])
	if err != nil {
		*c = Comm{}
		return err
	}
	c.set(trimLine(b))
	return nil
}

// readOnce opens a file of the thread, reads and closes it.
func (f *ThreadFiles) readOnce(which file, buf []byte) ([]byte, error) {
	fd, e := f.open(which)
	return readAndClose(fd, e, buf)
}

// readOnce opens, reads and closes.
func readOnce(path, buf []byte) ([]byte, error) {
	fd, e := open(path, 0)
	return readAndClose(fd, e, buf)
}

// readAndClose reads what was just opened, and closes it.
func readAndClose(fd int, e syscall.Errno, buf []byte) ([]byte, error) {
	if e != 0 {
		return nil, classify(e)
	}
	n, e := pread(fd, buf, 0)
	closeFD(fd)
	return ended(buf[:n], e)
}

// KernelStack reads the kernel's functions that the thread sleeps in, into buf, and gives the part used: for
// [NextKernelFrame]. The file is kept open from the second time on: of most threads it is read once. It takes
// CAP_SYS_ADMIN ([refusal.Denied]; the kernel's fs/proc/base.c, proc_pid_stack).
func (f *ThreadFiles) KernelStack(buf []byte) ([]byte, error) {
	if f.stackRead {
		return f.read(fileStack, buf)
	}
	f.stackRead = true
	return f.readOnce(fileStack, buf)
}

// NextKernelFrame gives the name of the first function in what [ThreadFiles.KernelStack] has read, the innermost one,
// and the rest of the text. A line such as "[<0>] do_wait+0x53/0x120 [module]" has one; others are passed over. The
// name is empty at the end. A line without its end was cut.
func NextKernelFrame(text []byte) (name, rest []byte) {
	for {
		line, after, whole := bytes.Cut(text, []byte{'\n'})
		if !whole {
			return nil, nil
		}
		text = after
		if _, at, ok := bytes.Cut(line, []byte("] ")); ok {
			if name, _, ok = bytes.Cut(at, []byte{'+'}); ok && len(name) > 0 {
				return name, text
			}
		}
	}
}
