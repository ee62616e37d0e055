// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"encoding/binary"
	"testing"

	"prywalk/internal/base/schema"
)

type live map[int]int

func (l live) Parent(int) int { return 0 }

func (l live) Thread(inner int, _ bool) (int, bool) {
	tid, ok := l[inner]
	return tid, ok
}

func words(addr uint64, w ...uint32) FutexCopy {
	c := FutexCopy{Addr: addr - CopyBefore}
	for _, v := range w {
		c.Bytes = binary.LittleEndian.AppendUint32(c.Bytes, v)
	}
	c.Bytes = append(c.Bytes, make([]byte, CopySize-len(c.Bytes))...)
	return c
}

func stack(functions ...string) (out []StackFunction) {
	for _, f := range functions {
		out = append(out, StackFunction{f, "/lib/libc.so.6"})
	}
	return out
}

const word = 0x1000

type futexCase struct {
	name  string
	op    uint64
	value uint64
	stack []StackFunction
	mem   FutexCopy
	kind  Kind
	owner int
	gone  int
	free  bool
}

func futexCases() []futexCase {
	mutex := stack("__lll_lock_wait", "pthread_mutex_lock")
	return []futexCase{
		{"mutex", 128, 2, mutex, words(word, 0, 0, 0, 0, 2, 0, 7, 1, 0), Mutex, 107, 0, false},
		{"free", 128, 2, mutex, words(word, 0, 0, 0, 0, 0, 0, 7, 1, 0), Mutex, 0, 0, true},
		{"taken, owner not written yet", 128, 2, mutex, words(word, 0, 0, 0, 0, 2, 0, 0, 1, 0), Mutex, 0, 0, false},
		{"owner has ended", 128, 2, mutex, words(word, 0, 0, 0, 0, 2, 0, 9, 1, 0), Mutex, 0, 9, false},
		{"no kind of glibc", 128, 2, mutex, words(word, 0, 0, 0, 0, 2, 0, 7, 1, 0x8000), Mutex, 0, 0, false},
		{"not read", 128, 2, mutex, FutexCopy{}, Mutex, 0, 0, false},
		{"cut", 128, 2, mutex, FutexCopy{word, []byte{2, 0, 0, 0, 0, 0, 0, 0, 7, 0}}, Mutex, 0, 0, false},
		{"robust", 0, 0x80000007, stack("__pthread_mutex_lock_full"), words(word, 0, 0, 0, 0, 0x80000007, 0, 7, 1, 128+16),
			Mutex, 107, 0, false},
		{"robust, owner died", 0, 0x80000007, stack("__pthread_mutex_lock_full"), words(word, 0, 0, 0, 0, 0x40000000, 0, 7, 1,
			128+16), Mutex, 0, 0, true},
		{"with a priority ceiling", 128, 20<<19 | 2, stack("__lll_lock_wait", "__pthread_mutex_lock_full"),
			words(word, 0, 0, 0, 0, 20<<19|2, 0, 7, 1, 64|20<<19), Mutex, 107, 0, false},
		{"with a priority ceiling, free", 128, 20<<19 | 2, stack("__lll_lock_wait", "__pthread_mutex_lock_full"),
			words(word, 0, 0, 0, 0, 20<<19, 0, 7, 1, 64|20<<19), Mutex, 0, 0, true},
		{"of a word that only one with a ceiling has", 128, 20 << 19, mutex,
			words(word, 0, 0, 0, 0, 20<<19, 0, 7, 1, 0), Mutex, 107, 0, false},
		{"PI, whatever it is", 6 + 128, 0, nil, words(word, 0, 0, 0, 0, 0x80000008), Mutex, 108, 0, false},
		{"condition", 128 + 9, 0, stack("__futex_abstimed_wait_common", "pthread_cond_wait"),
			words(word, 0, 0, 0, 0, 2, 0, 7, 1, 0), Condition, 0, 0, false},
		{"mutex after a condition", 128, 2, stack("__lll_lock_wait", "", "pthread_cond_wait"),
			words(word, 0, 0, 0, 0, 2, 0, 7, 1, 0), Mutex, 107, 0, false},
		{"mutex of glibc 2.17", 128, 2, stack("__lll_lock_wait", "_L_lock_839", "__pthread_mutex_lock"),
			words(word, 0, 0, 0, 0, 2, 0, 7, 1, 0), Mutex, 107, 0, false},
		{"mutex of glibc 2.17 after a condition", 128, 2, stack("__lll_lock_wait", "_L_cond_lock_840",
			"__pthread_mutex_cond_lock", "pthread_cond_wait"), words(word, 0, 0, 0, 0, 2, 0, 7, 1, 0), Mutex, 107, 0, false},
		{"malloc's lock of glibc 2.17, called under a mutex's function", 128, 2, stack("__lll_lock_wait_private",
			"_L_lock_1051", "malloc", "pthread_mutex_lock"),
			words(word, 0, 0, 0, 0, 2, 0, 7, 1, 0), LibraryLock, 0, 0, false},
		{"malloc's lock, called under a mutex's function", 128, 2, stack("__lll_lock_wait_private", "malloc",
			"pthread_mutex_lock"),
			words(word, 0, 0, 0, 0, 2, 0, 7, 1, 0), LibraryLock, 0, 0, false},
		{"the program's own futex", 128, 2, []StackFunction{{"syscall", "libc.so.6"}, {"wait_for_it", "prog"},
			{"pthread_mutex_lock", "prog"}},
			words(word, 0, 0, 0, 0, 2, 0, 7, 1, 0), Futex, 0, 0, false},
		{"Rust", 128, 2, []StackFunction{{"syscall", "libc.so.6"},
			{"std::sys::sync::mutex::futex::Mutex::lock_contended", "prog"}},
			words(word, 0, 0, 0, 0, 2, 0, 7, 1, 0), Mutex, 0, 0, false},
		{"join", 9 + 256, 8, stack("__futex_abstimed_wait_common", "__pthread_clockjoin_ex"),
			words(word, 0, 0, 0, 0, 8), Join,
			108, 0, false},
		{"join by a function without a name", 9 + 256, 8, stack("", ""), words(word, 0, 0, 0, 0, 8), Join, 108, 0, false},
		{"of no thread", 9 + 256, 9, stack("", ""), words(word, 0, 0, 0, 0, 9), Futex, 0, 0, false},
		{"not as a join waits", 9 + 256 + 128, 8, stack("", ""), words(word, 0, 0, 0, 0, 8), Futex, 0, 0, false},
		{"a robust mutex likewise", 9 + 256, 0x80000008, stack("", ""), words(word, 0, 0, 0, 0, 0x80000008), Futex, 0, 0,
			false},
		{"musl, recursive", 128, 0x80000007, []StackFunction{{"__syscall_cp_c", "/lib/ld-musl-x86_64.so.1"},
			{"__timedwait", "/lib/ld-musl-x86_64.so.1"},
			{"pthread_mutex_timedlock", "/lib/ld-musl-x86_64.so.1"}}, words(word, 0, 0, 0, 1, 0x80000007), Mutex, 107, 0, false},
		{"musl, normal", 128, 0x80000010, []StackFunction{{"__timedwait", "/lib/ld-musl-x86_64.so.1"},
			{"pthread_mutex_lock", "/lib/ld-musl-x86_64.so.1"}},
			words(word, 0, 0, 0, 0, 0x80000010), Mutex, 0, 0, false},
		{"musl, the end of a thread", 128, 2, []StackFunction{{"__timedwait_cp", "/prog"}, {"pthread_timedjoin_np", "/prog"}},
			words(word, 0, 0, 8, 0, 2), Join, 108, 0, false},
		{"musl, that of one that ends", 128, 1, []StackFunction{{"__timedwait_cp", "/prog"},
			{"pthread_timedjoin_np", "/prog"}}, words(word, 0, 0, 8, 0, 1), Join, 0, 0, false},
		{"musl, a condition, at a word of the waiter's", 128, 2, []StackFunction{{"memset", "/lib/ld-musl-x86_64.so.1"},
			{"", "/lib/ld-musl-x86_64.so.1"},
			{"pthread_cond_timedwait", "/lib/ld-musl-x86_64.so.1"}}, words(word, 0, 0, 0, 1, 2), Condition, 0, 0,
			false},
		{"musl, an exported function's name that a program has, too", 128, 2,
			[]StackFunction{{"memset", "/prog"}, {"pthread_mutex_lock", "/lib/ld-musl-x86_64.so.1"}},
			words(word, 0, 0, 0, 1, 0x80000007), Futex, 0, 0, false},
		{"musl, a condition", 128, 1, []StackFunction{{"__timedwait_cp", "/lib/ld-musl-x86_64.so.1"},
			{"pthread_cond_timedwait", "/lib/ld-musl-x86_64.so.1"}},
			words(word, 0, 0, 0, 1, 7), Condition, 0, 0, false},
		{"a wake, which does not sleep", 1, 1, mutex, words(word, 0, 0, 0, 0, 2, 0, 7, 1, 0), Other, 0, 0, false},
	}
}

func TestOwnersAreNamedOnlyWhereTheyAreProven(t *testing.T) {
	threads := live{7: 107, 8: 108}
	for _, c := range futexCases() {
		s := &Sleeper{State: 'S', Reason: "futex", InCall: true, Stack: c.stack, Memory: c.mem,
			Args: [6]uint64{word, c.op, c.value}}
		w := Describe(s)
		w.ResolveOwner(threads)
		if w.Kind != c.kind || w.Owner != c.owner || w.OwnerGone != c.gone || w.Free != c.free {
			t.Errorf("%s: %+v", c.name, w)
		}
	}
}

func TestJoinsOfUnknownThreadsAreLabelledByTheirWords(t *testing.T) {
	for want, w := range map[string]Wait{
		"join thread 107": {Kind: Join, Address: 0x7f00, Ownership: Ownership{Owner: 107}},
		"join 0x7f00":     {Kind: Join, Address: 0x7f00},
		"join":            ManagedWait(Join, "", 0x7f00, 0, false),
	} {
		if got := w.Label(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestTheOwnerOfASharedMutexIsNamedByItsIDIfItsProcessIsNotObserved(t *testing.T) {
	s := &Sleeper{State: 'S', Reason: "futex", InCall: true, Stack: stack("__lll_lock_wait", "pthread_mutex_lock"),
		Memory: words(word, 0, 0, 0, 0, 2, 0, 13788, 1, 128), Args: [6]uint64{word, 0, 2}}
	w := Describe(s)
	w.ResolveOwner(live{7: 107})
	w.NameOwnerOutside()
	if want := "held by thread 13788 of another process, or of one that has ended"; w.Why != want || w.OwnerGone != 0 {
		t.Errorf("%+v, want %q", w, want)
	}
}

func TestAMutexOfMuslThatIsNoneHasAReasonOfItsOwn(t *testing.T) {
	stack := []StackFunction{{"__timedwait", "/lib/ld-musl-x86_64.so.1"},
		{"pthread_mutex_lock", "/lib/ld-musl-x86_64.so.1"}}
	for _, c := range []struct {
		mem FutexCopy
		why string
	}{{words(word, 0, 0, 0, 0x1000, 0x80000007), "its memory is not a valid mutex of musl"}, {FutexCopy{}, memoryUnread}} {
		s := &Sleeper{State: 'S', Reason: "futex", InCall: true, Stack: stack, Memory: c.mem,
			Args: [6]uint64{word, 128, 0x80000007}}
		if w := Describe(s); w.Why != c.why || w.Kind != Mutex {
			t.Errorf("%+v, want %q", w, c.why)
		}
	}
}

func TestRWLocksAreFoundByEitherOfTheirWords(t *testing.T) {
	const lock = 0x2000
	for _, c := range []struct {
		word    uint64
		mode    string
		readers uint32
		writer  uint32
		owner   int
		counted int
	}{
		{8, "rdlock", 3, 7, 107, 0}, {12, "wrlock", 3, 7, 107, 0}, {8, "wrlock", 2 | 2<<3, 0, 0, 2},
		{12, "wrlock", 3, 0, 0, 0},
	} {
		c0 := FutexCopy{Addr: lock + c.word - CopyBefore, Bytes: make([]byte, CopySize)}
		put := func(at uint64, v uint32) { binary.LittleEndian.PutUint32(c0.Bytes[at-c0.Addr:], v) }
		put(lock, c.readers)
		put(lock+24, c.writer)
		s := &Sleeper{State: 'S', Reason: "futex", InCall: true,
			Stack: stack("__futex_abstimed_wait_common", "pthread_rwlock_"+
				c.mode),
			Memory: c0, Args: [6]uint64{lock + c.word, 128 + 9 + 256, 3}}
		w := Describe(s)
		w.ResolveOwner(live{7: 107})
		if w.Kind != RWLock || w.Address != lock || w.Owner != c.owner || w.Readers != c.counted {
			t.Errorf("%+v: %+v", c, w)
		}
	}
}

func TestWaitersOfAConditionOfGlibcAreAtOneObjectInEitherGroup(t *testing.T) {
	for _, c := range []struct {
		stack []StackFunction
		want  [2]schema.Hex
	}{
		{stack("__futex_abstimed_wait_common", "pthread_cond_wait"), [2]schema.Hex{word, word}},
		{[]StackFunction{{"pthread_cond_timedwait", "/lib/ld-musl-x86_64.so.1"}}, [2]schema.Hex{word, word + 4}},
		{stack("syscall", "std::sys::sync::condvar::futex::Condvar::wait"), [2]schema.Hex{word, word + 4}},
	} {
		for i := range c.want {
			args := [6]uint64{word + 4*uint64(i), futexWaitBitset | futexPrivate}
			w := Describe(&Sleeper{State: 'S', Reason: "futex", InCall: true, Args: args, Stack: c.stack})
			if w.Kind != Condition || w.Address != c.want[i] {
				t.Errorf("%v: %v", c.stack, &w)
			}
		}
	}
}

func FuzzDescribe(f *testing.F) {
	f.Add("futex", uint64(0x1000), uint64(128), uint64(2), "pthread_mutex_lock", []byte{2, 0, 0, 0})
	f.Add("poll", uint64(0x1000), uint64(1<<40), uint64(2), "", []byte{})
	f.Add("select", uint64(1<<63), uint64(3), uint64(2), "", []byte{255})
	f.Add("clock_nanosleep", uint64(0), uint64(1), uint64(8), "", make([]byte, 64))
	f.Fuzz(func(_ *testing.T, wait string, a, b, c uint64, function string, memory []byte) {
		s := &Sleeper{State: 'S', Reason: wait, InCall: true, Args: [6]uint64{a, b, c, a, b, c},
			Memory: FutexCopy{a - CopyBefore, memory}, Stack: stack(function, "")}
		w := Describe(s)
		w.ResolveOwner(live{7: 107})
		w.ReadCallMemory(s, func(_ uint64, buf []byte) int { return copy(buf, memory) })
		_ = w.String()
	})
}
