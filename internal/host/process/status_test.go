// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

const sampleStatus = `Name:	a\nb\\c
State:	S (sleeping)
Tgid:	1234
Pid:	1235
PPid:	1
TracerPid:	77
Uid:	1	2	3	4
Gid:	5	6	7	8
NSpid:	1234	5
Kthread:	0
Threads:	13
CapPrm:	000001ffffffffff
CapEff:	0000000000080000
CapBnd:	00000000a80425fb
NoNewPrivs:	1
Seccomp:	2
Seccomp_filters:	1
`

func TestStatusIsReadByField(t *testing.T) {
	s := parseStatus([]byte(sampleStatus))
	if s.Name != "a\nb\\c" || s.State != 'S' || s.Tgid != 1234 || s.PID != 1235 || s.PPid != 1 || s.TracerPid != 77 ||
		s.UID != [4]uint32{1, 2, 3, 4} || s.GID != [4]uint32{5, 6, 7, 8} || s.Threads != 13 || s.Seccomp != 2 ||
		!s.NoNewPrivs || s.KernelThread || s.NSpidN != 2 || s.NSpid[1] != 5 || s.CapPrm != 1<<41-1 {
		t.Errorf("status %+v", s)
	}
	if s.MayGet(1<<unix.CAP_SYS_PTRACE) || !s.MayGet(1<<unix.CAP_KILL) || !parseStatus(nil).MayGet(OtherUsers) {
		t.Errorf("capabilities beyond the bounding set %x, want CAP_SYS_PTRACE and not CAP_KILL", s.Unreachable)
	}
	old := parseStatus([]byte("CapBnd:\t0000003fffffffff\n")) // Linux 5.4 has no CAP_PERFMON
	if !old.MayGet(1 << unix.CAP_PERFMON) {
		t.Errorf("capabilities beyond a set of all: %x", old.Unreachable)
	}
	if parseStatus([]byte("CapBnd:\t0000000000000003\n")).MayGet(OtherUsers) {
		t.Error("a set of the first two capabilities bounds nothing")
	}
	if !s.Has(unix.CAP_SYS_PTRACE) || s.Has(unix.CAP_SYS_ADMIN) {
		t.Errorf("capabilities %x, want CAP_SYS_PTRACE without CAP_SYS_ADMIN", s.CapEff)
	}
}

func TestStatusOfThisProcess(t *testing.T) {
	s, err := ReadStatus("/proc", os.Getpid())
	if err != nil || s.Tgid != os.Getpid() || s.PPid != os.Getppid() || s.Start == 0 || int(s.UID[0]) != os.Getuid() {
		t.Errorf("status of this process: %+v, %v", s, err)
	}
	self, err := ReadSelf("/proc")
	if err != nil || self.Tgid != s.Tgid {
		t.Errorf("status of self: %+v, %v", self, err)
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte(sampleStatus))
	f.Add([]byte("Tgid:\t" + strconv.Itoa(1<<40) + "\nUid: 1 2 3 4 5 6 7\nState:\n:\nName"))
	f.Fuzz(func(_ *testing.T, text []byte) { parseStatus(text) })
}
