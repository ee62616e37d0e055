// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func shell(t *testing.T, script string) int {
	t.Helper()
	cmd := exec.Command("timeout", "300", "sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	pid := 0
	eventually(t, "the shell runs", func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
		_, err := fmt.Sscan(string(text), &pid)
		return err == nil && stateOf(pid) != ""
	})
	return pid
}

func TestTargetIsSampledAfterItsExec(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	mark := filepath.Join(scratch(t, nil), "go on")
	pid := shell(t, "while [ ! -e '"+mark+"' ]; do sleep 0.1; done; exec '"+target.Exe+"' 300")
	r := startRecording(t, nil, "-p", strconv.Itoa(pid))
	r.until("the shell has a sample", func(p *profile.Profile) bool { return len(p.Sample) > 0 })
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	chain := testtargets.Expect{Chains: [][]string{{"burn_60", "with_saved_registers", "run_load", "main"}}}
	r.until("the new program has the chain of calls",
		func(p *profile.Profile) bool { return len(missingChains(p, chain)) == 0 })
	rec := r.finish()
	checkAccounting(t, rec.stats)
	checkFunctions(t, rec.Profile, chain)
}

func TestForkedChildrenAreSampled(t *testing.T) {
	t.Parallel()
	pid := shell(t, "while :; do (i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done); done")
	r := recordUntil(t, "three processes have samples", func(p *profile.Profile) bool {
		pids := map[int64]bool{}
		for _, s := range p.Sample {
			pids[s.NumLabel["pid"][0]] = true
		}
		return len(pids) >= 3
	}, "--children", "-p", strconv.Itoa(pid))
	checkAccounting(t, r.stats)
}

func TestStoppedTargetIsSampledAndStaysStopped(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	r := startRecording(t, nil, "-p", strconv.Itoa(target.PID))
	r.until("burn_60 has samples", hasFunctions("burn_60"))
	kill(t, target.PID, syscall.SIGSTOP)
	r.until("200 samples are stopped", func(p *profile.Profile) bool {
		n := int64(0)
		for _, s := range p.Sample {
			if label(s, "state") == "stopped" {
				n += s.Value[samplesColumn]
			}
		}
		return n > 200
	})
	checkAccounting(t, r.finish().stats)
	eventually(t, "the stopped process is stopped", func() bool { return stateOf(target.PID) == "T" })
}

func TestKilledTargetLeavesACompleteRecording(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	r := startRecording(t, nil, "-p", strconv.Itoa(target.PID))
	r.until("burn_60 has samples", hasFunctions("burn_60"))
	kill(t, target.PID, syscall.SIGKILL)
	rec := r.result()
	checkAccounting(t, rec.stats)
	checkFunctions(t, rec.Profile, testtargets.Expect{Hot: []string{"burn_60"}})
}

func TestExitedTargetLeavesACompleteRecording(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "go", testtargets.Options{})
	recordLongEnough(t, func(seconds string) *profile.Profile {
		cmd := exec.Command(target.Exe, seconds)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		defer func() { _ = cmd.Process.Kill(); bounded.Receive(t, "the killed program ends", ended) }()
		r := startRecording(t, nil, "-p", strconv.Itoa(cmd.Process.Pid))
		res := r.wait()
		if res.code == 1 && strings.Contains(res.stderr, "no such process") || res.code == 4 { // 4: no sample
			return &profile.Profile{}
		}
		rec := r.read(res)
		checkAccounting(t, rec.stats)
		return rec.Profile
	}, testtargets.Expect{Hot: []string{"main.burn60"}})
}

// A busy machine may give the program little CPU time: it is recorded again, each time four times as long.
func recordLongEnough(t *testing.T, record func(seconds string) *profile.Profile,
	e testtargets.Expect) *profile.Profile {
	t.Helper()
	for seconds := 3; ; seconds *= 4 {
		p := record(strconv.Itoa(seconds))
		if seconds > 100 || len(missingChains(p, e)) == 0 {
			checkFunctions(t, p, e)
			return p
		}
	}
}

func TestBinaryDeletedOrReplacedWhileItRuns(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(file string) error{
		"deleted": os.Remove,
		"replaced": func(file string) error {
			if err := os.WriteFile(file+".new", []byte("#!/bin/sh\n"), 0o755); err != nil {
				return err
			}
			return os.Rename(file+".new", file)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := testtargets.Run(t, "c", testtargets.Options{})
			r := startRecording(t, nil, "-p", strconv.Itoa(target.PID))
			early := int64(0)
			r.until("there are samples on a CPU",
				func(p *profile.Profile) bool { early = computing(p); return early > 0 })
			if err := harm(target.Exe); err != nil {
				t.Error(err)
			}
			r.until("enough samples after that", func(p *profile.Profile) bool {
				return computing(p) >= early+fewSamples && len(missingChains(p, target.Expect)) == 0
			})
			rec := r.finish()
			checkFunctions(t, rec.Profile, target.Expect)
			checkIncomplete(t, rec, target.Expect)
		})
	}
}

func TestSeveralProcessesAreRecordedTogether(t *testing.T) {
	t.Parallel()
	one, two := testtargets.Run(t, "c", testtargets.Options{}), testtargets.Run(t, "go", testtargets.Options{})
	recordUntil(t, "both programs have samples", hasFunctions("burn_60", "main.burn60"), "-p", strconv.Itoa(one.PID), "-p",
		strconv.Itoa(two.PID))
}
