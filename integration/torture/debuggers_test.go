// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func gdb(t *testing.T, pid int, must bool, commands ...string) bool {
	t.Helper()
	args := []string{"-nx", "-batch", "-p", strconv.Itoa(pid)}
	for _, c := range commands {
		args = append(args, "-ex", c)
	}
	out, err := exec.Command("gdb", args...).CombinedOutput()
	if err != nil && must {
		t.Errorf("gdb: %v\n%s", err, out)
	}
	return err == nil
}

func TestDebuggersBeforeDuringAndAfterARecording(t *testing.T) {
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Skip("gdb is not installed; CI installs it (scripts/setup-tests.sh)")
	}
	p := start(t, "mix", "4")
	attached := make(chan bool, 1)
	mark := filepath.Join(t.TempDir(), "go on")
	go func() { attached <- gdb(t, p.pid, true, "shell while [ ! -e '"+mark+"' ]; do sleep 0.1; done") }()
	letGo := func() { _ = os.WriteFile(mark, nil, 0o600) }
	defer letGo()
	await(t, "the debugger is attached to all threads", func() bool {
		return !slices.ContainsFunc(threads(p.pid), func(tid int) bool { return status(tid, "TracerPid") == "0" })
	})
	r := record(t, p.pid, "-d", "1")
	if code := r.wait(); code != 0 && code != 4 {
		t.Errorf("with a debugger attached prywalk ended with %d: %s", code, r.stderr.String())
	}
	letGo()
	if !<-attached {
		t.Error("the debugger was disturbed")
	}
	unharmed(t, p.pid)

	r = record(t, p.pid)
	r.awaitSamples(p.pid)
	got := 0
	for range 4 {
		if gdb(t, p.pid, false, "thread apply all bt 3") { // refused while prywalk is attached
			got++
		}
	}
	r.stop()
	t.Logf("gdb attached %d of 4 times during a recording", got)
	gdb(t, p.pid, true, "thread apply all bt 3")
	unharmed(t, p.pid)
	p.verdict() // gdb itself makes epoll_wait give EINTR
}

func TestAnotherTracerAndPrywalkTakeTurns(t *testing.T) {
	for _, rung := range rungs {
		t.Run(rung, func(t *testing.T) {
			victim := start(t, "storm")
			helper := start(t, "traced", "attach", strconv.Itoa(victim.pid))
			r := record(t, victim.pid, "--rung", rung)
			helper.works(50)
			s := r.stop()
			h, v := helper.verdict(), victim.verdict()
			t.Logf("%d frozen, failed %v; tracer %v", s.Frozen, s.Failed, h)
			if h["wrong"] != 0 {
				t.Errorf("the other tracer: %v", h)
			}
			for i := range 3 {
				n := strconv.Itoa(i)
				if v["got."+n] != v["sent."+n] || v["disorder"] != 0 || v["wrong"] != 0 {
					t.Errorf("the target: %v", v)
				}
			}
		})
	}
}

func TestChildrenThatAskToBeTraced(t *testing.T) {
	p := start(t, "traced", "traceme")
	r := record(t, p.pid, "--children")
	p.works(20)
	s := r.stop()
	c := p.verdict()
	t.Logf("%d frozen, failed %v; %v", s.Frozen, s.Failed, c)
	// PTRACE_TRACEME is refused between the attachment and the stop of a look at the thread that calls it:
	// stated in the docs. No look can refuse more than one.
	if c["wrong"] != 0 || c["refused"] > s.Frozen+s.failures() {
		t.Errorf("%v", c)
	}
}

func TestProcessesThatAreNotDumpable(t *testing.T) {
	needRoot(t)
	p := startAs(t, asUnprivileged(), "mix", "4", "nodump")
	r := recordAs(t, asUnprivileged(), "-p", strconv.Itoa(p.pid), "-d", "1")
	if code := r.wait(); code != 3 {
		t.Errorf("as an ordinary user prywalk ended with %d: %s", code, r.stderr.String())
	}
	if s := p.sampled(); s.Samples == 0 {
		t.Errorf("%+v", s)
	}
}

func TestProcessesThatMayNotUsePtrace(t *testing.T) {
	p := start(t, "mix", "4", "seccomp")
	if s := p.sampled(); s.Frozen == 0 || s.Peeked == 0 {
		t.Errorf("%+v", s)
	}
}

func TestProcessesWhoseFirstThreadHasEnded(t *testing.T) {
	p := start(t, "mix", "4", "leader")
	if s := p.sampled(); s.Frozen == 0 || s.Peeked == 0 {
		t.Errorf("%+v", s)
	}
}

// sampled records a target of src/mix.c until its threads that run and those that sleep have been looked at, and it
// has worked meanwhile. It must have noticed nothing.
func (p *target) sampled() stats {
	p.t.Helper()
	r := record(p.t, p.pid)
	r.awaitSamples(p.pid)
	r.until("it is looked at", anybody)
	p.works(5)
	s := r.stop()
	unharmed(p.t, p.pid)
	checkMix(p.t, p)
	return s
}

func checkMix(t *testing.T, p *target) {
	t.Helper()
	c := p.verdict()
	if c["eintr"] != 0 || c["woken"] != 0 || c["other"] != 0 || c["work"] == 0 || c["expired"] == 0 {
		t.Errorf("the target saw %v", c)
	}
}

// TestThreadThatAsksToBeTracedAgainAndAgain: and is let go each time. Refused by a look, the call begins again
// unseen (x86-64), but for one made between the attachment and the interrupt.
func TestThreadThatAsksToBeTracedAgainAndAgain(t *testing.T) {
	p := start(t, "traced", "again")
	var most, restarted int64
	// On one processor it never happens: the attached thread does not run, and does not make the call
	// before it is interrupted.
	one := runtime.NumCPU() == 1
	for end := time.Now().Add(4 * time.Minute); restarted == 0 && time.Now().Before(end); {
		r := record(t, p.pid)
		r.awaitSamples(p.pid)
		p.works(1000)
		s := r.stop()
		most += s.Frozen + s.failures()
		restarted += s.Restarted
		if one {
			break
		}
	}
	c := p.verdict()
	t.Logf("%d looks, %d restarted; %v", most, restarted, c)
	if c["wrong"] != 0 || c["refused"] > most || restarted == 0 && runtime.GOARCH == "amd64" && !one {
		t.Errorf("of %d looks %d began the call again; %v", most, restarted, c)
	}
}

func TestSeveralProfilersOnOneProcess(t *testing.T) {
	p := start(t, "mix", "4")
	var all []*recorder
	for range 3 {
		all = append(all, record(t, p.pid, "-F", "499"))
	}
	for _, r := range all {
		r.until("everybody is looked at", everybody(threads(p.pid)))
	}
	for i, r := range all {
		s := r.stop()
		t.Logf("%d: %d frozen, failed %v", i, s.Frozen, s.Failed)
		if s.Failed["denied"] != 0 || strings.Contains(r.stderr.String(), "security module") {
			t.Errorf("%d: failed %v: %s", i, s.Failed, r.stderr.String())
		}
	}
	unharmed(t, p.pid)
	p.verdict()
}

func TestStraceBesideARecording(t *testing.T) {
	exe, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed; CI installs it (scripts/setup-tests.sh)")
	}
	p := start(t, "mix", "4")
	tracer := exec.Command(exe, "-f", "-q", "-e", "trace=none", "-p", strconv.Itoa(p.pid))
	if err := tracer.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = tracer.Process.Kill()
		_ = tracer.Wait()
	}()
	await(t, "strace is attached to all threads", func() bool {
		return !slices.ContainsFunc(threads(p.pid), func(tid int) bool { return status(tid, "TracerPid") == "0" })
	})
	r := record(t, p.pid, "-d", "1")
	if code := r.wait(); code != 0 && code != 4 {
		t.Errorf("with strace attached prywalk ended with %d: %s", code, r.stderr.String())
	}
	if said := r.stderr.String(); !strings.Contains(said, "traces it") || strings.Contains(said, "security module") {
		t.Errorf("the cause is not told: %s", said)
	}
}
