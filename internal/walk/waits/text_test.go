// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestADumpSaysWhoHoldsWhatIsWaitedFor(t *testing.T) {
	of := func(o Ownership) Wait { return Wait{Kind: Mutex, Symbol: "mu", Ownership: o} }
	read := of(Ownership{Owner: 9})
	read.Kind, read.Type, read.Mode, read.Timed = RWLock, "shared", "read", true
	free := of(Ownership{Free: true, Why: whyFreeOrChanging})
	free.Type = "normal"
	until := Wait{Kind: Condition, Address: 0x40, Until: "for 2 s more", Timed: true, Idleness: idleBy(IdlePool)}
	sleep := Wait{Kind: Sleep, Timed: true}
	file := &OpenFile{FD: 3, Path: "/srv/a", Type: "file"}
	for want, w := range map[string]Wait{
		"":                                             {},
		"mutex mu":                                     of(Ownership{}),
		"mutex mu, held by thread 9":                   of(Ownership{Owner: 9}),
		"mutex mu, held by thread 9 pool-1":            of(Ownership{Owner: 9, OwnerName: "pool-1"}),
		"mutex mu, held by virtual thread #9":          of(Ownership{OwnerTask: 9}),
		"mutex mu, held by virtual thread #9 a":        of(Ownership{OwnerTask: 9, OwnerName: "a"}),
		"mutex mu, taken by process 9 db":              of(Ownership{OwnerProcess: 9, OwnerName: "db"}),
		"mutex mu, taken by thread 9, which has ended": of(Ownership{OwnerGone: 9}),
		"mutex mu, taken by thread 9 of the parent process 5 before the fork": of(Ownership{OwnerGone: 9, OwnerParent: 5}),
		"mutex mu, held by 1 reader":                                          of(Ownership{Readers: 1}),
		"mutex mu, held by 2 readers":                                         of(Ownership{Readers: 2}),
		"mutex mu (normal; " + whyFreeOrChanging + ")":                        free,
		"rwlock mu (shared read), held by thread 9, with a time-out":          read,
		"condition 0x40 for 2 s more [idle: pool]":                            until,
		"sleep": sleep,
		"the end of thread 9 worker": {Kind: Join,
			Ownership: Ownership{Owner: 9, OwnerName: "worker"}},
		"child process 9":                 {Kind: Child, Child: 9},
		"child":                           {Kind: Child},
		"threading.Lock (semaphore 0x40)": {Kind: Semaphore, Type: "threading.Lock", Address: 0x40},
		"disk: /srv/a (fd 3)":             {Kind: Disk, FD: file},
		"file-lock /srv/a (fd 3)":         {Kind: FileLock, FD: file},
		"condition 0x40 [idle? its function is called take_job]": {Kind: Condition, Address: 0x40,
			Idleness: Idleness{IdleGuess: "take_job(int)"}},
	} {
		if got := w.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestALockIsNamedByItsVariable(t *testing.T) {
	for _, c := range []struct {
		wait Wait
		v    Variable
		want string
	}{
		{Wait{Kind: Mutex, Address: 0x1010}, Variable{"cache", 0x10}, "mutex cache+0x10 0x1010"},
		{Wait{Kind: Mutex, Address: 0x1000}, Variable{"mu", 0}, "mutex mu 0x1000"},
		{Wait{Kind: Mutex, Address: 0x1000}, Variable{}, "mutex 0x1000 0x1000"},
		{Wait{Kind: Condition, Address: 0x102c}, Variable{"cond", 0x2c}, "condition cond 0x1000"},
		{Wait{Kind: Condition, Address: 0x1008}, Variable{"cond", 0x8}, "condition cond 0x1000"},
		{Wait{Kind: Condition, Address: 0x1010}, Variable{"pool", 0x10}, "condition pool+0x10 0x1010"},
		{Wait{Kind: Mutex, Address: 0x1010, managed: true}, Variable{"cache", 0x10}, "mutex 0x1010 0x1010"},
		{Wait{Kind: Mutex, Address: 0x1010}, Variable{pythonRuntime, 0x10}, "GIL 0x0"},
		{Wait{Kind: Condition, Address: 0x1010}, Variable{pythonRuntime, 0x10}, "GIL 0x0"},
		{Wait{Kind: Semaphore, Address: 0x1010}, Variable{pythonRuntime, 0x10}, "semaphore _PyRuntime+0x10 0x1010"},
	} {
		w := c.wait
		w.SetVariable(c.v)
		if got := fmt.Sprintf("%s %#x", w.Object(), uint64(w.Address)); got != c.want {
			t.Errorf("%s in %+v: %q, want %q", c.wait.Kind, c.v, got, c.want)
		}
	}
}

// The files are those of proc(5): eventfd, timerfd and signalfd, what an epoll watches, and the owner of a lock.
func TestDescriptorsHaveWhatTheKernelShowsOfThem(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"7/fdinfo/3": "pos:\t0\neventfd-count:                5\n", "7/fdinfo/4": "it_value: (1, 500000000)\n",
		"7/fdinfo/5": "it_value: (0, 0)\n", "7/fdinfo/6": "it_value: odd\n", "7/fdinfo/8": "sigmask:\t0000000000004003\n",
		"7/fdinfo/9":  "pos: 0\ntfd:        3 events: 19\ntfd:        4 events: 1\ntfd:        x\n",
		"locks":       "1: POSIX  ADVISORY  WRITE 12 fe:00:1 0 EOF\n1: -> POSIX  ADVISORY  WRITE 7 fe:00:1 0 EOF\n",
		"12/comm":     "db\n",
		"7/fdinfo/10": "sigmask:\tnone\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	links := map[int]string{3: "anon_inode:[eventfd]", 4: "anon_inode:[timerfd]", 5: "anon_inode:[timerfd]",
		6: "anon_inode:[timerfd]", 8: "anon_inode:[signalfd]", 9: "anon_inode:[eventpoll]", 10: "anon_inode:[signalfd]",
		11: "/srv/a"}
	if err := os.Mkdir(filepath.Join(root, "7/fd"), 0o755); err != nil {
		t.Fatal(err)
	}
	for fd, link := range links {
		if err := os.Symlink(link, filepath.Join(root, "7/fd", fmt.Sprint(fd))); err != nil {
			t.Fatal(err)
		}
	}
	f := &OpenFiles{root: root, pid: 7}
	for fd, want := range map[int]string{
		3: "anon_inode:[eventfd] (fd 3), count 5", 4: "anon_inode:[timerfd] (fd 4), fires in 1.500 s",
		5: "anon_inode:[timerfd] (fd 5), not set", 6: "anon_inode:[timerfd] (fd 6)",
		8: "anon_inode:[signalfd] (fd 8), signals 1, 2, 15", 10: "anon_inode:[signalfd] (fd 10), signals none",
		9: "anon_inode:[eventpoll] (fd 9), watches 2: anon_inode:[eventfd] (fd 3), count 5, anon_inode:[timerfd] (fd 4), " +
			"fires in 1.500 s",
		11: "/srv/a (fd 11)", 20: "descriptor 20",
	} {
		w := Wait{Kind: Descriptor, FD: &OpenFile{FD: FileNumber(fd)}}
		if f.AddFileDetails(&w); w.String() != want {
			t.Errorf("%q, want %q", w.String(), want)
		}
	}
	for classes, want := range map[string]string{
		"POSIX": "file-lock /srv/a (fd 11), taken by process 12 db",
		"FLOCK": "file-lock /srv/a (fd 11) (its owner is not known)",
	} {
		w := Wait{Kind: FileLock, FD: &OpenFile{FD: 11}, lockClasses: []string{classes}}
		if f.AddFileDetails(&w); w.String() != want {
			t.Errorf("%s: %q, want %q", classes, w.String(), want)
		}
	}
}

func TestAWaitForAChildNamesItIfTheCallDoes(t *testing.T) {
	for _, c := range []struct {
		call string
		args [6]uint64
		want int
	}{
		{"wait4", [6]uint64{9}, 9}, {"wait4", [6]uint64{0}, 0}, {"wait4", [6]uint64{0xffffffff}, 0},
		{"wait4", [6]uint64{1<<64 - 9}, 0}, {"waitid", [6]uint64{1, 9}, 9}, {"waitid", [6]uint64{0, 9}, 0},
		{"waitid", [6]uint64{2, 9}, 0},
	} {
		if w := describeChild(c.call, &c.args); w.Kind != Child || w.Child != c.want {
			t.Errorf("%s %v: %+v, want child %d", c.call, c.args, w, c.want)
		}
	}
}
