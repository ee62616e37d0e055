// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/perfevents"
)

func fakeRoot(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func status(pid, uid, caps, more string) string {
	return "Name:\tx\nState:\tS (sleeping)\nTgid:\t" + pid + "\nPid:\t" + pid + "\nPPid:\t1\n" +
		"Uid:\t" + strings.Repeat(uid+"\t", 4) + "\nGid:\t" + strings.Repeat(uid+"\t", 4) +
		"\nThreads:\t3\nCapEff:\t" + caps + "\nCapPrm:\t" + caps + "\n" + more
}

const (
	noCaps  = "0000000000000000"
	allCaps = "000001ffffffffff"
)

// The kernel shows hidden processes to tracers, and with hidepid=1 and 2 to a group.
func TestHiddenProcesses(t *testing.T) {
	for _, c := range []struct {
		options, caps, groups string
		want                  Level
	}{
		{"rw", noCaps, "", OK},
		{"rw,hidepid=off", noCaps, "", OK},
		{"rw,hidepid=2", noCaps, "", Warn},
		{"rw,hidepid=noaccess", noCaps, "", Warn},
		{"rw,hidepid=invisible", fmt.Sprintf("%016x", 1<<unix.CAP_SYS_PTRACE), "", OK},
		{"rw,hidepid=invisible", fmt.Sprintf("%016x", 1<<unix.CAP_SYS_ADMIN), "", Warn},
		{"rw,gid=27,hidepid=invisible", noCaps, "1000 27", OK},
		{"rw,gid=28,hidepid=invisible", noCaps, "1000 27", Warn},
		{"rw,gid=1000,hidepid=2", noCaps, "", OK},
		{"rw,gid=27,hidepid=ptraceable", noCaps, "1000 27", Warn},
		{"rw,gid=27,hidepid=4", noCaps, "1000 27", Warn},
	} {
		root := fakeRoot(t, ordinary(map[string]string{
			"proc/self/status":    status("50", "1000", c.caps, "Groups:\t"+c.groups+"\n"),
			"proc/self/mountinfo": "22 1 0:20 / /proc rw - proc proc " + c.options + "\n"}))
		if f := find(t, Subject{Root: root}.Check(), "hidepid"); f.Level != c.want {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}

func ordinary(more map[string]string) map[string]string {
	files := map[string]string{
		"proc/self/status":          status("50", "1000", noCaps, ""),
		"proc/self/syscall":         "running\n",
		"proc/self/schedstat":       "123 456 7\n",
		"proc/self/mountinfo":       "22 1 0:20 / /proc rw,nosuid - proc proc rw\n",
		"proc/sys/kernel/osrelease": "6.1.0-13-amd64\n",
	}
	for k, v := range more {
		files[k] = v
	}
	return files
}

func find(t *testing.T, fs []Finding, name string) Finding {
	t.Helper()
	for _, f := range fs {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no finding %q in %+v", name, fs)
	return Finding{}
}

func checkOf(pid int) []Finding { return Subject{PID: pid}.Check() }

func TestMissingThingsHaveARemedy(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		level            Level
		detail, remedy   string
	}{
		{"kernel", "proc/sys/kernel/osrelease", "3.2.0", Fail, "3.2.0", "3.4"},
		{"kernel", "proc/sys/kernel/osrelease", "4.19.0", Warn, "4.19.0: not tested", "5.3"},
		{"kernel", "proc/sys/kernel/osrelease", "5.15.0", OK, "5.15.0 (tested: 6.18)", ""},
		{"/proc/PID/syscall", "proc/self/syscall", "", Warn, "sleeping", "TRACEHOOK"},
		{"/proc/PID/schedstat", "proc/self/schedstat", "0 0 0\n", Warn, "run queue", "SCHED_INFO"},
		{"hidepid", "proc/self/mountinfo", "22 1 0:20 / /proc rw - proc proc rw,hidepid=invisible\n", Warn,
			"hidepid=invisible", "run prywalk as root (sudo)"},
		{"yama", "proc/sys/kernel/yama/ptrace_scope", "1\n", Warn, "is 1",
			"run prywalk as root (sudo), or start the program with: prywalk record -- COMMAND"},
		{"yama", "proc/sys/kernel/yama/ptrace_scope", "1\n", Warn, "is 1", "setcap cap_sys_ptrace"},
		{"capabilities", "proc/sys/kernel/yama/ptrace_scope", "1\n", Warn, "only as Yama allows", "setcap"},
		{"yama", "proc/sys/kernel/yama/ptrace_scope", "2\n", Fail, "is 2", "setcap cap_sys_ptrace"},
		{"yama", "proc/sys/kernel/yama/ptrace_scope", "3\n", Fail, "is 3", "reboot"},
		{"yama", "proc/sys/kernel/yama/ptrace_scope", "0\n", OK, "is 0", ""},
		{"yama", "proc/none", "", OK, "not enforced", ""},
		{"capabilities", "proc/none", "", Warn, "has none", "setcap"},
		{"priority", "proc/none", "", Warn, "cannot be raised", "cap_sys_nice"},
		{"map_files", "proc/none", "", Warn, "memory", "cap_checkpoint_restore"},
		{"container", "proc/1/cgroup", "0::/kubepods/x\n", OK, "kubepods", ""},
		{"container", "run/.containerenv", "", OK, "Podman", ""},
		{"container", ".dockerenv,run/.containerenv", "", OK, "Docker", ""},
	} {
		files := map[string]string{}
		for file := range strings.SplitSeq(c.file, ",") {
			files[file] = c.text
		}
		root := fakeRoot(t, ordinary(files))
		f := find(t, Subject{Root: root}.Check(), c.name)
		if f.Level != c.level || !strings.Contains(f.Detail, c.detail) ||
			!strings.Contains(f.Remedy+" "+f.Command, c.remedy) ||
			c.remedy == "" && f.Remedy != "" {
			t.Errorf("%s %q: %+v", c.name, c.text, f)
		}
	}
}

func TestARightIsMissingWhereYamaForbidsTracing(t *testing.T) {
	for scope, want := range map[string]bool{"0": false, "1": false, "2": true, "3": true} {
		root := fakeRoot(t, ordinary(map[string]string{"proc/sys/kernel/yama/ptrace_scope": scope}))
		if fs := (Subject{Root: root}).Check(); Denied(fs) != want {
			t.Errorf("ptrace_scope %s: a right is missing: %v, want %v", scope, !want, want)
		}
	}
}

func ordinaryUser() *process.Status {
	s := &process.Status{}
	s.UID = [4]uint32{1000, 1000, 1000, 1000}
	return s
}

func TestNoCommandWeakensTheHost(t *testing.T) {
	root := fakeRoot(t, ordinary(map[string]string{"proc/sys/kernel/yama/ptrace_scope": "1",
		"proc/self/mountinfo": "22 1 0:20 / /proc rw - proc proc rw,hidepid=invisible\n"}))
	denied := func() error { return perfevents.ErrDenied }
	perf := (&checker{subject: Subject{Root: root, MayAsk: denied}, system: system{self: ordinaryUser()}}).perf()
	if !strings.HasSuffix(perf.Detail, "run as root, or with CAP_PERFMON") {
		t.Errorf("%+v", perf)
	}
	for _, f := range append((Subject{Root: root}).Check(), perf) {
		all := f.Command + f.Remedy + f.Detail
		if strings.Contains(all, "sysctl") || strings.Contains(f.Command, "mount") {
			t.Errorf("%+v", f)
		}
	}
}

func TestAnOrdinaryUsersThreadsAreSampledByTheKernel(t *testing.T) {
	testtargets.Need(t, perfevents.TryPerThread() == nil, "kernel samples of own threads",
		"sudo sysctl kernel.perf_event_paranoid=2")
	denied := func() error { return perfevents.ErrDenied }
	c := &checker{subject: Subject{MayAsk: denied}, system: system{self: &process.Status{}}}
	if f := c.perf(); !c.kernelSamples || !strings.Contains(f.Detail, "the kernel samples running threads") {
		t.Errorf("%+v, kernel samples %v", f, c.kernelSamples)
	}
}

func TestAFilterThatAllowsTracingIsNoWarning(t *testing.T) {
	c := checker{findings: []Finding{{Name: seccompCheck, Level: Warn, Remedy: "x"}, {Name: "other", Level: Warn}}}
	c.filterAllowsTracing()
	if f := c.findings[0]; f.Level != OK || f.Remedy != "" || c.findings[1].Level != Warn {
		t.Errorf("%+v", c.findings)
	}
}

// The bounding set is that of Docker and of Podman for containers without --cap-add.
func TestInAContainerTheEnginesFlagsAreNamed(t *testing.T) {
	denied := func() error { return perfevents.ErrDenied }
	for uid, user := range map[string]string{"0": "", "1000": "--user=0 "} {
		root := fakeRoot(t, ordinary(map[string]string{"run/.containerenv": "",
			"proc/self/status": status("50", uid, noCaps, "CapBnd:\t00000000a80425fb\n")}))
		fs := Subject{Root: root}.Check()
		for name, flags := range map[string]string{"capabilities": "--cap-add=SYS_PTRACE --cap-add=DAC_READ_SEARCH",
			"map_files": "--cap-add=CHECKPOINT_RESTORE", "priority": "--cap-add=SYS_NICE"} {
			want := "in a container: start it with " + user + flags
			if f := find(t, fs, name); f.Remedy != want || f.Command != "" {
				t.Errorf("user %s: %+v, want %q", uid, f, want)
			}
		}
		self := &process.Status{}
		if uid != "0" {
			self = ordinaryUser()
		}
		self.Unreachable = ^uint64(0xa80425fb)
		c := &checker{subject: Subject{MayAsk: denied}, system: system{self: self}}
		if f := c.perf(); !strings.Contains(f.Detail, "start the container with "+user+"--cap-add=PERFMON") {
			t.Errorf("user %s: %+v", uid, f)
		}
	}
}

func TestRemedyForKernelSamplesWithTheCapability(t *testing.T) {
	for users, want := range map[string]string{hostsUsers: "give it a seccomp profile that allows perf_event_open",
		"user:[4026532000]": "run prywalk on the host", "": "give it a seccomp profile"} {
		root := t.TempDir()
		if err := os.MkdirAll(root+"/proc/self/ns", 0o755); err != nil {
			t.Fatal(err)
		}
		if users != "" {
			if err := os.Symlink(users, root+"/proc/self/ns/user"); err != nil {
				t.Fatal(err)
			}
		}
		self := &process.Status{}
		self.CapEff = 1 << unix.CAP_PERFMON
		c := &checker{system: system{dir: root, self: self}}
		if got := c.perfRemedy(); !strings.HasPrefix(got, want) {
			t.Errorf("user namespace %q: %s, want %s", users, got, want)
		}
	}
}

func TestPIDNamespaceOfTheHostIsNamed(t *testing.T) {
	for link, want := range map[string]string{hostsPIDs: "the host's processes", "pid:[4026532000]": "own pid namespace"} {
		root := fakeRoot(t, map[string]string{"run/.containerenv": "", "proc/self/ns/x": ""})
		if err := os.Symlink(link, root+"/proc/self/ns/pid"); err != nil {
			t.Fatal(err)
		}
		c := &checker{system: system{dir: root, self: &process.Status{}}}
		if f := c.container(); !strings.Contains(f.Detail, want) {
			t.Errorf("%s: %s, want %s", link, f.Detail, want)
		}
	}
}

func TestSeccompRemedyIsNotACapabilityThatPrywalkHas(t *testing.T) {
	for caps, want := range map[string]string{noCaps: "--cap-add=SYS_PTRACE", allCaps: "allow ptrace and "} {
		root := fakeRoot(t, ordinary(map[string]string{"proc/self/status": status("50", "0", caps, "Seccomp:\t2\n")}))
		if f := find(t, Subject{Root: root}.Check(), seccompCheck); !strings.Contains(f.Remedy, want) {
			t.Errorf("%+v, want %q", f, want)
		}
	}
}

func TestYamaNeedsOneCapability(t *testing.T) {
	for _, scope := range []string{"1", "2"} {
		files := map[string]string{"proc/sys/kernel/yama/ptrace_scope": scope,
			"proc/self/status": status("50", "0", noCaps, ""), "proc/77/status": status("77", "0", noCaps, "")}
		fs := Subject{Root: fakeRoot(t, ordinary(files)), PID: 77}.Check()
		for _, name := range []string{"yama", "target: yama"} {
			if f := find(t, fs, name); strings.Contains(f.Remedy, "DAC") || !strings.Contains(f.Remedy, "--cap-add=SYS_PTRACE") {
				t.Errorf("ptrace_scope %s: %+v", scope, f)
			}
		}
	}
}

func TestQuotaIsReported(t *testing.T) {
	for _, c := range []struct {
		max   string
		level Level
	}{{"5000 100000\n", Warn}, {"400000 100000\n", OK}, {"max 100000\n", OK}} {
		root := fakeRoot(t, ordinary(map[string]string{
			"proc/self/cgroup":           "0::/side\n",
			"proc/self/mountinfo":        "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/side/cpu.max": c.max,
		}))
		f := find(t, Subject{Root: root}.Check(), "own cpu quota")
		if f.Level != c.level || (f.Remedy == "") != (c.level == OK) {
			t.Errorf("%q: %+v", c.max, f)
		}
	}
}

func TestTheTargetsQuotaIsReportedBesidePrywalks(t *testing.T) {
	for _, c := range []struct{ group, stat, want string }{
		{"/thumbs", "nr_periods 80\nnr_throttled 79\nthrottled_usec 7\n",
			"warn 12% of a CPU (ROOT/sys/fs/cgroup/thumbs), used up in 79 of 80 periods since the cgroup was made"},
		{"/thumbs", "nr_periods 800\nnr_throttled 7\n", "ok 12% of a CPU (ROOT/sys/fs/cgroup/thumbs)"},
		{"/shop/web", "",
			"warn 400% of a CPU (ROOT/sys/fs/cgroup/shop), used up in 20 of 80 periods since the cgroup was made"},
		{"/side", "", "ok none that the mounted cgroups show"},
		{"/../elsewhere", "", "ok none that the mounted cgroups show"},
	} {
		root := fakeRoot(t, ordinary(map[string]string{
			"proc/77/status":                    status("77", "1000", noCaps, ""),
			"proc/77/cgroup":                    "0::" + c.group + "\n",
			"proc/self/cgroup":                  "0::/side\n",
			"proc/self/mountinfo":               "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/side/cpu.stat":       "nr_periods 0\n",
			"sys/fs/cgroup/thumbs/cpu.max":      "12000 100000\n",
			"sys/fs/cgroup/thumbs/cpu.stat":     c.stat,
			"sys/fs/cgroup/shop/cpu.max":        "400000 100000\n",
			"sys/fs/cgroup/shop/cpu.stat":       "nr_periods 80\nnr_throttled 20\n",
			"sys/fs/cgroup/shop/web/cpu.max":    "200000 100000\n",
			"sys/fs/cgroup/shop/web/cpu.stat":   "nr_periods 80\nnr_throttled 0\n",
			"proc/sys/kernel/yama/ptrace_scope": "0",
		}))
		findings := Subject{Root: root, PID: 77}.Check()
		f := find(t, findings, "target: cpu quota")
		if got := string(f.Level) + " " + strings.ReplaceAll(f.Detail, root, "ROOT"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if own := find(t, findings, "own cpu quota"); own.Detail != "none" {
			t.Errorf("%+v", own)
		}
	}
}

func TestSudoIsNotSuggestedToRoot(t *testing.T) {
	for _, scope := range []string{"0", "1", "2", "3"} {
		root := fakeRoot(t, ordinary(map[string]string{
			"proc/self/status":                  status("50", "0", noCaps, "Seccomp:\t2\n"),
			"proc/77/status":                    status("77", "1000", allCaps, ""),
			"proc/sys/kernel/yama/ptrace_scope": scope,
			"proc/self/schedstat":               "",
		}))
		for _, f := range (Subject{Root: root, PID: 77}).Check() {
			if strings.Contains(f.Remedy, "sudo") || strings.Contains(f.Remedy, "as root,") {
				t.Errorf("%+v", f)
			}
		}
	}
}

func TestTargetGates(t *testing.T) {
	stat := "77 (x) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 3 0 555 0 0\n"
	for _, c := range []struct {
		gate, status, scope string
		level               Level
	}{
		{"target: user", status("77", "1001", noCaps, ""), "0", Fail},
		{"target: user", status("77", "1000", noCaps, ""), "0", OK},
		{"target: user namespace", status("77", "1000", noCaps, ""), "0", Warn},
		{"target: capabilities", status("77", "1000", "0000000000000400", ""), "0", Fail},
		{"target: tracer", status("77", "1000", noCaps, "TracerPid:\t50\n"), "0", OK},
		{"target: tracer", status("77", "1000", noCaps, "TracerPid:\t88\n"), "0", Fail},
		{"target: yama", status("77", "1000", noCaps, ""), "1", Fail},
		{"target: yama", strings.Replace(status("77", "1000", noCaps, ""), "PPid:\t1\n", "PPid:\t50\n", 1), "1", OK},
		{"target: seccomp", status("77", "1000", noCaps, "Seccomp:\t2\n"), "1", OK},
	} {
		root := fakeRoot(t, ordinary(map[string]string{
			"proc/77/status": c.status, "proc/77/stat": stat,
			"proc/88/status":                    strings.Replace(status("88", "1000", noCaps, ""), "Name:\tx", "Name:\tgdb", 1),
			"proc/sys/kernel/yama/ptrace_scope": c.scope,
		}))
		fs := Subject{Root: root, PID: 77}.Check()
		f := find(t, fs, c.gate)
		if f.Level != c.level || f.Level == Fail && f.Remedy == "" {
			t.Errorf("%+v", f)
		}
		if c.level == Fail && c.gate != "target: tracer" && !Denied(fs) {
			t.Errorf("%s: no right is missing", c.gate)
		}
		if strings.Contains(c.status, "88") && !strings.Contains(f.Detail, "88 (gdb)") {
			t.Errorf("%+v", f)
		}
	}
}

func TestNoProcIsOneFailure(t *testing.T) {
	fs := Subject{Root: t.TempDir()}.Check()
	if len(fs) != 1 || fs[0].Level != Fail || fs[0].Remedy == "" {
		t.Errorf("%+v", fs)
	}
}

func sleeper(t *testing.T) int {
	t.Helper()
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	testtargets.Asleep(t, c.Process.Pid)
	return c.Process.Pid
}

func TestThisMachine(t *testing.T) {
	pid := sleeper(t)
	fs := checkOf(pid)
	var out bytes.Buffer
	if err := Write(&out, fs, false, 0); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &out)
	if find(t, fs, "process_vm_readv").Level != OK || find(t, fs, "target: names").Detail == "" {
		t.Errorf("%+v", fs)
	}
	if f := find(t, fs, "target: seize"); f.Level != OK {
		t.Errorf("%+v", f)
	}
	refuse := func(int) error { return unix.EPERM }
	fs = Subject{PID: pid, seize: refuse}.Check()
	if f := find(t, fs, "target: seize"); f.Level != Fail || f.Remedy == "" {
		t.Errorf("%+v", f)
	}
}

func TestNoTracerStaysAfterATry(t *testing.T) {
	pid := sleeper(t)
	for range 100 {
		if err := seize(pid); err != nil {
			if errors.Is(err, unix.EPERM) {
				testtargets.Eventually(t, "the tracer of before is gone", func() bool { return isFree(t, pid) })
				continue
			}
			t.Fatal(err)
		}
	}
	testtargets.Eventually(t, "no tracer is left", func() bool { return isFree(t, pid) })
}

func isFree(t *testing.T, pid int) bool {
	t.Helper()
	s, err := process.ReadStatus("/proc", pid)
	if err != nil {
		t.Fatal(err)
	}
	return s.TracerPid == 0 && s.State == 'S'
}

func TestAMissingTargetIsAFailure(t *testing.T) {
	if f := find(t, checkOf(1<<30), "process"); f.Level != Fail || f.Remedy == "" {
		t.Errorf("%+v", f)
	}
	var st procmem.Stat
	if procmem.ReadStat(2, &st) != nil || !st.KernelThread() {
		return
	}
	if f := find(t, checkOf(2), "process"); f.Level != Fail {
		t.Errorf("%+v", f)
	}
}

func TestAnOrdinaryUserGetsAReport(t *testing.T) {
	if os.Getenv("DOCTOR_TEST_CHILD") != "" {
		if err := Write(os.Stdout, checkOf(os.Getppid()), false, 0); err != nil {
			t.Fatal(err)
		}
		return
	}
	testtargets.NeedRoot(t, "become another user")
	dir, err := os.MkdirTemp("", "doctor-test")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(dir+"/test", exe, 0o755),
		os.Chmod(dir+"/test", 0o755)); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(dir+"/test", "-test.run=TestAnOrdinaryUserGetsAReport")
	c.Dir = "/"
	c.Env = append(os.Environ(), "DOCTOR_TEST_CHILD=1")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := bounded.AllOutput(c)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("\n%s", out)
	for want, times := range map[string]int{"warn  capabilities": 1, "fail  ": 1, "fail  target: user": 1,
		"run prywalk as that user or as root": 1, "run prywalk as root": 1,
		"needed for other users' processes:\n      sudo setcap cap_sys_ptrace,cap_dac_read_search+ep ": 1,
		"recommended:\n      sudo setcap cap_sys_ptrace,cap_dac_read_search,":                          1, "setcap": 2} {
		if n := strings.Count(string(out), want); n != times {
			t.Errorf("%d times %q, want %d", n, want, times)
		}
	}
}

func TestWriteAlignsColumns(t *testing.T) {
	var plain, colour bytes.Buffer
	fs := []Finding{{Name: "a", Level: OK, Detail: "fine"},
		{Name: "longer", Level: Fail, Detail: "bad", Remedy: "do this"}}
	if err := errors.Join(Write(&plain, fs, false, 0), Write(&colour, fs, true, 0)); err != nil {
		t.Fatal(err)
	}
	want := "ok    a       fine\nfail  longer  bad\n              → do this\n"
	if plain.String() != want {
		t.Errorf("%q", &plain)
	}
	if !strings.Contains(colour.String(), "\x1b[31;1mfail\x1b[0m") {
		t.Errorf("%q", &colour)
	}
	if Worst(fs) != Fail || Worst(fs[:1]) != OK {
		t.Error("worst level")
	}
}

func TestCodeWithoutNames(t *testing.T) {
	python := testtargets.Run(t, "python", testtargets.Options{})
	f := find(t, checkOf(python.PID), "target: code")
	if f.Level != OK || f.Remedy != "" || !strings.HasPrefix(f.Detail, "CPython ") ||
		!strings.Contains(f.Detail, "have names") {
		t.Errorf("%+v", f)
	}
	node := testtargets.Run(t, "node", testtargets.Options{})
	if f := find(t, checkOf(node.PID), "target: code"); f.Level != OK || f.Remedy != "" ||
		!strings.HasPrefix(f.Detail, "Node ") || !strings.Contains(f.Detail, "have names") {
		t.Errorf("%+v", f)
	}
	java := testtargets.Run(t, "java-chain", testtargets.Options{})
	f = find(t, checkOf(java.PID), "target: code")
	if f.Remedy != "" || !strings.HasPrefix(f.Detail, "HotSpot ") || !strings.Contains(f.Detail, "have names") {
		t.Errorf("%+v", f)
	}
	for _, f := range checkOf(sleeper(t)) {
		if f.Name == "target: code" {
			t.Errorf("of a C program: %+v", f)
		}
	}
}

func TestAllInterpretersOfAProcessAreNamed(t *testing.T) {
	libraries, _ := filepath.Glob("/usr/lib/*/libruby*.so.*")
	if len(libraries) == 0 {
		t.Fatal("libruby is missing; scripts/setup-tests.sh installs it")
	}
	const program = "import ctypes, sys\nctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL).ruby_init()\n" +
		"print(flush=True)\nsys.stdin.read()\n"
	c := exec.Command("python3", "-c", program, libraries[0])
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	f := find(t, checkOf(c.Process.Pid), "target: code")
	if !strings.HasPrefix(f.Detail, "CPython ") || !strings.Contains(f.Detail, ", Ruby ") || f.Remedy != "" {
		t.Errorf("%+v", f)
	}
}

func TestAStrippedGoProgramHasAllNames(t *testing.T) {
	program := testtargets.Run(t, "go-stripped", testtargets.Options{})
	const want = "of 1 files, 1 have all function names, 1 also lines and inlined calls"
	if f := find(t, checkOf(program.PID), "target: names"); f.Detail != want || f.Remedy != "" {
		t.Errorf("%+v", f)
	}
}

// Bun's program is such a one.
func TestSymbolsOfExportsOnlyAreNotAllNames(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "a.out")
	for _, command := range [][]string{
		{"cc", "-o", exe, "-pie", "-fPIC", "-rdynamic", "-nostdlib", "-x", "c", "-"}, {"strip", "-K", "exported", exe},
	} {
		c := exec.Command(command[0], command[1:]...)
		c.Stdin = strings.NewReader("void exported(void) {}\nstatic void own(void) {}\n" +
			"void _start(void) { own(); for (;;); }\n")
		if out, err := bounded.AllOutput(c); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	program := exec.Command(exe)
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
	if f := find(t, checkOf(program.Process.Pid), "target: names"); f.Remedy == "" {
		t.Errorf("%+v", f)
	}
}

// A Go program is stopped also where the kernel may sample.
func TestTheEngineOfTheTargetIsNamed(t *testing.T) {
	program := testtargets.Run(t, "go", testtargets.Options{})
	f := find(t, checkOf(program.PID), "target: engine")
	all := checkOf(sleeper(t))
	sampled := strings.Contains(find(t, all, "perf events").Detail, "the kernel samples running threads")
	want := "running threads are stopped for each sample: it is a Go program, whose threads change stacks"
	if !sampled {
		want = "running threads are stopped for each sample (perf events, above)"
	}
	if f.Level != OK || f.Detail != want {
		t.Errorf("of a Go program: %+v, want %q", f, want)
	}
	if f := find(t, all, "target: engine"); strings.HasPrefix(f.Detail, "the kernel samples running threads") != sampled {
		t.Errorf("of a C program, kernel samples %v: %+v", sampled, f)
	}
}

func TestFindingsFitTheTerminal(t *testing.T) {
	fs := []Finding{{Name: "target: a gate", Level: Fail, Detail: strings.Repeat("word ", 30),
		Remedy: strings.Repeat("remedy ", 20)}, {Name: "kernel", Detail: "6.1"}}
	for _, columns := range []int{60, 80, 200} {
		var b strings.Builder
		if err := Write(&b, fs, false, columns); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns {
				t.Errorf("%d columns of %d: %s", n, columns, line)
			}
		}
		if strings.Count(b.String(), "word") != 30 || strings.Count(b.String(), "remedy") != 20 {
			t.Errorf("words are lost:\n%s", &b)
		}
	}
}
