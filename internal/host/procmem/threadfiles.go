// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/errs"
)

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

var fileNames = [numFiles]string{"schedstat", "syscall", "stat", "status", "comm", "wchan", "sched", "stack"}

// ThreadFiles are the files of /proc/PID/task/TID, opened at their first use and kept open within the budget. Not safe
// for concurrent use. Errors: [errs.Exited], [errs.Denied], [errFormat], or an errno.
type ThreadFiles struct {
	pid, tid      int
	budget        *FDBudget
	dir           int32    // descriptor of the thread's directory + 1; 0 means none
	tasks         *TaskDir // opens files if dir is 0; if nil, they are opened by path
	fds           [numFiles]int32
	identity      identity
	arrivals      arrivals
	schedstatKept bool // open by KeepSchedstatOpen
}

// OpenThread opens nothing: a missing thread shows at the first read. With a nil budget no file stays open.
func OpenThread(pid, tid int, budget *FDBudget) *ThreadFiles {
	return &ThreadFiles{pid: pid, tid: tid, budget: budget}
}

// PID returns the process.
func (f *ThreadFiles) PID() int { return f.pid }

// TID returns the thread.
func (f *ThreadFiles) TID() int { return f.tid }

// OpenDirIn opens the thread's directory relative to that of all threads, which later opens use, too. A failure is
// found by these.
func (f *ThreadFiles) OpenDirIn(tasks *TaskDir) {
	f.tasks = tasks
	if f.dir != 0 || !f.budget.Take(1) {
		return
	}
	var p pathBuf
	fd, e := openAt(tasks.fd, append(strconv.AppendInt(p[:0], int64(f.tid), 10), 0), unix.O_DIRECTORY)
	if e != 0 {
		f.budget.Give(1)
		return
	}
	f.dir = int32(fd) + 1
}

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

// Close closes all files; reads open them again.
func (f *ThreadFiles) Close() {
	if f.dir != 0 {
		closeFD(int(f.dir) - 1)
		f.budget.Give(1)
		f.dir = 0
	}
	f.CloseKeptSchedstat()
	for i, fd := range f.fds {
		if fd != 0 {
			closeFD(int(fd) - 1)
			f.budget.Give(1)
			f.fds[i] = 0
		}
	}
}

func (f *ThreadFiles) read(which file, buf []byte) ([]byte, error) {
	if fd := f.fds[which]; fd != 0 {
		n, e := pread(int(fd)-1, buf, 0)
		return checkNotEmpty(buf[:n], e)
	}
	fd, e := f.open(which)
	if e != 0 {
		return nil, classify(e)
	}
	kept := f.budget.Take(1)
	n := 0
	if which == fileSchedStat && f.dir == 0 && !(kept && f.identity.inode == 0) && !f.identity.isSameThread(fd, f) {
		e = syscall.ESRCH
	} else {
		n, e = pread(fd, buf, 0)
	}
	if kept && e == 0 {
		f.fds[which] = int32(fd) + 1
		return checkNotEmpty(buf[:n], e)
	}
	closeFD(fd)
	if kept {
		f.budget.Give(1)
	}
	return checkNotEmpty(buf[:n], e)
}

func checkNotEmpty(b []byte, e syscall.Errno) ([]byte, error) {
	if e == 0 && len(b) == 0 {
		return nil, errs.Exited
	}
	return b, classify(e)
}

// SchedStat reads schedstat.
func (f *ThreadFiles) SchedStat() (SchedStat, error) {
	var buf [96]byte
	b, err := f.read(fileSchedStat, buf[:])
	if err != nil {
		return SchedStat{}, err
	}
	return ParseSchedStat(b)
}

// RawSchedStat reads schedstat in a stop, for [ParseSchedStat]. It returns the number of bytes, negative on error or if
// the file is not open.
//
//go:nosplit
func (f *ThreadFiles) RawSchedStat(buf []byte) int {
	if f.fds[fileSchedStat] == 0 {
		return -1
	}
	return preadBy(nil, int(f.fds[fileSchedStat])-1, buf, 0)
}

// KeepSchedstatOpen opens schedstat, if possible, beyond the budget: the caller bounds such files.
func (f *ThreadFiles) KeepSchedstatOpen() {
	if f.fds[fileSchedStat] != 0 {
		return
	}
	fd, e := f.open(fileSchedStat)
	switch {
	case e != 0:
	case f.dir == 0 && !f.identity.isSameThread(fd, f):
		closeFD(fd)
	default:
		f.fds[fileSchedStat], f.schedstatKept = int32(fd)+1, true
	}
}

// CloseKeptSchedstat undoes [ThreadFiles.KeepSchedstatOpen].
func (f *ThreadFiles) CloseKeptSchedstat() {
	if f.schedstatKept {
		closeFD(int(f.fds[fileSchedStat]) - 1)
		f.fds[fileSchedStat], f.schedstatKept = 0, false
	}
}

// Syscall reads syscall of a sleeping thread. It needs permission to trace.
func (f *ThreadFiles) Syscall() (SyscallInfo, error) {
	var buf [256]byte
	b, err := f.read(fileSyscall, buf[:])
	if err != nil {
		return SyscallInfo{}, err
	}
	return parseSyscall(b)
}

// Stat reads stat.
func (f *ThreadFiles) Stat(s *Stat) error {
	var buf [1024]byte
	b, err := f.read(fileStat, buf[:])
	if err != nil {
		*s = Stat{}
		return err
	}
	return ParseStat(b, s)
}

// Status reads status, the slowest of the files.
func (f *ThreadFiles) Status(s *Status) error {
	var buf [4096]byte
	b, err := f.read(fileStatus, buf[:])
	if err != nil {
		*s = Status{}
		return err
	}
	if len(b) == len(buf) {
		fd, e := f.open(fileStatus)
		return readStatus(fd, e, s)
	}
	return ParseStatus(b, s)
}

// InnerTID reads the thread's id in its innermost pid namespace.
func (f *ThreadFiles) InnerTID() (int, error) {
	var s Status
	fd, e := f.open(fileStatus)
	if err := readStatus(fd, e, &s); err != nil {
		return 0, err
	}
	return s.innermostID(), nil
}

// Comm reads the thread's name.
func (f *ThreadFiles) Comm(c *Comm) error {
	var buf [commFile]byte
	b, err := f.read(fileComm, buf[:])
	c.set(trimLine(b))
	return err
}

const commFile = 72 // bytes

func trimLine(b []byte) []byte { return bytes.TrimSuffix(b, []byte{'\n'}) }

// Wchan reads into buf (64 bytes suffice) the kernel function that the thread sleeps in, or nothing.
func (f *ThreadFiles) Wchan(buf []byte) ([]byte, error) {
	b, err := f.read(fileWchan, buf)
	if b = trimLine(b); len(b) == 1 && b[0] == '0' {
		b = b[:0]
	}
	return b, err
}

// LastRun returns when the scheduler last charged the thread, in ns of its CPU's scheduler clock: its departure or, if
// just arrived, its arrival. Equal values of two threads mean that one replaced the other (kernel/sched/core.c,
// __schedule). It returns false without a sched file (CONFIG_SCHED_DEBUG before Linux 6.15).
func (f *ThreadFiles) LastRun() (int64, bool) {
	var buf [256]byte
	b, err := f.read(fileSched, buf[:])
	if err != nil {
		return 0, false
	}
	return parseLastRun(b)
}

// OnCPU reports whether the thread is on a CPU. known is false without a sched file.
func (f *ThreadFiles) OnCPU() (on, known bool) {
	before, err := f.SchedStat()
	if err != nil {
		return false, false
	}
	var buf [3072]byte
	b, err := f.read(fileSched, buf[:])
	if err != nil {
		return false, false
	}
	left, ok := parseSwitches(b)
	after, err := f.SchedStat()
	if !ok || err != nil {
		return false, false
	}
	return before.Runs == after.Runs && f.arrivals.onCPU(after, left), true
}

// ReadStatus reads a thread's status once.
func ReadStatus(tid int, s *Status) error {
	var p pathBuf
	fd, e := open(p.process(tid, "status"), 0)
	return readStatus(fd, e, s)
}

// ReadStat reads a thread's stat once.
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

// ReadMaps reads a process's maps into buf, which may grow.
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

const mapsStep = 4096

// ReadComm reads a thread's name once.
func ReadComm(tid int, c *Comm) error {
	var buf [commFile]byte
	var p pathBuf
	b, err := readOnce(p.process(tid, "comm"), buf[:])
	c.set(trimLine(b))
	return err
}

func readOnce(path, buf []byte) ([]byte, error) {
	fd, e := open(path, 0)
	if e != 0 {
		return nil, classify(e)
	}
	n, e := pread(fd, buf, 0)
	closeFD(fd)
	return checkNotEmpty(buf[:n], e)
}

// KernelStack reads the thread's kernel stack, for [NextKernelFrame]. It needs CAP_SYS_ADMIN (fs/proc/base.c,
// proc_pid_stack).
func (f *ThreadFiles) KernelStack(buf []byte) ([]byte, error) { return f.read(fileStack, buf) }

// NextKernelFrame returns the innermost function of a [ThreadFiles.KernelStack], and the rest of the text; "" at the
// end. A line is "[<0>] do_wait+0x53/0x120 [module]"; an incomplete last one is ignored.
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
