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

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func gdb(t *testing.T, pid int, must bool, commands ...string) bool {
	t.Helper()
	args := []string{"-nx", "-batch", "-p", strconv.Itoa(pid)}
	for _, c := range commands {
		args = append(args, "-ex", c)
	}
	out, err := bounded.AllOutput(exec.Command("gdb", args...))
	if err != nil && must {
		t.Errorf("gdb: %v\n%s", err, out)
	}
	return err == nil
}

func TestDebuggersBeforeDuringAndAfterARecording(t *testing.T) {
	t.Parallel()
	testtargets.NeedProgram(t, "gdb")
	p := start(t, "mix", "4")
	attached := make(chan bool, 1)
	mark := filepath.Join(t.TempDir(), "go on")
	go func() { attached <- gdb(t, p.pid, true, "shell while [ ! -e '"+mark+"' ]; do sleep 0.1; done") }()
	detach := func() { _ = os.WriteFile(mark, nil, 0o600) }
	defer detach()
	await(t, "the debugger is attached to all threads", func() bool {
		return !slices.ContainsFunc(threads(p.pid), func(tid int) bool { return status(tid, "TracerPid") == "0" })
	})
	r := record(t, p.pid, "-d", "1")
	if code := r.wait(); code != 0 && code != 4 {
		t.Errorf("exit code with a debugger attached is %d, want 0 or 4: %s", code, r.stderr.String())
	}
	detach()
	if !bounded.Receive(t, "the debugger ends", attached) {
		t.Error("gdb failed during a recording of the process that it had attached to")
	}
	checkReleased(t, p.pid)

	r = record(t, p.pid)
	r.awaitSamples(p.pid)
	got := 0
	attempts := testtargets.Times(2, 4)
	for range attempts {
		if gdb(t, p.pid, false, "thread apply all bt 3") {
			got++
		}
	}
	r.stop()
	t.Logf("gdb attached %d of %d times during a recording", got, attempts)
	gdb(t, p.pid, true, "thread apply all bt 3")
	checkReleased(t, p.pid)
	p.finish() // its counts do not matter: gdb itself makes epoll_wait give EINTR
}

func TestAnotherTracerAndPrywalkTakeTurns(t *testing.T) {
	for _, rung := range testtargets.First(rungs) {
		t.Run(rung, func(t *testing.T) {
			victim := start(t, "storm")
			helper := start(t, "traced", "attach", strconv.Itoa(victim.pid))
			r := record(t, victim.pid, "--rung", rung)
			r.awaitSamples(victim.pid)
			helper.awaitProgress(50)
			s := r.stop()
			h, v := helper.finish(), victim.finish()
			t.Logf("%d stops, failed %v; the other tracer's counts: %v", s.Stopped, s.Failed, h)
			if h["wrong"] != 0 {
				t.Errorf("the other tracer's counts are %v, want wrong 0", h)
			}
			for i := range 3 {
				n := strconv.Itoa(i)
				if v["got."+n] != v["sent."+n] || v["disorder"] != 0 || v["wrong"] != 0 {
					t.Errorf("the target's counts are %v, want each signal once and in order", v)
				}
			}
		})
	}
}

func TestTraceMeOfChildrenFailsOnlyDuringStops(t *testing.T) {
	p := start(t, "traced", "traceme")
	r := record(t, p.pid, "--children")
	r.awaitSamples(p.pid)
	p.awaitProgress(20)
	s := r.stop()
	c := p.finish()
	t.Logf("%d stops, failed %v; the target's counts: %v", s.Stopped, s.Failed, c)
	// PTRACE_TRACEME is refused between attach and stop of an observation of the calling thread (docs/noticed.md).
	if c["wrong"] != 0 || c["refused"] > s.Stopped+s.failures() {
		t.Errorf("the target's counts are %v, want wrong 0 and refused at most %d", c, s.Stopped+s.failures())
	}
}

func TestNonDumpableProcessesNeedPrivileges(t *testing.T) {
	testtargets.NeedRoot(t, "run as another user")
	p := startAs(t, asUnprivileged(), "mix", "4", "nodump")
	r := recordAs(t, asUnprivileged(), "-p", strconv.Itoa(p.pid), "-d", "1")
	if code := r.wait(); code != 3 {
		t.Errorf("exit code as an ordinary user is %d, want 3: %s", code, r.stderr.String())
	}
	if s := p.recordMix(); s.Samples == 0 {
		t.Errorf("no samples with privileges: %+v", s)
	}
}

func TestProcessForbiddenToUsePtraceIsSampled(t *testing.T) {
	p := start(t, "mix", "4", "seccomp")
	if s := p.recordMix(); s.Stopped == 0 || s.ReadPassively == 0 {
		t.Errorf("want stops and passive reads: %+v", s)
	}
}

func TestProcessWithoutItsFirstThreadIsSampled(t *testing.T) {
	p := start(t, "mix", "4", "leader")
	if s := p.recordMix(); s.Stopped == 0 || s.ReadPassively == 0 {
		t.Errorf("want stops and passive reads: %+v", s)
	}
}

func (p *target) recordMix() stats {
	p.t.Helper()
	r := record(p.t, p.pid)
	r.awaitSamples(p.pid)
	r.awaitCheckpoint("running and sleeping threads have samples", sampledRunningAndSleeping)
	p.awaitProgress(5)
	s := r.stop()
	checkReleased(p.t, p.pid)
	checkMix(p.t, p)
	return s
}

func checkMix(t *testing.T, p *target) {
	t.Helper()
	c := p.finish()
	if c["eintr"] != 0 || c["woken"] != 0 || c["other"] != 0 || c["work"] == 0 || c["expired"] == 0 {
		t.Errorf("the target's counts are %v, want eintr, woken and other 0, work and expired above 0", c)
	}
}

// On x86-64 a call that a stop refuses is restarted without trace, except one made between attach and interrupt.
// Whether one is refused depends on how the machine schedules.
func TestTraceMeRefusedByAStopIsRestarted(t *testing.T) {
	p := start(t, "traced", "again")
	var observations, restarted int64
	// With one processor no call is refused: the attached thread does not run before it is interrupted.
	one := runtime.NumCPU() == 1
	for end := time.Now().Add(testtargets.Times(5*time.Second, time.Minute)); restarted == 0 && time.Now().Before(end); {
		r := record(t, p.pid)
		r.awaitSamples(p.pid)
		p.awaitProgress(1000)
		s := r.stop()
		observations += s.Stopped + s.failures()
		restarted += s.Restarted
		if one {
			break
		}
	}
	c := p.finish()
	t.Logf("%d observations, %d calls restarted; the target's counts: %v", observations, restarted, c)
	if c["wrong"] != 0 || c["refused"] > observations {
		t.Errorf("%d observations, %d calls restarted; the target's counts are %v", observations, restarted, c)
	}
}

func TestSeveralProfilersOnOneProcess(t *testing.T) {
	t.Parallel()
	p := start(t, "mix", "4")
	var all []*recorder
	for range 3 {
		all = append(all, record(t, p.pid, "-F", "499"))
	}
	for _, r := range all {
		r.awaitCheckpoint("every thread has a sample", sampledAll(threads(p.pid)))
	}
	for i, r := range all {
		s := r.stop()
		t.Logf("profiler %d: %d stops, failed %v", i, s.Stopped, s.Failed)
		if s.Failed["denied"] != 0 || strings.Contains(r.stderr.String(), "security module") {
			t.Errorf("profiler %d: failed %v, want none as denied and no word of security modules: %s", i, s.Failed,
				r.stderr.String())
		}
	}
	checkReleased(t, p.pid)
	p.finish()
}

func TestStraceBesideARecording(t *testing.T) {
	exe := testtargets.NeedProgram(t, "strace")
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
		t.Errorf("exit code with strace attached is %d, want 0 or 4: %s", code, r.stderr.String())
	}
	if got := r.stderr.String(); !strings.Contains(got, "traces it") || strings.Contains(got, "security module") {
		t.Errorf("want \"traces it\" and no word of security modules: %s", got)
	}
}

// startBeside starts another tool, which does not outlive the test. ended is closed when it has ended.
func startBeside(t *testing.T, exe string, args ...string) (tool *exec.Cmd, ended chan struct{}) {
	t.Helper()
	tool, ended = exec.Command(exe, args...), make(chan struct{})
	if err := tool.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = tool.Wait(); close(ended) }()
	t.Cleanup(func() { _ = tool.Process.Kill(); bounded.Receive(t, "the killed "+exe+" ends", ended) })
	return tool, ended
}

// The other order: strace finds prywalk at work. A stop that is under way refuses strace its thread.
func TestStraceJoinsARecording(t *testing.T) {
	exe := testtargets.NeedProgram(t, "strace")
	p := start(t, "mix", "4")
	r := record(t, p.pid)
	r.awaitSamples(p.pid)
	tracer, ended := startBeside(t, exe, "-f", "-q", "-e", "trace=none", "-p", strconv.Itoa(p.pid))
	await(t, "strace is attached to a thread", func() bool {
		select {
		case <-ended: // a stop that was under way refused it
			tracer, ended = startBeside(t, exe, "-f", "-q", "-e", "trace=none", "-p", strconv.Itoa(p.pid))
		default:
		}
		return status(p.pid, "TracerPid") == strconv.Itoa(tracer.Process.Pid)
	})
	p.awaitProgress(5)
	s := r.stop()
	t.Logf("%d stops, failed %v", s.Stopped, s.Failed)
	if s.Failed["denied"] != 0 || strings.Contains(r.stderr.String(), "security module") {
		t.Errorf("failed %v, want none as denied and no word of security modules: %s", s.Failed, r.stderr.String())
	}
	_ = tracer.Process.Kill()
	bounded.Receive(t, "the killed strace ends", ended)
	checkReleased(t, p.pid)
	// strace stops threads in any call, also in those that end early by that, hence no look at eintr and woken.
	if c := p.finish(); c["other"] != 0 || c["work"] == 0 || c["expired"] == 0 {
		t.Errorf("the target's counts are %v, want other 0, work and expired above 0", c)
	}
}

// perf and prywalk sample by the same means of the kernel, or perf samples what prywalk stops: neither takes from the
// other.
func TestPerfBesideARecording(t *testing.T) {
	exe := testtargets.NeedProgram(t, "perf")
	testtargets.NeedRoot(t, "let perf sample another process")
	out, err := bounded.AllOutput(exec.Command(exe, "record", "-q", "-o", filepath.Join(t.TempDir(), "try"), "true"))
	if err != nil {
		t.Logf("%v: %s", err, out)
	}
	testtargets.Need(t, err == nil, "perf that may sample",
		"apt-get install linux-perf, of this kernel; in a container --cap-add=PERFMON")
	for _, engine := range testtargets.First([]string{"perf", "ptrace"}) {
		t.Run(engine, func(t *testing.T) {
			p := start(t, "mix", "4")
			data := filepath.Join(t.TempDir(), "perf.data")
			other, ended := startBeside(t, exe, "record", "-q", "-g", "-o", data, "-p", strconv.Itoa(p.pid))
			r := record(t, p.pid, "--engine", engine)
			r.awaitSamples(p.pid)
			await(t, "perf has written samples", func() bool {
				s, err := os.Stat(data)
				return err == nil && s.Size() > 1<<18 // more than its list of mappings
			})
			s := r.stop()
			_ = other.Process.Signal(os.Interrupt)
			await(t, "perf ends", func() bool {
				select {
				case <-ended:
					return true
				default:
					return false
				}
			})
			if s.Failed["denied"] != 0 || s.Failed["traced"] != 0 {
				t.Errorf("failed %v beside perf, want none as denied or traced: %s", s.Failed, r.stderr.String())
			}
			out, err := bounded.AllOutput(exec.Command(exe, "script", "-i", data, "-F", "pid"))
			if n := strings.Count(string(out), strconv.Itoa(p.pid)); err != nil || n == 0 {
				t.Errorf("perf has %d samples beside a recording: %v\n%.500s", n, err, out)
			}
			checkReleased(t, p.pid)
			checkMix(t, p)
		})
	}
}
