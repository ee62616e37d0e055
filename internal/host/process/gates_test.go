// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/errs"
	"prywalk/internal/host/procmem"
)

func has(s procmem.Status) *Status { return &Status{Status: s} }

func TestRemedyUnderNoNewPrivs(t *testing.T) {
	g := gateChecker{self: has(procmem.Status{UID: [4]uint32{1, 1, 1, 1}, NoNewPrivs: true})}
	for invocation, want := range map[string]string{
		"":                 "outside of this sandbox",
		"0123456789abcdef": "give the unit AmbientCapabilities=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH",
	} {
		t.Setenv("INVOCATION_ID", invocation)
		if gate := g.withCapabilities(Gate{}, OtherUsers); !strings.Contains(gate.Remedy, want) || gate.Command != "" {
			t.Errorf("INVOCATION_ID=%s: remedy %q, command %q; want %q and none", invocation, gate.Remedy, gate.Command, want)
		}
	}
}

func TestRemediesAtYama1(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	status := func(pid, uid int) string {
		ids := strings.Repeat(fmt.Sprintf("\t%d", uid), 4)
		return fmt.Sprintf("Name:\tx\nState:\tS (sleeping)\nTgid:\t%d\nPid:\t%[1]d\nPPid:\t1\nUid:%s\nGid:%[2]s\n"+
			"Threads:\t3\nCapEff:\t0000000000000000\nCapPrm:\t0000000000000000\n", pid, ids)
	}
	write("sys/kernel/yama/ptrace_scope", "1\n")
	for _, c := range []struct {
		uid, target int
		invocation  string
		want, not   string
	}{
		{1000, 1000, "", "; run prywalk as root (sudo), or start it with: prywalk record -- COMMAND, or: sudo setcap " +
			"cap_sys_ptrace+ep ", "sysctl"},
		{0, 0, "", "; in a container, give the capability: --cap-add=SYS_PTRACE", "sudo"},
		{0, 0, "0123456789abcdef", "; in a unit of systemd, give the unit AmbientCapabilities=CAP_SYS_PTRACE, and its " +
			"CapabilityBoundingSet, if it has one; in a container, give the capability: --cap-add=SYS_PTRACE", "sudo"},
	} {
		t.Setenv("INVOCATION_ID", c.invocation)
		write("self/status", status(50, c.uid))
		write("77/status", status(77, c.target))
		text := fmt.Sprint(procRoot(root).explain(77, unix.EPERM))
		if !strings.Contains(text, "Yama requires CAP_SYS_PTRACE") || !strings.Contains(text, c.want) ||
			strings.Contains(text, c.not) {
			t.Errorf("user %d: %s", c.uid, text)
		}
	}
}

func TestTheIdentityThatDiffersIsNamed(t *testing.T) {
	t.Setenv("INVOCATION_ID", "")
	own := [4]uint32{91000, 91000, 91000, 91000}
	for _, c := range []struct {
		uid, gid       [4]uint32
		detail, remedy string
	}{
		{[4]uint32{0, 0, 0, 0}, own, "it runs as user root, prywalk as user 91000", "run prywalk as that user or as root"},
		{own, [4]uint32{91005, 91005, 91005, 91005}, "it runs with group 91005, prywalk with group 91000",
			"run prywalk with that group or as root"},
		{own, [4]uint32{91000, 91000, 91006, 91000}, "it runs with group 91006, prywalk with group 91000",
			"run prywalk with that group or as root"},
		{[4]uint32{91000, 91000, 0, 91000}, own, "its real or saved user is not its effective one, user 91000",
			"run prywalk as root"},
	} {
		g := &gateChecker{self: has(procmem.Status{UID: own, GID: own}),
			target: has(procmem.Status{UID: c.uid, GID: c.gid})}
		if gate := g.user(); gate.OK || gate.Detail != c.detail || gate.Remedy != c.remedy {
			t.Errorf("%v %v: %+v", c.uid, c.gid, gate)
		}
	}
}

func TestTracerIsTheCauseOnlyIfPrywalkMayTrace(t *testing.T) {
	own := [4]uint32{1000, 1000, 1000, 1000}
	for uid, want := range map[uint32]errs.Reason{1000: errs.Traced, 1001: errs.Denied} {
		g := gateChecker{
			proc: procRoot(t.TempDir()), pid: 77, self: has(procmem.Status{PID: 50, UID: own, GID: own}),
			target: has(procmem.Status{PID: 77, UID: [4]uint32{uid, uid, uid, uid}, GID: own, TracerPid: 60}),
		}
		if e := g.denied(unix.EPERM); e.Kind != want {
			t.Errorf("a traced process of user %d: %v, want %v", uid, e, want)
		}
	}
}

func TestPrywalksOwnThreadIsNoOtherTracer(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "60"), 0o755); err != nil {
		t.Fatal(err)
	}
	for tgid, want := range map[int]bool{50: true, 59: false} {
		text := fmt.Sprintf("Name:\tprywalk\nState:\tS (sleeping)\nTgid:\t%d\nPid:\t60\nThreads:\t3\n", tgid)
		if err := os.WriteFile(filepath.Join(root, "60/status"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		g := gateChecker{proc: procRoot(root), pid: 77, self: has(procmem.Status{PID: 50, Tgid: 50}),
			target: has(procmem.Status{PID: 77, TracerPid: 60})} // a thread
		if gate := g.tracer(); gate.OK != want {
			t.Errorf("tracer's process %d: %+v", tgid, gate)
		}
	}
}

func TestMissingCapabilitiesHaveNames(t *testing.T) {
	for bits, want := range map[uint64]string{
		1 << unix.CAP_NET_BIND_SERVICE:                     "cap_net_bind_service",
		1<<unix.CAP_CHOWN | 1<<unix.CAP_CHECKPOINT_RESTORE: "cap_chown, cap_checkpoint_restore",
		1<<unix.CAP_LAST_CAP | 1<<(unix.CAP_LAST_CAP+1):    "cap_checkpoint_restore, 41",
		1<<unix.CAP_KILL - 1: "cap_chown, cap_dac_override, cap_dac_read_search, cap_fowner, " +
			"1 more",
	} {
		if got := capabilityList(bits); got != want {
			t.Errorf("%x: %q, want %q", bits, got, want)
		}
	}
	const used = "cap_sys_ptrace cap_dac_read_search cap_perfmon cap_sys_nice cap_checkpoint_restore cap_sys_admin cap_bpf"
	if got := strings.Join(grantedNames(^uint64(0)), " "); got != used {
		t.Errorf("those that prywalk uses: %q, want %q", got, used)
	}
}

func TestSeccompRemedyIsNotACapabilityThatPrywalkHas(t *testing.T) {
	for caps, want := range map[uint64]string{
		0:                        "in a container --cap-add=SYS_PTRACE, ",
		1 << unix.CAP_SYS_PTRACE: "allow ptrace and process_vm_readv in its profile, ",
	} {
		self := has(procmem.Status{CapEff: caps, CapPrm: caps, Seccomp: 2})
		g := gateChecker{proc: procRoot(t.TempDir()), self: self, target: &Status{}}
		if e := g.denied(unix.EPERM); !strings.HasPrefix(e.Next, want) || !strings.Contains(e.Cause, "seccomp") {
			t.Errorf("capabilities %x: %q, want %q", caps, e.Error(), want)
		}
	}
}

func TestARefusalByAppArmorIsNotBlamedOnSeccomp(t *testing.T) {
	root := t.TempDir()
	for _, w := range []struct {
		own, its string
		err      error
		want     string
	}{
		{"docker-default (enforce)", "unconfined", unix.EACCES, `AppArmor denies it to prywalk's profile "docker-default"`},
		{"docker-default (enforce)", "unconfined", unix.EPERM, "a seccomp filter"},
		{"docker-default (enforce)", "docker-default (enforce)", unix.EACCES, `a security module (label "docker-default`},
		{"unconfined", "unconfined", unix.EACCES, "probably a security module; search"},
		{"docker-default (complain)", "unconfined", unix.EACCES, "probably a security module; search"},
		{"", "", unix.EACCES, "probably a security module; search"},
	} {
		for dir, label := range map[string]string{"self": w.own, "77": w.its} {
			file := filepath.Join(root, dir, "attr/current")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(label+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		self := has(procmem.Status{CapEff: OtherUsers, CapPrm: OtherUsers, Seccomp: 2})
		g := gateChecker{proc: procRoot(root), pid: 77, self: self, target: &Status{}}
		if e := g.denied(&os.PathError{Op: "open", Err: w.err}); !strings.Contains(e.Error(), w.want) {
			t.Errorf("%+v: %q", w, e.Error())
		}
	}
}
