// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	processes "prywalk/internal/code/loadedcode"
	"prywalk/internal/testtargets"
)

func TestShortLivedThreadsDoTheirWork(t *testing.T) {
	for _, rung := range testtargets.First(rungs) {
		t.Run(rung, func(t *testing.T) {
			p := start(t, "churn")
			r := record(t, p.pid, "--rung", rung)
			r.awaitSamples(p.pid)
			p.awaitProgress(1000)
			s := r.stop()
			c := p.finish()
			t.Logf("%d observations, %d stops, failed %v; the target's counts: %v", s.Attempted, s.Stopped, s.Failed, c)
			if c["born"] != c["died"] || c["worked"] != c["born"] || c["refused"] != 0 {
				t.Errorf("the target's counts are %v, want as many threads died and worked as born, none refused", c)
			}
		})
	}
}

func TestForkAndVforkChildrenReportTheirExitStatus(t *testing.T) {
	for _, rung := range testtargets.First(rungs) {
		t.Run(rung, func(t *testing.T) {
			p := start(t, "forks")
			r := record(t, p.pid, "--children", "--rung", rung)
			r.awaitSamples(p.pid)
			p.awaitProgress(1)
			s := r.stop()
			c := p.finish()
			t.Logf("%d observations, %d stops, failed %v; the target's counts: %v", s.Attempted, s.Stopped, s.Failed, c)
			if c["wrong"] != 0 || c["interrupted"] != 0 {
				t.Errorf("the target's counts are %v, want no wrong status and no interrupted wait", c)
			}
		})
	}
}

func TestExecInANonLeaderThreadCompletes(t *testing.T) {
	for _, rung := range testtargets.First(rungs) {
		t.Run(rung, func(t *testing.T) {
			p := start(t, "execs", "150", "first")
			r := record(t, p.pid, "--rung", rung)
			r.awaitSamples(p.pid)
			hung := time.AfterFunc(patience, func() {
				t.Errorf("no \"ready\" after %v, the target: %s\nprywalk: %s", patience, describeThreads(p.pid),
					describeThreads(r.cmd.Process.Pid))
				r.signal(syscall.SIGKILL)
				_ = syscall.Kill(p.pid, syscall.SIGKILL)
			})
			p.awaitReady()
			hung.Stop()
			s := r.stop()
			t.Logf("%d stops, failed %v", s.Stopped, s.Failed)
			checkReleased(t, p.pid)
			p.finish()
		})
	}
}

// During exec by another thread the process has for a moment the PID of its ended first thread. Without a second try
// one in 1,000 opens fails here.
func TestProcessOpensWhileAnotherThreadCallsExec(t *testing.T) {
	for opened := 0; opened < testtargets.Times(1, 2000); {
		p := start(t, "execs", "300", "first")
		for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); opened++ {
			process, err := processes.Open(p.pid)
			if err != nil {
				t.Fatalf("open %d of PID %d: %v", opened, p.pid, err)
			}
			process.Close()
		}
		p.kill()
	}
}

func TestKilledTargetsEndAtOnce(t *testing.T) {
	for range testtargets.Times(5, 20) {
		p := start(t, "mix", "4")
		r := record(t, p.pid, "--rung", rungs[rand.IntN(2)])
		r.awaitSamples(p.pid)
		time.Sleep(time.Duration(rand.IntN(50_000)) * time.Microsecond) // the subject: any moment
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- p.cmd.Wait() }()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatalf("%v after SIGKILL the target still exists: %s", patience, describeThreads(p.pid))
		}
		if st := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !st.Signaled() || st.Signal() != syscall.SIGKILL {
			t.Errorf("the target's wait status is %v, want killed by SIGKILL", p.cmd.ProcessState)
		}
		if code := r.wait(); code != 0 && code != 4 {
			t.Errorf("prywalk's exit code is %d, want 0 or 4: %s", code, r.stderr.String())
		}
		r.checkReport()
	}
}

func asUnprivileged() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

func TestSetuidProgramsStayPrivileged(t *testing.T) {
	testtargets.NeedRoot(t, "make a setuid program")
	text, err := os.ReadFile(compile(t, "setuid"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(work, "setuid-copy")
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(program, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	for name, attr := range map[string]*syscall.SysProcAttr{"root": nil, "nobody": asUnprivileged()} {
		t.Run(name, func(t *testing.T) {
			p := startAs(t, asUnprivileged(), "setuid", program)
			r := recordAs(t, attr, "-p", strconv.Itoa(p.pid), "--children")
			r.awaitSamples(p.pid)
			p.awaitProgress(20)
			s := r.stop()
			c := p.finish()
			t.Logf("%d observations, %d stops, failed %v; the target's counts: %v", s.Attempted, s.Stopped, s.Failed, c)
			// Exec ignores a program's set-user-ID bit while an ordinary user traces the process. Each observation
			// can affect one exec at most.
			if c["wrong"] != 0 || name == "root" && c["lost"] != 0 || c["lost"] > s.Stopped+s.failures() {
				t.Errorf("the target's counts are %v, want no wrong one, no exec without privileges if prywalk is root, else at "+
					"most %d otherwise", c, s.Stopped+s.failures())
			}
		})
	}
}
