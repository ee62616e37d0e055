// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/errs"
)

func TestSyscallForms(t *testing.T) {
	for text, want := range map[string]SyscallInfo{
		"running\n":                        {Running: true, Nr: -1},
		"-1 0x7ffc5d5a1b28 0x7f1fe4a8c117": {Nr: -1, SP: 0x7ffc5d5a1b28, PC: 0x7f1fe4a8c117},
		"232 0x4 0x7ffd 0x1 0xffffffffffffffff 0x0 0x8 0x7ffd1230 0x7f6a\n": {Nr: 232,
			Args: [6]uint64{4, 0x7ffd, 1, 1<<64 - 1, 0, 8}, SP: 0x7ffd1230, PC: 0x7f6a},
	} {
		if got, err := parseSyscall([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %+v, error %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "run", "runningx", "-1", "-1 0x1", "1 0x1 0x2", "x", "232 4 1 1 1 1 1 1 1",
		"0 0x10000000000000000 0x1 0x1 0x1 0x1 0x1 0x1 0x1"} {
		if got, err := parseSyscall([]byte(text)); err != errFormat {
			t.Errorf("%q: %+v, error %v; want %v", text, got, err, errFormat)
		}
	}
}

func TestNamesInStatMayHaveAnyBytes(t *testing.T) {
	const rest = " S 1 1 1 0 -1 4194304 100 0 2 0 11 22 0 0 20 0 3 0 98765 4096 10 1844674"
	for _, name := range []string{"sh", "a) R 1 (b", ") S", "", "\n \xff", strings.Repeat("k", 63)} {
		var s Stat
		if err := ParseStat([]byte("42 ("+name+")"+rest), &s); err != nil || s.Comm.String() != name || s.PID != 42 ||
			s.State != 'S' || s.PPID != 1 || s.UTime != 11 || s.STime != 22 || s.Threads != 3 || s.StartTime != 98765 ||
			s.KernelThread() {
			t.Errorf("name %q: stat %+v, error %v", name, s, err)
		}
	}
	for _, text := range []string{"", "42 sh S 1", "42 (sh)", "42 (sh) S", ")42(", "x (sh)" + rest} {
		var s Stat
		if err := ParseStat([]byte(text), &s); err != errFormat || s != (Stat{}) {
			t.Errorf("%q: stat %+v, error %v; want %v", text, s, err, errFormat)
		}
	}
}

const statusText = "Name:\tbash\nUmask:\t0022\nState:\tt (tracing stop)\nTgid:\t42\nNgid:\t0\nPid:\t43\nPPid:\t7\n" +
	"TracerPid:\t99\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nNSpid:\t43\t5\t1\nThreads:\t12\nSigPnd:\t0000000000000001\n" +
	"ShdPnd:\t0000000000000002\nSigBlk:\t0000000000000004\nSigIgn:\t0000000000000008\nSigCgt:\tffffffffffffffff\n" +
	"CapEff:\t000001ffffffffff\nNoNewPrivs:\t1\nSeccomp:\t2\n"

func TestStatusFields(t *testing.T) {
	var s Status
	if err := ParseStatus([]byte(statusText), &s); err != nil {
		t.Fatal(err)
	}
	want := Status{Tgid: 42, PID: 43, PPid: 7, TracerPid: 99, Threads: 12, UID: [4]uint32{1, 2, 3, 4},
		GID: [4]uint32{5, 6, 7, 8}, NSpidN: 3,
		CapEff: 0x1ffffffffff, SigIgn: 8, SigCgt: 1<<64 - 1,
		Seccomp: 2, NoNewPrivs: true, State: 't'}
	copy(want.NSpid[:], []int{43, 5, 1})
	if s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
	for _, text := range []string{"", "Tgid:\t1\n", "State:\tS\nTgid:\tx\n", "State:\tS\nTgid:\t1\nCapEff:\tz\n"} {
		if err := ParseStatus([]byte(text), &s); err != errFormat {
			t.Errorf("%q: error %v, want %v", text, err, errFormat)
		}
	}
	if err := ParseStatus([]byte("State:\tX (dead)\nTgid:\t0\n"), &s); err != errs.Exited {
		t.Errorf("reaped: %v", err)
	}
}

func TestMalformedTaskEntriesEndTheList(t *testing.T) {
	entry := func(name string, length int) []byte {
		b := make([]byte, length)
		b[16], b[17] = byte(length), byte(length>>8)
		copy(b[19:], name)
		return b
	}
	var b []byte
	for _, name := range []string{".", "..", "12", "x1", "0", "345678"} {
		b = append(b, entry(name, 32)...)
	}
	if got := appendTasks(nil, b); len(got) != 2 || got[0] != 12 || got[1] != 345678 {
		t.Errorf("threads %v, want 12 and 345678", got)
	}
	b[16+32*3] = 0
	if got := appendTasks(nil, b); len(got) != 1 {
		t.Errorf("threads %v, want one", got)
	}
}

func TestStatHasPlacesOfProgramAndStackAndThePriority(t *testing.T) {
	const upToProcessor = "42 (a) S 1 1 1 0 -1 4194304 100 0 2 0 11 22 0 0 20 0 3 0 98765 4096 10 1844674 26 27 28 " +
		"0 0 0 0 0 0 0 0 0 17 5"
	for end, want := range map[string][2]int{
		"": {}, " 40": {}, " 40 1": {40, unix.SCHED_FIFO}, " 0 6 0 0": {0, unix.SCHED_DEADLINE},
	} {
		var s Stat
		if err := ParseStat([]byte(upToProcessor+end), &s); err != nil || s.StartCode != 26 || s.StartStack != 28 ||
			s.Processor != 5 || [2]int{s.RTPriority, s.Policy} != want {
			t.Errorf("%q: stat %+v, error %v", end, s, err)
		}
	}
}

func FuzzParsers(f *testing.F) {
	for _, seed := range []string{"running", "-1 0x1 0x2", "1 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8", "1 2 3\n",
		"42 (a) b) S 1 1 1 0 -1 4194304 100 0 2 0 11 22 0 0 20 0 3 0 98765 4096", statusText,
		"99999999999999999999 1 1", "(((", ")))", "NSpid:" + strings.Repeat(" 1", 99),
		"[<0>] do_wait+0x53/0x120\n[<0>] 0x0\n[<0>] read+0x1/0x2 [fuse]\n[<0>] cut+0x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parseSyscall(b); err != nil && s != (SyscallInfo{}) {
			t.Errorf("syscall: an error, and %+v", s)
		}
		if s, err := ParseSchedStat(b); err != nil && s != (SchedStat{}) {
			t.Errorf("schedstat: an error, and %+v", s)
		}
		var st Stat
		if err := ParseStat(b, &st); err != nil && st != (Stat{}) {
			t.Errorf("stat: an error, and %+v", st)
		}
		var s Status
		if err := ParseStatus(b, &s); err != nil && s != (Status{}) {
			t.Errorf("status: an error, and %+v", s)
		}
		appendTasks(nil, b)
		for name, rest := NextKernelFrame(b); len(name) > 0; name, rest = NextKernelFrame(rest) {
			if len(rest) >= len(b) || bytes.ContainsAny(name, "\n+") {
				t.Errorf("frame of the kernel stack %q, %d of %d bytes left", name, len(rest), len(b))
			}
		}
	})
}

func TestFramesOfAKernelStackAreParsed(t *testing.T) {
	var got []string
	text := []byte("[<0>] do_wait+0x53/0x120\n[<0>] 0xffffffff\n\n[<0>] fuse_read+0x1/0x2 [fuse]\n[<0>] cut+0x")
	for name, rest := NextKernelFrame(text); len(name) > 0; name, rest = NextKernelFrame(rest) {
		got = append(got, string(name))
	}
	if !slices.Equal(got, []string{"do_wait", "fuse_read"}) {
		t.Errorf("frames %q, want do_wait and fuse_read", got)
	}
}
