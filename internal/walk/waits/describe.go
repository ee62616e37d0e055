// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Sleeper is a sleeping thread, as sampled.
type Sleeper struct {
	// State is the letter of /proc/PID/stat; 0 in a core.
	State byte
	// Reason is the system call, or the kernel's reason (process.WaitLabel).
	Reason string
	// Args are the call's arguments, if InCall.
	Args   [6]uint64
	InCall bool
	// Memory has the futex word and the lock.
	Memory FutexCopy
	// Stack is the innermost functions with inlined calls, at most [MaxFunctions]; of a dump, if none of them is managed,
	// also the first managed one beyond.
	Stack []StackFunction
	// At is the time of the sample, in nanoseconds of CLOCK_MONOTONIC; 0 if unknown.
	At int64
	// Managed asks the runtimes about a thread in a [RuntimeWaitCall], and its answer has priority. It is nil without
	// runtimes.
	Managed func() (Wait, bool)
}

// Describe returns what a thread waits for, zero for a running one.
func Describe(s *Sleeper) Wait {
	switch s.State {
	case 'T', 't':
		return Wait{Kind: Stopped}
	case 'R', 'Z', 'X':
		return Wait{}
	}
	switch s.Reason {
	case "page fault", "userfault":
		return Wait{Kind: PageFault}
	case "frozen":
		return Wait{Kind: Frozen}
	case "":
		return Wait{}
	}
	w := Wait{Kind: Other}
	if s.InCall {
		w = describeCall(s)
	}
	switch {
	case s.State != 'D':
	case w.Kind == Descriptor:
		w.Kind = Disk
	case w.Kind == Other:
		w.Kind, w.Why = Disk, "or a lock of the kernel"
	}
	return w
}

// cloneVFORK is CLONE_VFORK (include/uapi/linux/sched.h).
const cloneVFORK = 0x4000

// onDescriptor are calls that wait for their first argument.
var onDescriptor = map[string]bool{
	"read": true, "write": true, "pread64": true, "pwrite64": true, "readv": true, "writev": true, "preadv": true,
	"pwritev": true, "preadv2": true, "pwritev2": true, "recvfrom": true, "recvmsg": true, "recvmmsg": true,
	"sendto": true, "sendmsg": true, "sendmmsg": true, "accept": true, "accept4": true, "connect": true,
	"epoll_wait": true, "epoll_pwait": true, "epoll_pwait2": true, "ioctl": true, "fsync": true, "fdatasync": true,
	"sync_file_range": true, "ftruncate": true, "fallocate": true, "vmsplice": true, "sendfile": true,
	"io_uring_enter": true, "mq_timedreceive": true, "mq_timedsend": true, "getdents64": true, "close": true,
}

// pathArguments are the arguments of calls that look up a file's path, and wait for a file system (state D; FUSE: S,
// request_wait_answer in fs/fuse/dev.c), or, to open a named pipe, for its other end (fifo(7)).
var pathArguments = map[string]int{
	"open": 0, "creat": 0, "openat": 1, "openat2": 1, "stat": 0, "lstat": 0, "newfstatat": 1, "statx": 1, "statfs": 0,
	"access":    0,
	"faccessat": 1, "faccessat2": 1, "readlink": 0, "readlinkat": 1, "chdir": 0, "truncate": 0, "execve": 0,
	"mkdir": 0, "mkdirat": 1, "rmdir": 0, "unlink": 0, "unlinkat": 1, "rename": 0, "renameat": 1, "renameat2": 1,
}

// LooksUp reports whether a system call looks up a file's path.
func LooksUp(call string) bool {
	_, ok := pathArguments[call]
	return ok
}

// secondDescriptor is the index of the second descriptor's argument, for calls that wait for the first or the second.
var secondDescriptor = map[string]int{"splice": 2, "tee": 1}

var kindsOfCalls = map[string]Kind{
	"poll": Descriptor, "ppoll": Descriptor, "select": Descriptor, "pselect6": Descriptor,
	"pause": Signal, "rt_sigsuspend": Signal, "rt_sigtimedwait": Signal,
	"semop": Semaphore, "semtimedop": Semaphore, "msgrcv": MessageQueue, "msgsnd": MessageQueue,
	"sync": Disk, "syncfs": Disk,
}

// timeout is a call's argument: a pointer (0 for none) or milliseconds (negative for none).
type timeout struct {
	arg    int
	millis bool
}

var timeouts = map[string]timeout{
	"poll": {2, true}, "ppoll": {2, false}, "select": {4, false}, "pselect6": {4, false},
	"epoll_wait": {3, true}, "epoll_pwait": {3, true}, "epoll_pwait2": {3, false},
	"rt_sigtimedwait": {2, false}, "semtimedop": {3, false}, "mq_timedreceive": {4, false}, "mq_timedsend": {4, false},
	"io_getevents": {4, false}, "io_pgetevents": {4, false},
}

func (s *Sleeper) hasTimeout() bool {
	t, ok := timeouts[s.Reason]
	if t.millis {
		return int32(s.Args[t.arg]) >= 0
	}
	return ok && s.Args[t.arg] != 0
}

func describeCall(s *Sleeper) Wait {
	a := &s.Args
	if s.Managed != nil {
		if w, ok := s.Managed(); ok {
			w.setLockWithin(s.Stack)
			return w
		}
	}
	w := Wait{Kind: cmp.Or(kindsOfCalls[s.Reason], Other), Timed: s.hasTimeout()}
	switch s.Reason {
	case "futex":
		return futex(a, s.Stack, &s.Memory)
	case "flock", "fcntl":
		return Wait{Kind: FileLock, FD: fileOf(a[0]), lockClasses: fileLockClasses[s.Reason]}
	case "wait4", "waitid":
		return describeChild(s.Reason, a)
	case "nanosleep", "clock_nanosleep":
		if database := lockedDatabase(s); database != "" {
			return DatabaseWait(database)
		}
		return Wait{Kind: Sleep, Timed: true}
	case "vfork", "clone", "clone3":
		if s.isVFORK() {
			return Wait{Kind: Child, Until: "until it calls exec or ends"}
		}
	case "poll", "ppoll":
		if uint32(a[1]) == 0 { // no descriptors
			w.Kind = Sleep
		}
	case "select", "pselect6":
		if a[0] == 0 || a[1]|a[2]|a[3] == 0 { // no descriptors
			w.Kind = Sleep
		}
	case "semop", "semtimedop":
		w.Why = "of System V, stores no owner"
	}
	if database := lockedDatabase(s); database != "" {
		return DatabaseWait(database)
	}
	if onDescriptor[s.Reason] {
		w.Kind, w.FD = Descriptor, fileOf(a[0])
	}
	if second := secondDescriptor[s.Reason]; second > 0 {
		w.Kind, w.FDs = Descriptor, []OpenFile{*fileOf(a[0]), *fileOf(a[second])}
	}
	if s.Reason == "sendfile" && s.State == 'D' { // reads the input, which is a file
		w.FD = fileOf(a[1])
	}
	return w
}

// The flags of clone3 are in memory, but only a vfork waits uninterruptibly for long.
func (s *Sleeper) isVFORK() bool {
	return s.Reason == "vfork" || s.Reason == "clone" && s.Args[0]&cloneVFORK != 0 ||
		s.Reason == "clone3" && s.State == 'D'
}

func fileOf(fd uint64) *OpenFile { return &OpenFile{FD: FileNumber(int32(fd))} }

// waitid's 1 is P_PID (include/uapi/linux/wait.h).
func describeChild(name string, a *[6]uint64) Wait {
	w := Wait{Kind: Child}
	switch {
	case name == "wait4" && int32(a[0]) > 0:
		w.Child = int(int32(a[0]))
	case name == "waitid" && a[0] == 1:
		w.Child = int(int32(a[1]))
	}
	return w
}

// WhyDatabaseLock is [Ownership].Why of a [DatabaseLock] of PostgreSQL.
const WhyDatabaseLock = "select pg_blocking_pids(PID) names its owner"

// IdleInTransaction is [Ownership].Why of a process of PostgreSQL that waits for its client within a transaction, and
// so can hold locks; an aborted transaction holds none.
const IdleInTransaction = "idle in transaction: waits for its client"

// FindTransaction sets the client's connection in place of the epoll if a process of PostgreSQL is within a transaction
// by its title (src/backend/tcop/postgres.c). [OpenFiles.AddFileDetails] has completed the wait.
func (f *OpenFiles) FindTransaction(w *Wait) {
	if w.Idle != IdleEventLoop || w.FD == nil {
		return
	}
	title := strings.TrimRight(f.read(f.path(f.pid, "cmdline")), "\x00 ")
	if !strings.HasPrefix(title, "postgres: ") || !strings.HasSuffix(title, " idle in transaction") {
		return
	}
	if i := slices.IndexFunc(w.FD.Holds, func(d OpenFile) bool { return d.Type == "socket" }); i >= 0 {
		client := w.FD.Holds[i]
		f.complete(&client, true, Descriptor)
		w.Idleness, w.Why, w.FD = Idleness{}, IdleInTransaction, &client
	}
}

// SQLite and PostgreSQL are what [LockedDatabase] returns; SQLite is [Wait.Type] of its [DatabaseLock], too.
const (
	SQLite     = "SQLite"
	PostgreSQL = "PostgreSQL"
)

// DatabaseWait is a wait for a lock of a database.
func DatabaseWait(database string) Wait {
	if database == SQLite { // which sleeps and tries again
		return Wait{Kind: DatabaseLock, Type: SQLite, Ownership: Ownership{Why: "SQLite stores no owner of it"}}
	}
	return Wait{Kind: DatabaseLock, Ownership: Ownership{Why: WhyDatabaseLock}}
}

func lockedDatabase(s *Sleeper) string {
	for _, f := range s.Stack {
		if database := LockedDatabase(s.Reason, f.Function, f.Module); database != "" {
			return database
		}
	}
	return ""
}

// LockedDatabase names the database for whose lock a function waits in a system call below it, or is "". PostgreSQL
// waits by its latch (src/backend/storage/lmgr/proc.c, since 9.6). SQLite calls its busy handler, the default or the
// program's, which sleeps (src/main.c, src/btree.c).
func LockedDatabase(call, function, module string) string {
	switch sleeps := strings.HasSuffix(call, "nanosleep"); {
	case sleeps && (function == "sqlite3InvokeBusyHandler" || function == "sqliteDefaultBusyCallback"):
		return SQLite
	case !sleeps && function == "ProcSleep" && path.Base(module) == "postgres":
		return PostgreSQL
	}
	return ""
}
