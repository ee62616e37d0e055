// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

const nobody = 65534

// onKernels skips a test of kernels in the machine of another architecture, which has no time for it.
func onKernels(t *testing.T) {
	t.Helper()
	if os.Getenv("PRYWALK_KERNEL_TESTS") == "" {
		t.Skip("needs an emulated machine: make test-kernels")
	}
}

// outcome is of a run of prywalk.
type outcome struct {
	code      int
	out, errs string
}

func runAs(t *testing.T, uid int, args ...string) (o outcome) {
	t.Helper()
	cmd := exec.Command(program(t, "prywalk"), args...)
	cmd.SysProcAttr = asUser(uid)
	cmd.Dir = "/tmp"
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := bounded.Run(cmd)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func (o outcome) must(t *testing.T, code int, words ...string) outcome {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d\n%s%s", o.code, code, o.out, o.errs)
	}
	for _, w := range words {
		if !strings.Contains(o.out+o.errs, w) {
			t.Errorf("the output does not contain %q:\n%s%s", w, o.out, o.errs)
		}
	}
	return o
}

func startAs(t *testing.T, uid int, name string, args ...string) *running {
	t.Helper()
	return started(t, exec.Command(program(t, name), args...), asUser(uid))
}

func asUser(uid int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
}

// sysctl sets a file below /proc/sys until the test ends.
func sysctl(t *testing.T, name, value string) {
	t.Helper()
	file := filepath.Join("/proc/sys", name)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(value), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.WriteFile(file, before, 0) })
}

const (
	yama     = "kernel/yama/ptrace_scope"
	paranoid = "kernel/perf_event_paranoid"
)

// fact is a cell of the table in docs/limits.md.
func fact(name, value string) { fmt.Printf("\n@fact %s = %s\n", name, value) }

func TestFactsOfTheKernel(t *testing.T) {
	onKernels(t)
	word := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			return "none"
		}
		return strings.TrimSpace(string(text))
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	defer maps.Close()
	const procmapQuery = 0xc0686611 // an empty struct is refused by what knows the call
	_, _, e := unix.Syscall(unix.SYS_IOCTL, maps.Fd(), procmapQuery, 0)
	fact("PROCMAP_QUERY", yesNo(e != unix.ENOTTY))
	_, err = os.Stat("/proc/self/sched")
	fact("/proc/PID/sched", yesNo(err == nil))
	fact("perf_event_paranoid", word(filepath.Join("/proc/sys", paranoid)))
	fact("ptrace_scope", word(filepath.Join("/proc/sys", yama)))
	fact("release", word("/proc/sys/kernel/osrelease"))
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// Each right is what docs/rights.md says, and a refusal names what refuses.
func TestYamaDecidesWhatAUserMayRead(t *testing.T) {
	onKernels(t)
	p := startAs(t, nobody, "chain")
	pid := strconv.Itoa(p.pid)
	for scope, want := range map[string]struct {
		running  int
		launched string // in the message, as the exit code is the command's
	}{"0": {0, ""}, "1": {3, ""}, "2": {3, "ptrace_scope is 2"}} {
		t.Run(scope, func(t *testing.T) {
			sysctl(t, yama, scope)
			var words []string
			if want.running != 0 {
				words = []string{"ptrace_scope"}
			}
			runAs(t, nobody, "dump", "-p", pid, "--max-pause", "off").must(t, want.running, words...)
			runAs(t, nobody, "doctor", "-p", pid).must(t, want.running, words...)
			runAs(t, nobody, "record", "-o", "/tmp/launched-"+scope, "--", program(t, "busy"), "10").must(t, 0,
				want.launched)
			checkDump(t, p.pid, chainMethods)
			runAs(t, 0, "doctor", "-p", pid).must(t, 0)
		})
	}
	runAs(t, nobody, "dump", "-p", "1").must(t, 3)
}

var chainMethods = []string{"context", "cfi"}

func TestDeadlockIsFound(t *testing.T) {
	onKernels(t)
	sysctl(t, yama, "0")
	p := startAs(t, nobody, "deadlock")
	pid := strconv.Itoa(p.pid)
	blocked := func() bool {
		n := 0
		calls, _ := filepath.Glob("/proc/" + pid + "/task/*/syscall")
		for _, f := range calls {
			text, _ := os.ReadFile(f)
			if strings.HasPrefix(string(text), strconv.Itoa(unix.SYS_FUTEX)+" ") {
				n++
			}
		}
		return n == 2
	}
	testtargets.Eventually(t, "both threads wait", blocked)
	for _, uid := range []int{0, nobody} {
		o := runAs(t, uid, "dump", "--locks", "--json", "--max-pause", "off", "-p", pid).must(t, 5)
		var locks struct {
			Deadlocks [][]int `json:"deadlocks"`
			Locks     []struct {
				Symbol  string `json:"symbol"`
				Owner   int    `json:"owner"`
				Waiters []int  `json:"waiters"`
			} `json:"locks"`
		}
		if err := json.Unmarshal([]byte(o.out), &locks); err != nil {
			t.Fatalf("%v\n%s", err, o.out)
		}
		owner := map[string]int{}
		for _, l := range locks.Locks {
			if len(l.Waiters) == 1 {
				owner[l.Symbol] = l.Owner
			}
		}
		if len(locks.Deadlocks) != 1 || len(locks.Deadlocks[0]) != 2 || owner["mutex_a"] == 0 || owner["mutex_b"] == 0 ||
			owner["mutex_a"] == owner["mutex_b"] {
			t.Errorf("uid %d: %s", uid, o.out)
		}
	}
}

// A parent sees one stop and one continuation, whatever reads the process meanwhile, and it stays stopped until then.
func TestJobControlIsNotDisturbed(t *testing.T) {
	onKernels(t)
	p := startAs(t, nobody, "chain")
	pid := strconv.Itoa(p.pid)
	stopped := func() bool { return allIn(p.pid, "T") }
	// waited returns what the parent sees, once each.
	waited := func() (events []string) {
		for {
			var info [128]byte
			_, _, e := unix.Syscall6(unix.SYS_WAITID, unix.P_PID, uintptr(p.pid), uintptr(unsafe.Pointer(&info)),
				unix.WSTOPPED|unix.WCONTINUED|unix.WNOHANG, 0, 0)
			code := int(int32(binary.LittleEndian.Uint32(info[8:])))
			if e != 0 || binary.LittleEndian.Uint32(info[0:]) == 0 {
				return events
			}
			events = append(events, map[int]string{5: "stopped", 6: "continued"}[code])
		}
	}
	for i := range 2 {
		syscall.Kill(p.pid, syscall.SIGSTOP)
		testtargets.Eventually(t, "the process stops", stopped)
		for _, th := range dumpOf(t, p.pid).Threads {
			if th.State != "T" || !th.Complete {
				t.Errorf("thread %s: state %s, stop reason %s", th.Name, th.State, th.StopReason)
			}
		}
		if i == 0 {
			recorded(t, "-p", pid, "-d", "1", "--engine", "ptrace")
		}
		testtargets.Eventually(t, "the process is stopped afterwards, too", stopped)
		if got := waited(); !slices.Equal(got, []string{"stopped"}) {
			t.Errorf("the parent saw %v, want one stop", got)
		}
		syscall.Kill(p.pid, syscall.SIGCONT)
		testtargets.Eventually(t, "the process runs", func() bool { return !stopped() })
		if got := waited(); !slices.Equal(got, []string{"continued"}) {
			t.Errorf("the parent saw %v, want one continuation", got)
		}
	}
}

// The quota and the selection are of a group of cgroup v2, then of v1.
func TestCgroupsOfBothVersions(t *testing.T) {
	onKernels(t)
	for _, v := range []struct{ name, kind, options, file, quota string }{
		{"v2", "cgroup2", "", "cpu.max", "30000 100000"},
		{"v1", "cgroup", "cpu,cpuacct", "cpu.cfs_quota_us", "30000"},
	} {
		t.Run(v.name, func(t *testing.T) {
			at := "/sys/fs/cgroup"
			var err error
			testtargets.Eventually(t, "the controllers of v2 are free", func() bool {
				err = unix.Mount(v.kind, at, v.kind, 0, v.options)
				return err != unix.EBUSY
			})
			if err != nil {
				fact("cgroup "+v.name, "no cpu controller")
				t.Skipf("needs a kernel with %s %s: %v", v.kind, v.options, err)
			}
			fact("cgroup "+v.name, "yes") // of its controller of CPU time
			t.Cleanup(func() { unix.Unmount(at, 0) })
			if v.name == "v2" {
				put(t, at+"/cgroup.subtree_control", "+cpu")
				t.Cleanup(func() { put(t, at+"/cgroup.subtree_control", "-cpu") })
			}
			dir := filepath.Join(at, "limited")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(dir, v.file), v.quota)
			p := start(t, "chain")
			put(t, dir+"/cgroup.procs", strconv.Itoa(p.pid))
			t.Cleanup(func() {
				put(t, at+"/cgroup.procs", strconv.Itoa(p.pid))
				if err := os.Remove(dir); err != nil {
					t.Error(err)
				}
			})
			o := runAs(t, 0, "record", "--cgroup", "/limited", "-d", "3", "-o", "/tmp/quota", "--stats", "/tmp/quota.json").
				must(t, 0)
			text, err := os.ReadFile("/tmp/quota.json")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), `"target_quotas"`) {
				t.Errorf("no quota was noticed\n%s%s", o.errs, text)
			}
			for _, s := range parsed(t, "/tmp/quota").Sample {
				if got := s.NumLabel["pid"]; len(got) != 1 || got[0] != int64(p.pid) {
					t.Errorf("a sample of process %v, want %d only", got, p.pid)
				}
			}
		})
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0); err != nil {
		t.Fatal(err)
	}
}
