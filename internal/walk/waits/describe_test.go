// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"os"
	"testing"
)

func TestCallsWithoutDescriptorsAreSleeps(t *testing.T) {
	const fds = 0x7f0000001000
	for _, c := range []struct {
		call string
		args [6]uint64
		want Kind
	}{
		{"poll", [6]uint64{0, 0, 100}, Sleep},
		{"poll", [6]uint64{fds, 1, 100}, Descriptor},
		{"ppoll", [6]uint64{0, 0, fds}, Sleep},
		{"select", [6]uint64{0, 0, 0, 0, fds}, Sleep},
		{"select", [6]uint64{4, fds, 0, 0, fds}, Descriptor},
	} {
		s := &Sleeper{State: 'S', Reason: c.call, Args: c.args, InCall: true}
		if w := Describe(s); w.Kind != c.want || !w.Timed {
			t.Errorf("%s%v: %+v, want a wait with a timeout of kind %q", c.call, c.args[:3], w, c.want)
		}
	}
}

func TestWaitsWithATimeoutSaySo(t *testing.T) {
	const timeout = 0x7f0000001000
	for _, c := range []struct {
		call  string
		args  [6]uint64
		timed bool
	}{
		{"semop", [6]uint64{1, timeout, 1, timeout}, false},
		{"semtimedop", [6]uint64{1, timeout, 1, 0}, false},
		{"semtimedop", [6]uint64{1, timeout, 1, timeout}, true},
		{"rt_sigtimedwait", [6]uint64{timeout, 0, 0, 8}, false},
		{"rt_sigtimedwait", [6]uint64{timeout, 0, timeout, 8}, true},
		{"mq_timedreceive", [6]uint64{3, timeout, 64, 0, 0}, false},
		{"mq_timedreceive", [6]uint64{3, timeout, 64, 0, timeout}, true},
		{"epoll_wait", [6]uint64{3, timeout, 1, 0xffffffff}, false},
		{"epoll_wait", [6]uint64{3, timeout, 1, 100}, true},
		{"io_getevents", [6]uint64{timeout, 1, 8, timeout, 0}, false},
		{"io_getevents", [6]uint64{timeout, 1, 8, timeout, timeout}, true},
	} {
		s := &Sleeper{State: 'S', Reason: c.call, Args: c.args, InCall: true}
		if w := Describe(s); w.Timed != c.timed {
			t.Errorf("%s%v: %+v, want timed %v", c.call, c.args, w, c.timed)
		}
	}
}

func TestWaitsOfCallsByState(t *testing.T) {
	const vfork, exec = "child until it calls exec or ends", 0x4111
	for _, c := range []struct {
		state byte
		call  string
		first uint64
		want  string
	}{
		{'D', "read", 3, "disk: descriptor 3"},
		{'D', "fsync", 3, "disk: descriptor 3"},
		{'D', "sync", 0, "disk"},
		{'D', "munmap", 0, "disk (or a lock of the kernel)"},
		{'S', "read", 3, "descriptor 3"},
		{'D', "vfork", 0, vfork},
		{'D', "clone", exec, vfork},
		{'D', "clone", 0x11, "disk (or a lock of the kernel)"},
		{'D', "clone3", 0, vfork},
		{'S', "splice", 3, "2 descriptors: descriptor 3, descriptor 5"},
		{'S', "tee", 3, "2 descriptors: descriptor 3, descriptor 4"},
		{'S', "sendfile", 3, "descriptor 3"},
		{'D', "sendfile", 3, "disk: descriptor 4"},
	} {
		w := Describe(&Sleeper{State: c.state, Reason: c.call, InCall: true, Args: [6]uint64{c.first, 4, 5}})
		if got := w.String(); got != c.want {
			t.Errorf("%c in %s(%#x): %s, want %s", c.state, c.call, c.first, got, c.want)
		}
	}
}

func TestRunTimeSystemsAreAskedAboutCallsOfTheirOwn(t *testing.T) {
	const fds, timeout, futexWaitPrivate = 0x7f0000001000, 0x7f0000002000, 128
	for _, c := range []struct {
		call      string
		args      [6]uint64
		word      uint64
		timed, ok bool
	}{
		{"futex", [6]uint64{fds, futexWaitPrivate, 0, timeout}, fds, true, true},
		{"futex", [6]uint64{fds, 1}, 0, false, false}, // FUTEX_WAKE
		{"ppoll", [6]uint64{fds, 1}, 0, false, true},
		{"ppoll", [6]uint64{fds, 1, timeout}, 0, true, true},
		{"poll", [6]uint64{fds, 1, 100}, 0, false, false},
	} {
		if word, timed, ok := RuntimeWaitCall(c.call, &c.args); word != c.word || timed != c.timed || ok != c.ok {
			t.Errorf("%s%v: %#x, %v, %v", c.call, c.args, word, timed, ok)
		}
	}
	join := ManagedWait(Join, "", 8, 7, false)
	s := &Sleeper{State: 'S', Reason: "ppoll", InCall: true, Managed: func() (Wait, bool) { return join, true }}
	if w := Describe(s); w.Kind != Join || !w.IsManaged() {
		t.Errorf("%+v, want the run-time system's answer", w)
	}
	s.Managed = func() (Wait, bool) { return Wait{}, false }
	if w := Describe(s); w.Kind != Sleep {
		t.Errorf("%+v, want a sleep", w)
	}
}

// A backend of PostgreSQL 18 waits at its latch.
func TestAWaitForALockOfPostgreSQLIsOne(t *testing.T) {
	for waiter, want := range map[string]Kind{"ProcSleep": DatabaseLock, "secure_read": Descriptor} {
		s := &Sleeper{State: 'S', Reason: "epoll_wait", InCall: true, Args: [6]uint64{7, 0, 1, 0xffffffff}}
		for _, name := range []string{"epoll_wait", "WaitEventSetWait", "WaitLatch", waiter} {
			s.Stack = append(s.Stack, StackFunction{name, "/usr/lib/postgresql/18/bin/postgres"})
		}
		if w := Describe(s); w.Kind != want || want == DatabaseLock && (!w.IsLock() || !w.Kind.IsSynchronization()) {
			t.Errorf("%s: %+v, want %s", waiter, w, want)
		}
	}
}

// The program may have set another busy handler than the default.
func TestASleepOfSQLiteIsAWaitForItsLock(t *testing.T) {
	for want, functions := range map[Kind][]string{
		DatabaseLock: {"clock_nanosleep", "__nanosleep", "unixSleep", "sqlite3InvokeBusyHandler", "sqlite3BtreeBeginTrans"},
		Sleep:        {"clock_nanosleep", "__nanosleep", "unixSleep", "sqlite3_sleep", "main"},
	} {
		s := &Sleeper{State: 'S', Reason: "clock_nanosleep", InCall: true}
		for _, name := range functions {
			s.Stack = append(s.Stack, StackFunction{name, "/usr/lib/libsqlite3.so.0.8.6"})
		}
		w := Describe(s)
		if w.Kind != want {
			t.Errorf("%+v, want %s", w, want)
		}
		if got, want := w.String(), "SQLite's lock (SQLite stores no owner of it)"; w.Kind == DatabaseLock && got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAProcessOfPostgreSQLWithinATransactionWaitsForItsClient(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(root+"/7", 0o755); err != nil {
		t.Fatal(err)
	}
	const where = "postgres: app shop 127.0.0.1(40262) "
	for title, want := range map[string]bool{
		where + "idle in transaction\x00  ": true, where + "idle": false,
		where + "idle in transaction (aborted)": false,
		"/bin/sh\x00idle in transaction\x00":    false, "postgres: idle in transaction writer": false,
	} {
		if err := os.WriteFile(root+"/7/cmdline", []byte(title), 0o644); err != nil {
			t.Fatal(err)
		}
		f := &OpenFiles{root: root, pid: 7}
		w := Wait{Kind: Descriptor, Idleness: idleBy(IdleEventLoop), FD: &OpenFile{FD: 5, Type: "epoll",
			Holds: []OpenFile{{FD: 4, Type: "signalfd"}, {FD: 9, Type: "socket"}}}}
		f.FindTransaction(&w)
		if isIn := w.Idle == "" && w.FD.FD == 9 && w.Why == IdleInTransaction; isIn != want {
			t.Errorf("%q: %+v", title, w)
		}
	}
}
