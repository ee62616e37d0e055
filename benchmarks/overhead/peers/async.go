// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"prywalk/benchmarks/bench/tools"
)

// The CPU time of async-profiler, a library, is part of its target's.
type async struct {
	job     *tools.Job
	library string
	started bool
	on      time.Time
	seconds float64
}

const asyncLibrary = "libasyncProfiler.so"

func asyncProfiler() tools.Tool {
	return tools.Tool{
		Name: "async-profiler", Kinds: []string{tools.JVM},
		Check: func(j *tools.Job) error {
			if findLibrary() == "" {
				return errors.New("not installed (" + asyncLibrary + " in a directory of PATH)")
			}
			return tools.Installed("jcmd", "Debian: default-jdk-headless")(j)
		},
		Start: func(_ context.Context, j *tools.Job) (tools.Session, error) {
			a := &async{job: j, library: findLibrary()}
			if err := a.Go(); err != nil {
				return nil, err
			}
			return a, a.Hold()
		},
	}
}

func findLibrary() string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path, err := filepath.Abs(filepath.Join(dir, asyncLibrary))
		if st, statErr := os.Stat(path); err == nil && statErr == nil && st.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

func (a *async) tell(orders string) error {
	cmd := exec.Command("jcmd", strconv.Itoa(a.job.PID), "JVMTI.agent_load", a.library, `"`+orders+`"`)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("jcmd: %q: %w: %s", orders, err, tools.LastLine(out))
	}
	if !strings.Contains(string(out), "return code: 0") {
		return fmt.Errorf("async-profiler refuses %q: %s", orders, tools.LastLine(out))
	}
	return nil
}

// Go implements Session.
func (a *async) Go() error {
	verb := "resume"
	if !a.started {
		verb, a.started = "start", true
	}
	err := a.tell(verb + ",event=cpu,interval=" + strconv.Itoa(int(1e9/a.job.Freq)))
	a.on = time.Now()
	return err
}

// Mark implements Session.
func (a *async) Mark() error { return nil }

// Hold implements Session.
func (a *async) Hold() error {
	err := a.tell("stop")
	a.seconds += time.Since(a.on).Seconds()
	return err
}

// Finish implements Session.
func (a *async) Finish() (tools.Totals, error) {
	t := tools.Totals{Seconds: a.seconds, CPU: -1, Stops: -1, Calls: -1, Copied: -1}
	file := filepath.Join(a.job.Dir, "async.txt")
	if err := a.tell("dump,collapsed,file=" + file); err != nil {
		return t, err
	}
	text, err := os.ReadFile(file)
	t.Samples, t.Complete = asyncStacks(text)
	return t, err
}

// asyncStacks counts the stacks, and those that reach the thread's first function. Java threads have nothing outside of
// their first method. Stacks that could not be walked begin with a word in brackets, or the last function reached.
func asyncStacks(text []byte) (samples, complete int64) {
	for stack, n := range folded(text) {
		samples += n
		if outermost, _, _ := strings.Cut(stack, ";"); jvmRoot(outermost) {
			complete += n
		}
	}
	return samples, complete
}

// Kill implements Session.
func (a *async) Kill() { _ = a.tell("stop") }
