// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
)

func threads(t *testing.T, args ...string) int {
	t.Helper()
	pid, _ := testtargets.Threads(t, args...)
	if args[0] == "mixed" {
		testtargets.Eventually(t, "one thread runs and the others sleep", func() bool { return settled(pid) })
	}
	return pid
}

func settled(pid int) bool {
	running := 0
	list, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/syscall")
	for _, file := range list {
		text, _ := os.ReadFile(file)
		if call, _, _ := strings.Cut(strings.TrimSpace(string(text)), " "); call == "running" {
			running++
		} else if call != "0" && call != "34" {
			return false
		}
	}
	return running == 1
}

func taken(t *testing.T, pid int, o Options) *stacks.Process {
	t.Helper()
	p, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if o.MaxDepth == 0 {
		o.MaxDepth = -1
	}
	d, err := Sample(p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close) // all stacks have one budget
	return d
}

func together(t *testing.T, pid int, ready func()) (p *stacks.Process) {
	t.Helper()
	testtargets.Eventually(t, "all threads stop in time", func() bool {
		ready()
		if p != nil {
			p.Close()
		}
		p = taken(t, pid, Options{Atomic: true})
		return p.Failed["timeout"] == 0
	})
	return p
}

func letter(tid int) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/stat")
	_, rest, _ := strings.Cut(string(text), ") ")
	s, _, _ := strings.Cut(rest, " ")
	return s
}

func seen(t *testing.T, p *stacks.Process, n int) {
	t.Helper()
	if len(p.Threads) != n+2 || len(p.Failed) != 0 {
		t.Errorf("%d threads, %v", len(p.Threads), p.Failed)
	}
	for _, th := range p.Threads {
		want := "pause"
		switch {
		case strings.HasPrefix(th.Name, "sleeper"):
			want = "sleep_here"
		case strings.HasPrefix(th.Name, "burner"):
			want = "burn_here"
		}
		found := false
		for _, f := range th.Frames {
			found = found || strings.Contains(f.Function, want)
		}
		if !found || !th.Complete || th.StopReason != "root" {
			t.Errorf("%s: %s, no %s in %+v", th.Name, th.StopReason, want, th.Frames)
		}
	}
}

func TestSleepersAreReadPassivelyAndRunningThreadsStopped(t *testing.T) {
	p := taken(t, threads(t, "mixed", "3"), Options{})
	seen(t, p, 3)
	for _, th := range p.Threads {
		if strings.HasPrefix(th.Name, "burner") != (th.How == "stop") || (th.State == "R") != (th.Wait == "") {
			t.Errorf("%s: %s by %s in %q", th.Name, th.State, th.How, th.Wait)
		}
	}
}

func TestAtomicStopsAllAndLetsThemGo(t *testing.T) {
	pid := threads(t, "mixed", "8")
	for range 4 {
		p := together(t, pid, func() {})
		seen(t, p, 8)
		if p.Pause <= 0 {
			t.Errorf("stopped for %v", p.Pause)
		}
		for _, th := range p.Threads {
			if th.How != "stop" { // all sleep in harmless calls
				t.Errorf("%s: %s by %s in %q", th.Name, th.State, th.How, th.Wait)
			}
			if th.State != "R" && th.Wait != "read" && th.Wait != "pause" {
				t.Errorf("%s: %s in %q", th.Name, th.State, th.Wait)
			}
		}
	}
	list, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		tid, _ := strconv.Atoi(e.Name())
		if s := letter(tid); s == "t" || s == "T" {
			t.Errorf("thread %d is left in state %s", tid, s)
		}
	}
}

func TestAtomicFollowsThreadsThatComeAndGo(t *testing.T) {
	pid := threads(t, "churn")
	for range 5 {
		p := together(t, pid, func() {})
		if len(p.Threads) == 0 {
			t.Fatalf("%v", p.Failed)
		}
	}
	if s := letter(pid); s == "t" || s == "T" {
		t.Errorf("state %s", s)
	}
}

func TestStoppedProcessIsSampledAndStaysStopped(t *testing.T) {
	for _, atomic := range []bool{false, true} {
		pid := threads(t, "mixed", "3")
		stop := func() { stopAll(t, pid) }
		var p *stacks.Process
		if atomic {
			p = together(t, pid, stop)
		} else {
			stop()
			p = taken(t, pid, Options{})
		}
		seen(t, p, 3)
		for _, th := range p.Threads {
			if th.State != "T" || th.Wait != "stopped" {
				t.Errorf("atomic %v: %s is %s in %q", atomic, th.Name, th.State, th.Wait)
			}
			testtargets.Eventually(t, th.Name+" is stopped again", func() bool { return letter(th.TID) == "T" })
		}
	}
}

func TestProcessThatEndsAfterItWasOpenedHasThatReason(t *testing.T) {
	target := testtargets.Child(t, exec.Command("sleep", "600"))
	p, err := loadedcode.Open(target.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_ = target.Process.Kill()
	testtargets.Eventually(t, "the process ends", func() bool { return letter(p.PID) == "Z" })
	for _, o := range []Options{{MaxDepth: -1}, {MaxDepth: -1, Atomic: true}} {
		if d, err := Sample(p, o); d != nil || errs.Of(err) != errs.Exited {
			t.Errorf("atomic %v: %+v, %v, want %v", o.Atomic, d, err, errs.Exited)
		}
	}
	for reason, want := range map[errs.Reason]bool{errs.Exited: true, errs.Zombie: true, errs.Denied: false} {
		raw := newRawSamples()
		raw.store(nil, nil, reason)
		if raw.ended() != want {
			t.Errorf("%s: ended %v", reason.Word(), raw.ended())
		}
	}
}

func TestUnknownFieldsAreLeftOutOfJSON(t *testing.T) {
	p := taken(t, threads(t, "mixed", "1"), Options{MaxDepth: 1})
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		PID     int `json:"pid"`
		Threads []map[string]any
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	for _, th := range back.Threads {
		if th["state"] == "R" && th["wait"] != nil || th["complete"] != false || th["stop_reason"] != "depth" {
			t.Errorf("%v", th)
		}
		list := th["frames"].([]any)
		for i, f := range list {
			m := f.(map[string]any)
			if i == len(list)-1 {
				if len(m) != 2 || m["function"] != "[incomplete: depth]" || m["inlined"] != false {
					t.Errorf("last frame %v", m)
				}
				continue
			}
			for _, key := range []string{"pc", "sp", "offset"} {
				if v, _ := m[key].(string); !strings.HasPrefix(v, "0x") {
					t.Errorf("%s is %v", key, m[key])
				}
			}
			for key, v := range m {
				if v == "" || v == 0.0 {
					t.Errorf("%s is %v", key, v)
				}
			}
		}
	}
}

func TestStacksOfAGoProgramInSignalHandlersAreWhole(t *testing.T) {
	const source = "../../testtargets/src/handlers/main.go"
	exe := testtargets.Compiled{
		Name: "handlers", Sources: []string{source, "../../../go.mod"}, Env: []string{"CGO_ENABLED=0"},
		Command: []string{"go", "build", "-o", "OUT", source},
	}.Build(t)
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	handlers, samples := 0, 0
	for end := time.Now().Add(testtargets.Patience); handlers < 5 && time.Now().Before(end); samples++ {
		for _, th := range taken(t, cmd.Process.Pid, Options{}).Threads {
			stack := names(&th)
			if !th.Complete {
				t.Errorf("%s: %s", th.StopReason, stack)
			}
			if strings.Contains(stack, "runtime.sigreturn") {
				handlers++
			}
		}
	}
	t.Logf("%d looks, %d at a signal's handler", samples, handlers)
	if handlers == 0 {
		t.Errorf("no look of %d was at a signal's handler", samples)
	}
}
